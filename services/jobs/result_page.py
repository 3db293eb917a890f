"""Results as a command or a page shows them: some rows of a table, a graph, or how a person is to see one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ontology.errors import EgotoolsError, NotFoundError
from planners.graphseek.agent_events import AgentEvent, ResultKept
from planners.graphseek.results.result import Cell, EvictedError, Result
from planners.graphseek.results.result_store import ResultStore

__all__ = ["ShownResults", "result_page"]

_MOST_CHARS = 2_000  # of a text in a cell


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
        """Return the presentations that were made, and the results of the answer that none of them shows, as :func:`result_page` does.
        What is not there any more is left out.

        :param of: handles that the answer rests on.
        :param count: rows of a table at most.
        """
        pages = []
        for handle in dict.fromkeys([*self._presentations, *of]):
            with contextlib.suppress(EgotoolsError):  # of a replay: the folder may be gone, or rows evicted
                pages.append(await result_page(results, handle, count=count))
        presented = {page["of"]["handle"] for page in pages if "of" in page}
        return [page for page in pages if page["handle"] not in presented]


async def result_page(results: ResultStore, handle: str, *, count: int = 20) -> dict[str, Any]:
    """Return a result as JSON values: ``handle``, ``kind``, ``total`` (rows, or nodes), ``cut`` and ``notes``; of a table ``columns``,
    ``offset``, ``rows``, and ``rows_missing``: how many stand behind these; of a graph ``nodes`` and ``edges``; of a presentation ``title``, ``options``, and ``of``: what it shows.

    :raises NotFoundError: when there is no such result, or its rows were evicted for space.
    """
    found = results.result(handle)
    try:
        if found.kind == "table":
            return {**_head(found), **await _table(results, found, count)}
        if found.kind == "graph":
            return {**_head(found), **await _graph(results, handle)}
        shown = await results.presentation(handle)
        inner = await result_page(results, shown.of, count=count)
    except EvictedError as evicted:
        raise NotFoundError(
            "its rows were removed, to save space", subject=evicted.handle, remedy="Ask the question again"
        ) from evicted
    return {**_head(found), "kind": shown.kind, "title": shown.title, "options": dict(shown.options), "of": inner}


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


async def _graph(results: ResultStore, handle: str) -> dict[str, Any]:
    part = await results.graph(handle)
    return {
        "nodes": [{"id": n.id, "type": n.type, "properties": _properties(n.properties)} for n in part.nodes],
        "edges": [
            {"type": e.type, "source": e.source, "target": e.target, "properties": _properties(e.properties)}
            for e in part.edges
        ],
    }


def _properties(found: Any) -> dict[str, Any]:
    return {
        name: [_shown(each) for each in value] if isinstance(value, list | tuple) else _shown(value)
        for name, value in found.items()
    }


def _shown(cell: Cell) -> Cell:
    return f"{cell[:_MOST_CHARS]}…" if isinstance(cell, str) and len(cell) > _MOST_CHARS else cell
