"""The run of a task: decide, then enlarge the graph or ask it, until a query answers the task (sections 3 and 4 of the paper, appendix B.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from egotools.calling.invoker import ToolInvoker
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from planners.calls.clean_values import CleanInvoker, clean_text
from planners.calls.fence_marks import FenceMarks
from planners.calls.safe_retries import RetryingInvoker
from planners.calls.sandbox import Sandbox
from planners.calls.tool_finder import Finder
from planners.journal.recorded import error_text as said
from planners.journal.step_log import emit, told_to, unheard
from planners.kgot.decide import decide, queries_of, reasons_of
from planners.kgot.enhance import enhance, missing_without_reasons
from planners.kgot.kgot_events import Ended, KgotEvent, Outcome
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask, MadeCall
from planners.kgot.run_state import RunState
from planners.kgot.solve import force_answer, force_query, solve
from planners.kgot.step_makers import StepMakers
from planners.stores.property_graph import GraphState, PropertyGraph

__all__ = ["KgotRun", "solve_task"]

_SETTINGS = KgotSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotRun:
    """A run that has ended.

    :param answer: empty where there is none.
    :param missing: what was missing at last, or why the run ended; empty for a solved task.
    :param state: the graph of the last good step.
    :param iterations: that were begun.
    """

    answer: str
    outcome: Outcome
    missing: str
    state: GraphState
    calls: tuple[MadeCall, ...]
    iterations: int


async def solve_task(
    task: KgotTask,
    graph: PropertyGraph,
    makers: StepMakers,
    finder: Finder,
    invoker: ToolInvoker,
    sandbox: Sandbox,
    *,
    settings: KgotSettings = _SETTINGS,
    observe: Callable[[KgotEvent], None] = unheard,
    fence_key: bytes = b"",
) -> KgotRun:
    """Run a task.

    :param graph: of this run; what stands in it is part of the state.
    :param makers: who take the steps.
    :param finder: of tools for what is missing.
    :param invoker: asks for consent before calls that change something. Safe calls are tried again here, so open it without retries of
        its own (``RetryPolicy(max_retries=0)``): they multiply.
    :param sandbox: for scripts and for computations.
    :param observe: gets each event, on the event loop, in a fixed order.
    :param fence_key: of the marks around answers of tools; equal keys give equal prompts. A new one where empty.
    :raises InvalidArgumentError: when there is no task.
    """
    if not task.question.strip():
        raise InvalidArgumentError("there is no task", subject="question", remedy="Say what is to be solved")
    run = RunState(
        task=replace(task, question=clean_text(task.question)),
        graph=graph,
        makers=makers,
        finder=finder,
        invoker=RetryingInvoker(CleanInvoker(invoker), settings.tool_retries),
        sandbox=sandbox,
        settings=settings,
        marks=FenceMarks(fence_key),
    )
    with told_to(observe):
        try:
            ended = await _within_limits(run)
        except asyncio.CancelledError:
            emit(Ended(answer="", outcome="cancelled", missing="the run was cancelled"))
            raise
        emit(ended)
    return KgotRun(
        answer=ended.answer,
        outcome=ended.outcome,
        missing=ended.missing,
        state=run.state,
        calls=tuple(run.calls),
        iterations=run.iteration,
    )


async def _within_limits(run: RunState) -> Ended:
    try:
        async with asyncio.timeout(run.settings.max_seconds) as limit:
            return await _iterate(run)
    except TimeoutError:
        if not limit.expired():
            raise
        return Ended(
            answer="", outcome="deadline", missing=f"the {run.settings.max_seconds:g} s of the run have passed"
        )
    except BudgetExceededError as error:
        return Ended(answer="", outcome="budget", missing=str(error))


async def _iterate(run: RunState) -> Ended:
    """Decide, and enlarge the graph or ask it; at the limit the answer is forced."""
    await run.contained("state", run.read_graph(), None)
    while run.iteration < run.settings.max_iterations:
        run.iteration += 1
        if answer := await run.contained("iteration", _step(run), ""):
            return Ended(answer=answer, outcome="solved")
        if run.availability.is_final:
            return _silent(run)
    for force, outcome in _LAST_STEPS:
        if answer := await run.contained(outcome, force(run), ""):
            return Ended(answer=answer, outcome=outcome, missing=run.missing)
    if run.availability.fault is not None:
        return _silent(run)
    return Ended(answer="", outcome="no solution", missing=_why_unsolved(run))


def _why_unsolved(run: RunState) -> str:
    if run.missing == missing_without_reasons(run):  # no vote said what is missing, and the task says nothing new
        return run.vote_fault or "no vote could be used"
    return run.missing or "the graph gave no answer to its queries"


def _silent(run: RunState) -> Ended:
    return Ended(answer="", outcome="model", missing=said(run.availability.fault or ModelError("no model answers")))


async def _step(run: RunState) -> str:
    """Decide, and enlarge the graph or ask it; return the answer, or empty."""
    decided = await decide(run)
    if run.availability.is_final:
        return ""
    if decided.decision == "enhance":
        await enhance(run, reasons_of(decided))
        return ""
    return await solve(run, queries_of(decided))


_LAST_STEPS: tuple[tuple[Callable[[RunState], Awaitable[str]], Outcome], ...] = (
    (force_query, "forced query"),
    (force_answer, "forced answer"),
)
