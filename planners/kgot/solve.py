"""Asking the graph for the answer: by queries, by scripts, by reading the whole of it, or by all of these (section 4.2, appendix C.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from planners.journal.step_log import emit, in_order
from planners.kgot.final_answer import Partial, final_answer
from planners.kgot.graph_queries import GraphAsker, rows_text
from planners.kgot.kgot_events import Queried
from planners.kgot.run_state import RunState
from planners.kgot.script_graph import script_rows

__all__ = ["force_answer", "force_query", "solve"]

_PARTIAL_CHARS = 16_000


async def solve(run: RunState, queries: Sequence[str]) -> str:
    """Return the answer, or empty where the graph gives none.

    :param queries: of all votes; equal ones are run once and count as often as they were given. Where the run retrieves without
        queries, the answers that the votes read off the graph.
    """
    kind = run.settings.retrieve
    steps = {
        "query": lambda: _asked(run, _graph_asker(run), queries),
        "script": lambda: _asked(run, _script_asker(run), queries),
        "direct": lambda: _direct(run, queries),
        "fusion": lambda: _fusion(run, queries),
    }
    answer = await final_answer(run, await steps[kind]())
    if not answer:  # also where a query gave rows that are no answer: the next votes see it
        run.fruitless.extend(query for query in dict.fromkeys(queries) if query not in run.fruitless)
    return answer


async def force_query(run: RunState) -> str:
    """Return the answer of a query that is the best that can be had, or empty."""
    if run.settings.retrieve == "direct":
        return ""
    asker = _script_asker(run) if run.settings.retrieve == "script" else _graph_asker(run)
    return await final_answer(run, await _partials(run, asker, "", 1, forced=True))


async def force_answer(run: RunState) -> str:
    """Return the answer that is read off the graph as far as it goes, or empty."""
    answer = await run.contained("forced answer", run.makers.reader.direct(run.view(), forced=True), None)
    return await final_answer(run, _told(run, [answer or ""]))


async def _asked(run: RunState, asker: GraphAsker | None, queries: Sequence[str]) -> list[Partial]:
    counts = Counter(queries) or Counter({"": 1})
    found = await in_order([_partials(run, asker, query, weight) for query, weight in counts.items()])
    return [partial for partials in found for partial in partials]


async def _direct(run: RunState, answers: Sequence[str]) -> list[Partial]:
    if not answers:
        read = await run.contained("direct answer", run.makers.reader.direct(run.view(), forced=False), None)
        answers = [read or ""]
    return _told(run, answers)


async def _fusion(run: RunState, queries: Sequence[str]) -> list[Partial]:
    """All kinds at once; each answer counts as often as votes gave its query."""
    ways: list[Callable[[], Awaitable[list[Partial]]]] = [
        lambda: _asked(run, _graph_asker(run), queries),
        lambda: _asked(run, _script_asker(run), ()),
        lambda: _direct(run, ()),
    ]

    async def one(way: Callable[[], Awaitable[list[Partial]]]) -> list[Partial]:
        return await way()

    return [partial for partials in await in_order([one(way) for way in ways]) for partial in partials]


async def _partials(
    run: RunState, asker: GraphAsker | None, query: str, weight: int, *, forced: bool = False
) -> list[Partial]:
    if asker is None:
        run.drop("script", "nobody in this run writes scripts")
        return []
    rows = await run.contained("query", asker.rows(run, query, forced=forced), None)
    return [] if rows is None else [Partial(text=rows_text(rows, _PARTIAL_CHARS), weight=weight)]


def _told(run: RunState, answers: Sequence[str]) -> list[Partial]:
    counts = Counter(answer.strip() for answer in answers if answer.strip())
    for answer in counts:
        emit(Queried(iteration=run.iteration, kind="direct", query=answer))
    return [Partial(text=answer[:_PARTIAL_CHARS], weight=weight) for answer, weight in counts.items()]


def _graph_asker(run: RunState) -> GraphAsker:
    limits = run.settings.query_limits
    return GraphAsker(kind="query", ask=lambda query: run.graph.query(query, limits=limits), reader=run.makers.reader)


def _script_asker(run: RunState) -> GraphAsker | None:
    """Return what runs Python on the graph; where the graph itself is asked by Python, that is the same."""
    if run.graph.language == "python":
        reader = run.makers.script or run.makers.reader
        return GraphAsker(
            kind="script", ask=lambda code: run.graph.query(code, limits=run.settings.query_limits), reader=reader
        )
    if run.makers.script is None:
        return None
    return GraphAsker(
        kind="script",
        ask=lambda code: script_rows(code, run.state, run.sandbox, run.settings.query_limits),
        reader=run.makers.script,
    )
