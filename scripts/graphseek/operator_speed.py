"""Speed of operators on the EV graph: what they add to their queries, and each against Cypher written by hand."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from planners.graphs.readable_graph import ReadableGraph
from planners.graphseek.agent.question_parts import QuestionParts
from planners.graphseek.agent.turn import Invocation, StepRecord
from planners.graphseek.invocation_executor import InvocationExecutor
from planners.graphseek.operators.operator_registry import known_operators
from planners.graphseek.results.result import Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules.rules_turns import RulesTurns
from planners.runs.recorded_steps import Unrecorded
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.ev_plans import EvPlan, ev_plan
from scripts.graphseek.operator_cases import keyed_cases, operator_cases
from scripts.graphseek.timed_graph import TimedGraph, read_all
from scripts.kgot.graph_speed import Ratio

__all__ = ["growth_ratios", "operator_ratios", "overhead_ratio"]

_CALL_S = 300.0


async def play(graph: AccountGraph, readable: ReadableGraph, steps: Sequence[Invocation]) -> None:
    """Execute invocations one after the other as a run does, with results of its own.

    :raises RuntimeError: when one fails.
    """
    operators = known_operators()
    with tempfile.TemporaryDirectory() as folder:
        results = ResultStore(Path(folder))
        try:
            parts = QuestionParts(
                graph=readable,
                catalog=graph.catalog,
                operators=tuple(operators.values()),
                results=results,
                turns=RulesTurns(),
            )
            executor = InvocationExecutor(
                parts=parts, schema=graph.schema, recorder=Unrecorded(), first=0, seconds=_CALL_S
            )
            records: list[StepRecord] = []
            for number, step in enumerate(steps, 1):
                outcomes = await executor.run(number, (step,), list(operators), records)
                if not isinstance(outcomes[0], Result):
                    raise RuntimeError(f"{step.operator} failed: {outcomes[0]}")
                records.append(StepRecord(number=number, invocations=(step,), outcomes=outcomes))
        finally:
            results.close()


async def overhead_ratio(graph: AccountGraph, rounds: int) -> Ratio:
    """Return what is spent beside the queries: checks of arguments, compilation, rows kept on disk, summaries."""
    plans: list[EvPlan] = [ev_plan(each) for each in graph.questions]
    own, queries = [], []
    for nth in range(rounds + 1):
        timed, started = TimedGraph(graph.graph), time.perf_counter()
        for plan in plans:
            await play(graph, timed, plan.steps)
        if nth:  # the first round fills the engine's cache
            queries.append(timed.seconds)
            own.append(time.perf_counter() - started - timed.seconds)
    note = "15 questions; keeping the rows on disk is counted too"
    return Ratio(
        name="checking, compiling, summarising / queries",
        above=median(own),
        below=median(queries),
        most=0.2,
        note=note,
    )


async def operator_ratios(graph: AccountGraph, rounds: int) -> list[Ratio]:
    """Return each operator of graph data, whole, against a query written by hand whose rows are only read."""
    ratios = []
    for case in operator_cases(graph.questions):
        step = Invocation(operator=case.operator, arguments=case.arguments)
        ours = await _median(partial(play, graph, graph.graph, [step]), rounds)
        theirs = await _median(partial(read_all, graph.graph, case.cypher), rounds)
        ratios.append(Ratio(name=f"{case.operator} / Cypher by hand", above=ours, below=theirs, most=1.3))
    return ratios


async def growth_ratios(small: AccountGraph, large: AccountGraph, rounds: int, note: str) -> list[Ratio]:
    """Return how questions that begin at a key grow with the graph."""
    times: dict[str, list[float]] = {}
    for graph in (small, large):
        for name, step in (await keyed_cases(graph.graph)).items():
            times.setdefault(name, []).append(await _median(partial(play, graph, graph.graph, [step]), rounds))
    return [
        Ratio(name=f"{name}, tenfold graph", above=grown, below=before, most=2.0, note=note)
        for name, (before, grown) in times.items()
    ]


async def _median(work: Callable[[], Awaitable[object]], rounds: int) -> float:
    await work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        await work()
        times.append(time.perf_counter() - started)
    return median(times)
