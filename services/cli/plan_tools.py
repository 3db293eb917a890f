"""The command ``egotools plan-tools``: the calls that lead to goal tools, from a store in this process or from a running server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from egotools.calling.invoker import ToolInvoker
from egotools.values import PlanInput, PlanStep, ToolPlan
from ontology.errors import EgotoolsError, InvalidArgumentError, ToolCallError
from planners.calls.execute_plan import PlanExecution, StepCall, TakenRow, execute_plan, planned_tools
from planners.calls.tool_access import CallLimits, always
from planners.journal.recorded import RecordedInvoker, Steps
from planners.journal.run_journal import RunJournal, open_run_journal
from services.cli.ask_at_terminal import ask_at_terminal
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions, PlanCalls
from services.cli.command_error import command_error
from services.cli.console import plain, print_json, printable, stdout, table
from services.cli.options import Json, Needs, Store
from services.cli.search import read_have, show_needs
from services.cli.tools_client import tools_client
from services.jobs.plans import DEFAULT_STORE, AllowedModels

__all__ = ["plan_tools"]

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


_NO_CALLS = PlanCalls()


def plan_tools(
    query: Annotated[
        str, typer.Argument(help="The request in plain words; context beside --need; not needed with --goal.")
    ] = "",
    store: Store = DEFAULT_STORE,
    server: Annotated[
        str, typer.Option(help="Ask a running server (HOST:PORT). Default: plan over the store in this process.")
    ] = "",
    goals: Annotated[
        list[str] | None,
        typer.Option(
            "--goal",
            help="Id of a tool to be called in the end. Default: the best tool of each --need, or the best tools for the request.",
        ),
    ] = None,
    done: Annotated[
        list[str] | None, typer.Option("--done", help="Id of a tool that was executed already: it supplies inputs.")
    ] = None,
    have: Annotated[
        list[str] | None,
        typer.Option(
            "--have",
            help="NAME=VALUE: a value that is known already, by the name of an input or the kind of object; the value may be empty.",
        ),
    ] = None,
    needs: Needs = None,
    preset: Annotated[str, typer.Option(help="Retriever that matches the request.")] = "",
    allowed_models: AllowedModels = (),
    plan_calls: PlanCalls = _NO_CALLS,
    calling: CallOptions = NO_CALL_OPTIONS,
    as_json: Json = False,
) -> None:
    """Plan the calls that lead to some tools: their order, and where each input comes from.

    Nothing is called without --execute. With it a call that may change something is confirmed: at the terminal, or by --yes. Of a list in an answer the
    first value is taken.
    """
    asked: dict[str, Any] = {
        "goals": tuple(goals or ()),
        "query": query,
        "done": tuple(done or ()),
        "have": read_have(have or []),
        "preset": preset,
        "needs": tuple(needs or ()),
    }
    if plan_calls.execute:
        _execute(asked, calling, plan_calls, server, store, allowed_models, as_json=as_json)
        return
    if calling != NO_CALL_OPTIONS or plan_calls != _NO_CALLS:
        raise InvalidArgumentError(
            "there are options for calls, and none is made", subject="--execute", remedy="Give it, or leave them out"
        )
    plan = _plan_by_server(server, asked) if server else _plan_by_store(store, asked, allowed_models)
    if as_json:
        print_json(asdict(plan))
    else:
        _show(plan)


def _execute(
    asked: dict[str, Any],
    options: CallOptions,
    plan_calls: PlanCalls,
    server: str,
    store: Path,
    allowed_models: Sequence[str],
    *,
    as_json: bool,
) -> None:
    from egotools import ClientError
    from services.cli.plan_tools import execution_error, execution_json, planned_calls, show_call

    def quiet(what: object) -> None:
        """Print nothing: all is in the JSON."""

    try:
        plan, execution = asyncio.run(
            planned_calls(
                asked,
                options,
                plan_calls,
                server=server,
                store=store,
                allowed_models=allowed_models,
                planned=quiet if as_json else _show,
                observe=quiet if as_json else show_call,
            )
        )
    except ClientError as error:
        raise command_error(error) from error
    if as_json:
        print_json({"plan": asdict(plan), "execution": execution_json(execution)})
    elif execution.calls and execution.remaining:
        left = ", ".join(f"{step.number} {step.tool_id}" for step in execution.remaining)
        stdout.print(f"[yellow]not called[/]: {plain(left)}", soft_wrap=True, highlight=False)
    failed = execution_error(execution)
    if failed is not None:
        raise failed


def _plan_by_store(store: Path, asked: dict[str, Any], allowed_models: Sequence[str]) -> ToolPlan:
    from retrieval.engine import open_engine
    from retrieval.query.request import PlanRequest

    return open_engine(store, allowed_models=allowed_models).plan(PlanRequest(**asked))


def _plan_by_server(address: str, asked: dict[str, Any]) -> ToolPlan:
    """Ask a running server.

    :raises EgotoolsError: with the exit code that belongs to the status of the call.
    """
    from egotools import Client, ClientError

    try:
        with Client(address) as client:
            return client.plan(**asked)
    except ClientError as error:
        raise command_error(error, address) from error


def _show(plan: ToolPlan) -> None:
    rows = [
        (step.number, step.tool_id, step.kind, _certainty(step), "\n".join(_lines(step.inputs))) for step in plan.steps
    ]
    title = f"plan · cost {plan.cost:.2f} · snapshot {plan.snapshot_id}"
    stdout.print(table(title, ("#", "tool", "kind", "conf.", "inputs"), rows))
    for each in plan.open_inputs:
        steps = ", ".join(map(str, each.steps))
        said = f": {plain(each.description)}" if each.description else ""
        stdout.print(f"{each.source} {plain(each.parameter)} (for step {steps}){said}", soft_wrap=True)
    show_needs(plan.need_results)
    if plan.guesses:
        stdout.print("Nobody named the goals: conf. is the probability that the request needs each.", soft_wrap=True)
    if plan.doubt:
        stdout.print(f"[yellow]{plan.doubt}[/]")
    for reason in plan.fallbacks:
        stdout.print(f"[yellow]fallback[/]: {plain(reason)}")


def _certainty(step: PlanStep) -> str:
    """The confidence; 1.00 only where it is 1, and nothing for a goal without an estimate."""
    if step.kind == "goal" and not step.confidence:
        return ""
    return f"{step.confidence if step.confidence == 1 else min(step.confidence, 0.99):.2f}"


def _lines(inputs: Sequence[PlanInput]) -> Iterator[str]:
    for each in inputs:
        if each.source == "step":
            came = f"step {each.step}" + (f".{each.output}" if each.output else "")
        elif each.source == "done":
            came = f"{each.supplier}" + (f" {each.output}" if each.output else "")
        else:
            came = f"{each.source} {each.value}".strip()
        yield f"{each.parameter} ← {came}" if each.parameter else f"after step {each.step}"
