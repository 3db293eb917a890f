"""Results as a command or a page shows them: some rows of a table, or a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ontology.errors import EgotoolsError
from planners.graphseek.results import Cell, Result, ResultStore
from planners.graphseek.turn import AgentEvent, ResultKept

__all__ = ["ShownResults", "result_page"]

_MOST_CHARS = 2_000  # of a text in a cell
_MOST_EDGES = 5_000  # of a drawing


class ShownResults:
    """Hears a run's events, and knows afterwards which results a person is to see."""

    def __init__(self) -> None:
        self._presentations: list[str] = []

    def also(self, observe: Callable[[AgentEvent], None]) -> Callable[[AgentEvent], None]:
        """Return an observer that hears, and hands on to another one."""

        def tell(event: AgentEvent) -> None:
            if isinstance(event, ResultKept) and event.kind == "presentation":
                self._presentations.append(event.handle)
            observe(event)

        return tell

    async def pages(self, results: ResultStore, of: Sequence[str], *, count: int) -> list[dict[str, Any]]:
        """Return the results that were shown, and those of the answer, as :func:`result_page` does.
        What is not there any more is left out.

        :param of: handles that the answer rests on.
        :param count: rows of a table at most.
        """
        pages = []
        for handle in dict.fromkeys([*self._presentations, *of]):
            with contextlib.suppress(EgotoolsError):  # of a replay: the folder may be gone
                pages.append(await result_page(results, handle, count=count))
        return pages


async def result_page(results: ResultStore, handle: str, *, count: int = 20) -> dict[str, Any]:
    """Return a result as JSON values: ``handle``, ``kind``, ``total`` (rows), ``cut`` and ``notes``; of a table ``columns``, ``offset``,
    ``rows``, and ``rows_missing``: how many stand behind these; of relationships, whose kind is ``graph``, also ``nodes`` and ``edges``.

    :raises NotFoundError: when there is no such result.
    """
    found = results.result(handle)
    page = {**_head(found), **await _table(results, found, count)}
    names = [each.name for each in found.columns]
    if not {"source", "source_type", "source_name", "type", "target", "target_type", "target_name"} <= {*names}:
        return page
    rows = [dict(zip(names, row, strict=True)) for row in await results.rows(handle, limit=_MOST_EDGES)]
    ends = [(row[end], row[f"{end}_type"], row[f"{end}_name"]) for row in rows for end in ("source", "target")]
    nodes = [
        {"id": id_, "type": type_, "properties": {"name": _shown(name)}} for id_, type_, name in dict.fromkeys(ends)
    ]
    edges: list[dict[str, Any]] = [
        {"type": row["type"], "source": row["source"], "target": row["target"], "properties": {}} for row in rows
    ]
    return {**page, "kind": "graph", "nodes": nodes, "edges": edges}


def _head(found: Result) -> dict[str, Any]:
    return {
        "handle": found.handle,
        "kind": found.kind,
        "total": found.size,
        "cut": found.cut,
        "notes": list(found.notes),
    }


async def _table(results: ResultStore, found: Result, count: int) -> dict[str, Any]:
    rows = await results.rows(found.handle, limit=count)
    return {
        "columns": [{"name": each.name, "type": each.type, "node_type": each.node_type} for each in found.columns],
        "offset": 0,
        "rows": [[_shown(cell) for cell in row] for row in rows],
        "rows_missing": max(0, found.size - len(rows)),
    }


def _shown(cell: Cell) -> Cell:
    return f"{cell[:_MOST_CHARS]}…" if isinstance(cell, str) and len(cell) > _MOST_CHARS else cell
