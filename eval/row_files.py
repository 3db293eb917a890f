"""Files of JSON Lines whose rows have an id: all rows are read, or every faulty one is named with file and line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ontology.errors import DocumentError

__all__ = ["RowError", "json_object", "listed", "read_rows"]

_Row = TypeVar("_Row")
_NAMED = 10  # number of errors that a message names


class RowError(Exception):
    """The reason why a row cannot be used."""


def read_rows(files: Sequence[Path], parse: Callable[[bytes], tuple[str, _Row]], what: str) -> dict[str, _Row]:
    """Return a map from id to row of all files, in their order.

    :raises DocumentError: for a file that cannot be read, and for all invalid rows together.
    """
    rows: dict[str, _Row] = {}
    errors: list[tuple[str, str]] = []
    first_at: dict[str, str] = {}
    for path in files:
        for place, line in _lines(path, what):
            try:
                row_id, row = parse(line)
                _check_unique(row_id, place, first_at)
            except RowError as error:
                errors.append((place, str(error)))
            else:
                rows[row_id] = row
    if errors:
        raise _invalid_rows(errors, what)
    return rows


def _lines(path: Path, what: str) -> Iterator[tuple[str, bytes]]:
    """Yield each line that is not blank, with its position ``file:line``."""
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device could be read without end
        raise DocumentError(
            f"the {what} are no regular file", subject=str(path), remedy="Give a file, not a device or a pipe"
        )
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise DocumentError(
            f"the {what} cannot be read ({error.strerror or error})",
            subject=str(path),
            remedy="Name a file with one JSON row for each request, as in docs/measuring.md",
        ) from error
    written = [(f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not written:
        raise DocumentError(
            "there is no request in this file", subject=str(path), remedy="Write one JSON row for each request"
        )
    yield from written


def json_object(line: bytes) -> dict[str, Any]:
    """Return the object of a line.

    :raises RowError: when it is none.
    """
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RowError("it is not UTF-8") from error
    except RecursionError as error:
        raise RowError("it is nested too deeply") from error
    except ValueError as error:
        raise RowError(f"it is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise RowError("it is not a JSON object")
    return row


def _check_unique(query_id: str, place: str, first_at: dict[str, str]) -> None:
    if query_id in first_at:
        raise RowError(f"the id {query_id!r} was already used at {first_at[query_id]}")
    first_at[query_id] = place


def _invalid_rows(errors: Sequence[tuple[str, str]], what: str) -> DocumentError:
    remedy = "Correct or remove these rows"
    if len(errors) == 1:
        place, problem = errors[0]
        return DocumentError(problem, subject=place, remedy="Correct or remove this row")
    files = dict.fromkeys(place.rpartition(":")[0] for place, _ in errors)
    named = listed([f"{place}: {problem}" for place, problem in errors])
    return DocumentError(f"{len(errors):,} rows are not {what}: {named}", subject=", ".join(files), remedy=remedy)


def listed(items: Sequence[str]) -> str:
    """Return the first ten of these texts, and how many more there are."""
    more = len(items) - _NAMED
    return "; ".join(items[:_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
