"""The run of a task: decide, then enlarge the graph or ask it, until a query answers the task (sections 3 and 4 of the paper, appendix B.1).

The paper binds every tool into the prompt that enlarges the graph; here a search with the missing information finds the few that fit.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from egotools import ClientError, PermissionDeniedError, Tool
from egotools.calling.invoker import TOO_DEEP, ToolAnswer, ToolInvoker
from inference.retry import RetryPolicy
from ontology.errors import BudgetExceededError, EgotoolsError, InvalidArgumentError
from ontology.json_values import canonical_text
from planners.calls.sandbox import Sandbox
from planners.calls.tool_access import CallPipeline
from planners.calls.tool_finder import Finder, FoundTools
from planners.calls.untrusted import FenceMarks, clean_text, cleaned, fence_answer
from planners.journal.recorded import error_text
from planners.journal.step_log import emit, in_order, seconds_since, to_its_end, told_to, unheard
from planners.kgot import kgot_task as events
from planners.kgot.kgot_task import Decided, Ended, Insert, KgotEvent, KgotSettings, KgotTask, MadeCall, Retrieve, Vote
from planners.kgot.run_state import RunState, table_of
from planners.kgot.steps import LlmSteps
from planners.stores.property_graph import GraphState, PropertyGraph

_SETTINGS = KgotSettings()
_TOOL_RETRIES = 6  # of a safe call after a transient fault
_MOST_CALLS = 8  # of one iteration; the rest is left out
_SHOWN_BYTES = 16_384  # of a tool's answer in a prompt
_MISSING_CHARS = 4_000  # of a text that a model wrote; a search takes 20,000
_NOT_AGAIN = "This call was not allowed. Do not make it again; go on without it."
_ERROR_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotRun:
    """A run that has ended."""

    answer: str  # empty where there is none
    outcome: events.Outcome
    missing: str  # what was missing at last, or why the run ended; empty for a solved task
    state: GraphState  # the graph of the last good step
    calls: tuple[MadeCall, ...]
    iterations: int  # that were begun


async def solve_task(
    task: KgotTask,
    graph: PropertyGraph,
    steps: LlmSteps,
    finder: Finder,
    invoker: ToolInvoker,
    sandbox: Sandbox,
    *,
    settings: KgotSettings = _SETTINGS,
    observe: Callable[[KgotEvent], None] = unheard,
    fence_key: bytes = b"",
) -> KgotRun:
    """Run a task. What stands in the graph is part of the state of this run; ``finder`` finds tools for what is
    missing. ``invoker`` asks for consent before calls that change something; safe calls are tried again here, so open
    it without retries of its own (``RetryPolicy(max_retries=0)``): they multiply. The sandbox is for scripts and for
    computations. ``observe`` gets each event, on the event loop, in a fixed order. ``fence_key`` is that of the marks
    around answers of tools: equal keys give equal prompts, and an empty one is replaced by a new one. A task without a
    question raises InvalidArgumentError."""
    if not task.question.strip():
        raise InvalidArgumentError("there is no task", subject="question", remedy="Say what is to be solved")
    retries = RetryPolicy(
        max_retries=_TOOL_RETRIES, base_delay_s=settings.tool_retry_delay_s, max_delay_s=5.0, max_retry_after_s=30.0
    )
    run = RunState(
        task=replace(task, question=clean_text(task.question)),
        graph=graph,
        steps=steps,
        finder=finder,
        invoker=CallPipeline(invoker, retries=retries),
        sandbox=sandbox,
        settings=settings,
        marks=FenceMarks(fence_key),
    )
    with told_to(observe):
        limits: dict[type[Exception], str] = {BudgetExceededError: "budget"}
        ended = await to_its_end(_iterate(run), Ended, seconds=settings.max_seconds, outcomes=limits)
    return KgotRun(
        answer=ended.answer,
        outcome=ended.outcome,
        missing=ended.missing,
        state=run.state,
        calls=tuple(run.calls),
        iterations=run.iteration,
    )


async def _iterate(run: RunState) -> Ended:
    """Decide, and enlarge the graph or ask it; at the limit the answer is forced."""
    await run.contained("state", run.read_graph(), None)
    while run.iteration < run.settings.max_iterations and not run.is_silent:
        run.iteration += 1
        if answer := await run.contained("iteration", _step(run), ""):
            return Ended(answer=answer, outcome="solved")
    last: tuple[tuple[events.Outcome, Callable[[], Awaitable[str]]], ...] = (
        ("forced query", run.force_query),
        ("forced answer", run.force_answer),
    )
    for outcome, force in () if run.is_silent else last:
        if answer := await run.contained(outcome, force(), ""):
            return Ended(answer=answer, outcome=outcome, missing=run.missing)
    if run.fault is not None:
        return Ended(answer="", outcome="model", missing=error_text(run.fault))
    if run.missing == _task_itself(run):  # no vote said what is missing, and the task says nothing new
        return Ended(answer="", outcome="no solution", missing=run.vote_fault or "no vote could be used")
    return Ended(answer="", outcome="no solution", missing=run.missing or "the graph gave no answer to its queries")


async def _step(run: RunState) -> str:
    """Decide, and enlarge the graph or ask it; return the answer, or empty."""
    decided = await _decide(run)
    if run.is_silent:
        return ""
    votes = [each for each in (decided.votes if decided.judged is None else (decided.judged,)) if each is not None]
    if decided.decision == "solve":
        queries = [vote.query.strip() for vote in votes if isinstance(vote, Retrieve)]
        return await run.solve([query for query in queries if query])  # equal ones as often as they were given
    reasons = dict.fromkeys(vote.reason.strip() for vote in votes if isinstance(vote, Insert))
    await run.contained("enhance", _enlarge(run, [reason for reason in reasons if reason]), None)
    await run.read_graph()
    if run.settings.noise != "keep":
        await run.remove_noise()
    return ""


async def _decide(run: RunState) -> Decided:
    """Ask for the votes at once and return the decision (appendices B.2 and C.1). Unusable votes do not count; a tie enhances."""
    view, times = run.view(), run.settings.num_next_steps_decision
    faults: list[Exception | None] = [None] * times

    async def vote(nth: int) -> Vote:
        try:
            return await run.steps.vote(view, nth)
        except Exception as error:
            faults[nth] = error
            raise

    votes = await in_order([run.contained("vote", partial(vote, nth), None) for nth in range(times)])
    run.take_votes(faults)
    usable = [vote for vote in votes if vote is not None]
    judged = None
    if run.settings.next_step == "judge" and len(usable) > 1:
        judged = await run.contained("judge", run.steps.judge(view, usable), None)
    counted = usable if judged is None else [judged]
    is_solved = 2 * sum(isinstance(each, Retrieve) for each in counted) > len(counted)
    decision: events.Decision = "solve" if is_solved else "enhance"
    decided = Decided(iteration=run.iteration, votes=tuple(votes), decision=decision, judged=judged)
    emit(decided)
    return decided


async def _enlarge(run: RunState, reasons: Sequence[str]) -> None:
    """Enlarge the graph once: what is missing, tools for it, their calls, and their answers as writes (appendix C.2). Without a reason, the
    task itself is what is missing."""
    run.missing = _task_itself(run)
    if reasons:
        text = await run.contained("missing", run.steps.missing(run.view(), reasons), "")
        run.missing = (text.strip() or "\n".join(reasons))[:_MISSING_CHARS]
    emit(events.Missing(iteration=run.iteration, text=run.missing))
    found = await run.contained("find", run.finder.find(run.missing), None)
    if found is None:
        return
    ids = tuple(each.tool.id for each in found.tools)
    emit(events.ToolsFound(iteration=run.iteration, tool_ids=ids, snapshot_id=found.snapshot_id))
    if not found.tools:
        run.drop("calls", "no tool fits what is missing")
        return
    tools = {each.tool.id: each.tool for each in found.tools}
    calls = await _wanted_calls(run, found)
    before = run.view()  # the new answers go beside it
    made = await in_order([_call(run, tools[call.tool_id], call.arguments) for call in calls])
    run.calls.extend(call for call, _ in made)
    answers = [call for call, is_loaded in made if call.ok and not is_loaded]
    if answers:
        operations = await run.contained("write", run.steps.write(before, run.missing, answers), ())
        await run.write(operations)


def _task_itself(run: RunState) -> str:
    """Return what is missing where no vote says it."""
    return run.task.question.strip()[:_MISSING_CHARS]


async def _wanted_calls(run: RunState, found: FoundTools) -> list[events.WantedCall]:
    """Return the calls to be made: those that the model wants, of tools that were found, none made before."""
    known = {each.tool.id for each in found.tools}
    wanted = await run.contained("calls", run.steps.calls(run.view(), run.missing, found), ())
    kept: list[events.WantedCall] = []
    for key, call in {canonical_text([call.tool_id, dict(call.arguments)]): call for call in wanted}.items():
        faults = {
            "its arguments are nested too deeply": TOO_DEEP in key,
            "no tool of this id was found for what is missing": call.tool_id not in known,
            "the same call was made before": key in run.asked,
            f"more than {_MOST_CALLS} calls are wanted at once": len(kept) >= _MOST_CALLS,
        }
        if fault := next((fault for fault, is_so in faults.items() if is_so), ""):
            run.drop("call", f"{call.tool_id}: {fault}")
        else:
            kept.append(call)
            run.asked.add(key)
    return kept


async def _call(run: RunState, tool: Tool, arguments: Mapping[str, object]) -> tuple[MadeCall, bool]:
    """Make a call and tell it; return it, and whether its answer was a table that stands in the graph now, and nothing else."""
    started = time.perf_counter()
    answer = cleaned(await _answer(run, tool, arguments))
    table = table_of(tool.name, answer.body) if answer.ok else None
    is_loaded = table is not None and await run.load(table)
    told = replace(answer, body=table.shown()) if table is not None and is_loaded else answer
    text = fence_answer(told, tool_id=tool.id, max_bytes=_SHOWN_BYTES, marks=run.marks).text
    call = MadeCall(
        tool_id=tool.id, arguments=dict(arguments), ok=answer.ok, status=answer.status, body=answer.body, text=text
    )
    emit(events.CallMade(iteration=run.iteration, call=call, seconds=seconds_since(started)))
    return call, table is not None and is_loaded and not table.rest


async def _answer(run: RunState, tool: Tool, arguments: Mapping[str, object]) -> ToolAnswer:
    """Call a tool; whatever fails becomes an answer that says so."""
    try:
        return await run.invoker.invoke(tool, arguments)
    except BudgetExceededError:
        raise
    except PermissionDeniedError as error:
        status, body = "denied", f"{_NOT_AGAIN} {error}"
    except ClientError as error:
        status, body = error.code, str(error)
    except EgotoolsError as error:
        status, body = error.grpc_code, str(error)
    except Exception as error:  # a tool is foreign code, which raises what it likes
        status, body = "error", f"{type(error).__name__}: {error}"
    return ToolAnswer(ok=False, status=status, body=body[:_ERROR_CHARS])
