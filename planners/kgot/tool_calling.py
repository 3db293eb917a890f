"""Calling the tools of an iteration, all at once: transient faults are tried again, and whatever fails becomes an answer that says so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from egotools import ClientError, PermissionDeniedError, Tool
from egotools.calling.tool_answer import TOO_DEEP, ToolAnswer
from ontology.errors import BudgetExceededError, EgotoolsError
from ontology.json_object import canonical_text
from planners.calls.clean_values import cleaned
from planners.calls.fenced_answer import fence_answer
from planners.calls.tool_finder import FoundTools
from planners.journal.step_log import emit, in_order
from planners.kgot.kgot_events import CallMade
from planners.kgot.kgot_task import MadeCall
from planners.kgot.run_state import RunState
from planners.kgot.step_makers import WantedCall

__all__ = ["call_tools", "wanted_calls"]

_DENIED = "denied"
_NOT_AGAIN = "This call was not allowed. Do not make it again; go on without it."
_ERROR_CHARS = 2_000


async def wanted_calls(run: RunState, missing: str, found: FoundTools) -> list[WantedCall]:
    """Return the calls to be made: those of more than half of the usable answers, of tools that were found, none made before."""
    view, votes = run.view(), run.settings.tool_call_votes
    answers = await in_order(
        [run.contained("calls", run.makers.chooser.calls(view, missing, found, nth), None) for nth in range(votes)]
    )
    usable = [{_key(call): call for call in answer} for answer in answers if answer is not None]
    counts = Counter(key for answer in usable for key in answer)
    calls = {key: call for answer in usable for key, call in answer.items() if 2 * counts[key] > len(usable)}
    known = {each.tool.id for each in found.tools}
    kept: list[WantedCall] = []
    for key, call in calls.items():
        if problem := _problem(run, call, key, known, len(kept)):
            run.drop("call", f"{call.tool_id}: {problem}")
        else:
            kept.append(call)
            run.asked.add(key)
    return kept


def _problem(run: RunState, call: WantedCall, key: str, known: set[str], count: int) -> str:
    """Say why a call is not made; empty where it is."""
    if TOO_DEEP in key:
        return "its arguments are nested too deeply"
    if call.tool_id not in known:
        return "no tool of this id was found for what is missing"
    if key in run.asked:
        return "the same call was made before"
    if count >= run.settings.max_calls_per_step:
        return f"more than {run.settings.max_calls_per_step} calls are wanted at once"
    return ""


def _key(call: WantedCall) -> str:
    return canonical_text([call.tool_id, dict(call.arguments)])


async def call_tools(run: RunState, calls: Sequence[WantedCall], found: FoundTools) -> list[MadeCall]:
    """Make calls at once and return them with their answers, in order."""
    tools = {each.tool.id: each.tool for each in found.tools}
    made = await in_order([_call(run, tools[call.tool_id], call.arguments) for call in calls])
    run.calls.extend(made)
    return made


async def _call(run: RunState, tool: Tool, arguments: Mapping[str, object]) -> MadeCall:
    started = time.perf_counter()
    answer = cleaned(await _answer(run, tool, arguments))
    shown = fence_answer(answer, tool_id=tool.id, max_bytes=run.settings.max_shown_bytes, marks=run.marks)
    call = MadeCall(
        tool_id=tool.id,
        arguments=dict(arguments),
        ok=answer.ok,
        status=answer.status,
        body=answer.body,
        text=shown.text,
    )
    emit(CallMade(iteration=run.iteration, call=call, seconds=round(time.perf_counter() - started, 6)))
    return call


async def _answer(run: RunState, tool: Tool, arguments: Mapping[str, object]) -> ToolAnswer:
    try:
        return await run.invoker.invoke(tool, arguments)
    except BudgetExceededError:
        raise
    except PermissionDeniedError as error:
        return ToolAnswer(ok=False, status=_DENIED, body=f"{_NOT_AGAIN} {error}"[:_ERROR_CHARS])
    except ClientError as error:
        return ToolAnswer(ok=False, status=error.code, body=str(error)[:_ERROR_CHARS])
    except EgotoolsError as error:
        return ToolAnswer(ok=False, status=error.grpc_code, body=str(error)[:_ERROR_CHARS])
    except Exception as error:  # a tool is foreign code, which raises what it likes
        return ToolAnswer(ok=False, status="error", body=f"{type(error).__name__}: {error}"[:_ERROR_CHARS])
