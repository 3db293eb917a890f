"""Speed of operators on the EV graph: what they add to their queries, and each against Cypher written by hand."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from planners.graphseek.operators.cypher_text import CypherText
from planners.graphseek.operators.operator import Operator, OperatorContext, check_arguments, known_operators
from planners.graphseek.operators.pattern import resolve_nodes
from planners.graphseek.question_run import QuestionParts, answer_question
from planners.graphseek.results import Result, ResultStore
from planners.graphseek.turn import AgentSettings, Answer, Invocation, Question, StepRecord, StepView, Turn
from scripts.account.ratio import Ratio, seconds_of
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.ev_plans import ev_plan
from scripts.graphseek.operator_cases import OperatorCase, keyed_cases, operator_cases
from scripts.graphseek.timed_graph import TimedGraph, read_all

__all__ = ["growth_ratios", "operator_ratios", "overhead_ratio", "play"]

_CALL_S = 300.0


@dataclass(slots=True, kw_only=True)
class _Played:
    """What a plan took, in seconds.

    :param whole: from the first invocation to the last result.
    :param queries: of that, waiting for the engine.
    :param own: checks of arguments, compilation, and what summaries count and say, each measured alone after it.
    """

    whole: float
    queries: float
    own: float = 0.0


class _Plan:
    """Gives one invocation a step, and then an answer."""

    def __init__(self, steps: Sequence[Invocation]) -> None:
        self._steps = steps

    async def turn(self, view: StepView) -> Turn:
        """Return the turn of a step."""
        return (self._steps[view.step - 1],) if view.step <= len(self._steps) else Answer(text="done")


async def play(graph: AccountGraph, steps: Sequence[Invocation], *, parts_too: bool = False) -> _Played:
    """Execute invocations one after the other as a run does, with results of its own.

    :param parts_too: measure checks and compilation alone as well.
    :raises RuntimeError: when an invocation fails.
    """
    operators, timed = known_operators(), TimedGraph(graph.graph)
    with tempfile.TemporaryDirectory() as folder:
        results = ResultStore(Path(folder))
        try:
            parts = QuestionParts(
                graph=timed,
                catalog=graph.catalog,
                operators=tuple(operators.values()),
                results=results,
                turns=_Plan(steps),
            )
            settings = AgentSettings(max_steps=len(steps) + 1, call_seconds=_CALL_S)
            started = time.perf_counter()
            records = (await answer_question(Question(text="play the plan"), parts, settings)).records
            played = _Played(whole=time.perf_counter() - started, queries=timed.seconds)
            if failed := [each for record in records for each in record.outcomes if not isinstance(each, Result)]:
                raise RuntimeError(f"an operator failed: {failed[0]}")
            if parts_too:
                for record in records:
                    played.own += await _own_seconds(graph, results, record, operators)
        finally:
            results.close()
    return played


async def _own_seconds(
    graph: AccountGraph, results: ResultStore, record: StepRecord, operators: Mapping[str, Operator]
) -> float:
    """Return what a step spends on checking and compiling.

    :param operators: which a run is given: it does not look for their files at each step.
    """
    step, result = record.invocations[0], record.outcomes[0]
    if not isinstance(result, Result):
        return 0.0
    context = OperatorContext(
        graph=graph.graph,
        schema=graph.schema,
        catalog=graph.catalog,
        results=results,
        seconds=AgentSettings().call_seconds,
    )
    compile_query = getattr(operators[step.operator], "compile", None)
    arguments = dict(step.arguments)
    started = time.perf_counter()
    check_arguments(arguments, operators[step.operator].parameters(graph.schema, results.handles))
    checked = time.perf_counter() - started
    if "start" in arguments:  # what it names is read from the store, which is no part of compiling
        arguments["start"] = await resolve_nodes(arguments["start"], context)
    started = time.perf_counter()
    if compile_query is not None:
        compile_query(arguments, CypherText(graph.schema, graph.graph.dialect), graph.catalog)
    return checked + time.perf_counter() - started


async def overhead_ratio(graph: AccountGraph, rounds: int) -> Ratio:
    """Return what is spent on checks of arguments and compilation, against the queries."""
    totals: list[_Played] = []
    for nth in range(rounds + 1):
        played = [await play(graph, ev_plan(each).steps, parts_too=True) for each in graph.questions]
        if nth:  # the first round fills the engine's cache
            sums = {key: sum(getattr(each, key) for each in played) for key in ("whole", "queries", "own")}
            totals.append(_Played(**sums))
    queries, whole, own = (median(getattr(each, key) for each in totals) for key in ("queries", "whole", "own"))
    note = f"{len(graph.questions)} questions; with rows kept on disk and threads that wait: {whole / queries - 1:.2f}"
    return Ratio(name="checking, compiling / queries", above=own, below=queries, most=0.2, note=note)


async def operator_ratios(graph: AccountGraph, rounds: int) -> list[Ratio]:
    """Return each operator of graph data against a query written by hand whose rows are only read: its queries, and the whole of it."""
    ratios = []
    for case in operator_cases(graph.questions):
        step = Invocation(operator=case.operator, arguments=case.arguments)
        ours, theirs = list[_Played](), list[float]()
        for nth in range(rounds + 1):  # by turns, so that what else the machine does meets both
            played, read = await play(graph, [step]), await seconds_of(partial(_by_hand, graph, case))
            if nth:
                ours.append(played)
                theirs.append(read)
        by_hand = median(theirs)
        queries, whole = (median(getattr(each, key) for each in ours) for key in ("queries", "whole"))
        note = f"by hand {1_000 * by_hand:.1f} ms"
        name = f"{case.operator}, queries / Cypher by hand"
        ratios.append(Ratio(name=name, above=queries, below=by_hand, most=1.3, note=note))
        name = f"{case.operator}, whole / Cypher by hand"
        ratios.append(Ratio(name=name, above=whole, below=by_hand, most=1.3, note=note))
    return ratios


async def _by_hand(graph: AccountGraph, case: OperatorCase) -> None:
    for text in filter(None, (case.cypher, case.beside)):
        await read_all(graph.graph, text)


async def growth_ratios(small: AccountGraph, large: AccountGraph, rounds: int, note: str) -> list[Ratio]:
    """Return how questions that begin at a key grow with the graph."""
    times: dict[str, list[float]] = {}
    for graph in (small, large):
        for name, step in (await keyed_cases(graph.graph)).items():
            wholes = [(await play(graph, [step])).whole for _ in range(rounds + 1)]
            times.setdefault(name, []).append(median(wholes[1:]))
    return [
        Ratio(name=f"{name}, tenfold graph", above=grown, below=before, most=2.0, note=note)
        for name, (before, grown) in times.items()
    ]
