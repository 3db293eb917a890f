"""``egotools plan-tools --execute``: the calls of a plan are made, shown as they are, and kept in a journal where one is named."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from egotools.calling.invoker import ToolInvoker
from egotools.tool_plan import ToolPlan
from ontology.errors import EgotoolsError, InvalidArgumentError, ToolCallError
from planners.calls.execute_plan import PlanExecution, StepCall, TakenRow, execute_plan, planned_tools
from planners.calls.tool_access import CallLimits, always
from planners.journal.recorded import RecordedInvoker, Steps
from planners.journal.run_journal import RunJournal, open_run_journal
from services.cli.ask_at_terminal import ask_at_terminal
from services.cli.call_options import CallOptions, PlanCalls
from services.cli.command_error import command_error
from services.cli.console import plain, stdout
from services.cli.printable import printable
from services.cli.tools_client import tools_client

__all__ = ["execution_error", "execution_json", "planned_calls", "show_call"]

_MAX_SHOWN = 2_000


async def planned_calls(
    asked: Mapping[str, Any],
    options: CallOptions,
    plan_calls: PlanCalls,
    *,
    server: str,
    store: Path,
    allowed_models: Sequence[str],
    planned: Callable[[ToolPlan], object],
    observe: Callable[[StepCall], object],
) -> tuple[ToolPlan, PlanExecution]:
    """Plan and make the calls. A journal that has a run goes on with its plan.

    :param asked: arguments of :meth:`egotools.AsyncClient.plan`.
    :param planned: is called with the plan before its first call.
    :raises ClientError: when the server does not answer, or refuses.
    :raises InvalidArgumentError: when the journal is of another run.
    """
    access = options.access(yes=plan_calls.yes)
    ask = ask_at_terminal()
    with (
        open_run_journal(plan_calls.journal) if plan_calls.journal is not None else contextlib.nullcontext() as journal
    ):
        async with (
            tools_client(server, store, allowed_models) as client,
            access.calling(ask, CallLimits()) as calling,
        ):
            plan = _plan_of(journal, asked) if journal is not None else None
            if plan is None:
                plan = await client.plan(**asked)
            tools = await planned_tools(client, plan)
            planned(plan)
            invoker: ToolInvoker = calling
            if journal is not None:
                if journal.first is None:
                    journal.append("run_begun", asked=_json(asked), plan=_json(asdict(plan)))
                invoker = RecordedInvoker(
                    calling, Steps(journal, faults="retried"), repeat=always if plan_calls.yes else ask
                )
            execution = await execute_plan(plan, tools, invoker, have=asked["have"], observe=observe)
            if journal is not None:
                journal.append("run_ended", answer=execution_json(execution))
    return plan, execution


def execution_json(execution: PlanExecution) -> dict[str, Any]:
    """Return it as JSON values."""
    return {
        "outcome": execution.outcome,
        "calls": [_call_json(call) for call in execution.calls],
        "remaining": [step.number for step in execution.remaining],
        "open_inputs": [asdict(each) for each in execution.open_inputs],
    }


def execution_error(execution: PlanExecution) -> EgotoolsError | None:
    """Return why not all calls were made, or None."""
    if execution.open_inputs:
        needed = ", ".join(
            f"{each.parameter} (step {' and '.join(map(str, each.steps))})" for each in execution.open_inputs
        )
        return InvalidArgumentError(
            f"nothing was called, because these values are not known: {needed}",
            subject="--have",
            remedy="Give each of them: --have NAME=VALUE",
        )
    if execution.outcome == "made":
        return None
    last = execution.calls[-1]
    if last.error is not None:
        return command_error(last.error)
    status = printable(last.answer.status) if last.answer is not None else ""
    problem = f"step {last.step.number} was answered with an error: {status}"
    return ToolCallError(problem, subject=last.step.tool_id, remedy="Read its answer")


def show_call(call: StepCall) -> None:
    """Print a call before it is made, its answer after."""
    if call.answer is not None:
        text = json.dumps(call.answer.body, ensure_ascii=False, indent=1)
        more = f"… ({len(text):,} characters; --json prints all)" if len(text) > _MAX_SHOWN else ""
        stdout.print(f"[bold]{plain(call.answer.status)}[/]", highlight=False)
        for note in call.answer.notes:
            stdout.print(f"[yellow]{plain(note)}[/]", highlight=False, soft_wrap=True)
        stdout.print(plain(text[:_MAX_SHOWN] + more), soft_wrap=True, highlight=False)
        return
    if call.error is not None:
        return  # it ends the command
    arguments = json.dumps(call.given.arguments, ensure_ascii=False)
    stdout.print(
        f"[bold]step {call.step.number}[/] {plain(f'{call.step.tool_id} {arguments}')}", soft_wrap=True, highlight=False
    )
    for each in call.given.taken:
        stdout.print(
            plain(f"  {each.parameter}: {_which(each)}{each.output} of {each.supplier}"),
            soft_wrap=True,
            highlight=False,
        )
    for name in call.given.left_out:
        stdout.print(plain(f"  {name}: left out, the tool does not take the known value"), soft_wrap=True)


def _which(taken: TakenRow) -> str:
    return f"value {taken.row} of {taken.rows} in " if taken.rows > 1 else ""


def _call_json(call: StepCall) -> dict[str, Any]:
    answer, error = call.answer, call.error
    return {
        "step": call.step.number,
        "tool_id": call.step.tool_id,
        **asdict(call.given),
        "ok": call.ok,
        "status": answer.status if answer is not None else "",
        "body": answer.body if answer is not None else None,
        "error": {"code": error.code, "reason": error.reason, "problem": error.message} if error is not None else None,
    }


def _plan_of(journal: RunJournal, asked: Mapping[str, Any]) -> ToolPlan | None:
    """Return the plan of a journal's run; None of an empty journal.

    :raises InvalidArgumentError: when the journal is of another run.
    """
    if journal.first is None:
        return None
    begun = journal.first.data
    if begun.get("asked") != _json(asked):
        raise InvalidArgumentError(
            "the journal is of another run", subject="--journal", remedy="Give a new file, or the same goals and values"
        )
    return TypeAdapter(ToolPlan).validate_python(begun["plan"])


def _json(value: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(value))
