"""The index that the tools read."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.personal.index_tables import open_to_read

__all__ = ["INDEX_SETTING", "count_rows", "index_in_use", "page_of", "rows"]

INDEX_SETTING = "EGOTOOLS_PERSONAL_INDEX"
"""The environment variable with the path of the index, for where :func:`index_in_use` names none."""
_MAX_LIMIT = 100_000
_named: ContextVar[Path | None] = ContextVar("personal_index", default=None)


@contextmanager
def index_in_use(path: Path) -> Iterator[None]:
    """Within the block, in its tasks and their threads, the tools read this index."""
    token = _named.set(path)
    try:
        yield
    finally:
        _named.reset(token)


def rows(query: str, **values: Any) -> list[sqlite3.Row]:
    """Return the rows of a query; a list among the values is given to it as JSON.

    :raises InvalidArgumentError: when no index is named, or there is none.
    """
    given = {name: json.dumps(value) if isinstance(value, (list, tuple)) else value for name, value in values.items()}
    path = _named.get() or os.environ.get(INDEX_SETTING, "")
    if not path:
        raise InvalidArgumentError(
            "no index of personal data is named", subject=INDEX_SETTING, remedy="Set it to the path of the index"
        )
    with closing(open_to_read(Path(path))) as db:  # one a call: a call may run in any thread
        return db.execute(query, given).fetchall()


def page_of(
    query: str, conditions: Mapping[str, Any], *, order: str, limit: int, offset: int
) -> tuple[list[sqlite3.Row], int, int | None]:
    """Return the rows of a query that meet all conditions, from ``offset`` on.

    :param query: ``SELECT … FROM …``, without conditions.
    :param conditions: an SQL condition, with its value as ``:v`` followed by its number from 0 → the value, None to leave it out.
    :returns: the rows, how many there are in all, and the offset of the next page, None after the last.
    :raises InvalidArgumentError: when limit or offset are out of range.
    """
    if not 0 <= limit <= _MAX_LIMIT:
        raise InvalidArgumentError(f"{limit} is out of range", subject="limit", remedy=f"Give 0 to {_MAX_LIMIT:,}")
    if offset < 0:
        raise InvalidArgumentError(f"{offset} is negative", subject="offset", remedy="Start with 0")
    where, values = _where(conditions)
    found = rows(
        f"{query} WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :offset", limit=limit, offset=offset, **values
    )
    after = offset + len(found)
    if not offset and len(found) < limit:
        return found, len(found), None
    total = count_rows(query.partition(" FROM ")[2], conditions)
    return found, total, after if after < total else None


def count_rows(tables: str, conditions: Mapping[str, Any]) -> int:
    """Return how many rows of tables meet all conditions, which are as in :func:`page_of`."""
    where, values = _where(conditions)
    return int(rows(f"SELECT count(*) FROM {tables} WHERE {where}", **values)[0][0])


def _where(conditions: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    given = {f"v{at}": (text, value) for at, (text, value) in enumerate(conditions.items()) if value is not None}
    return " AND ".join(text for text, _ in given.values()) or "1", {name: value for name, (_, value) in given.items()}
