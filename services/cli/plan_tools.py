"""The command ``egotools plan-tools``: the calls that lead to goal tools, from a store in this process or from a running server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from egotools.tool_plan import PlanInput, PlanStep, ToolPlan
from ontology.errors import InvalidArgumentError
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions, PlanCalls
from services.cli.command_error import command_error
from services.cli.console import plain, print_json, stdout, table
from services.cli.options import Json, Needs, Store
from services.cli.search import read_have, show_needs
from services.jobs.plans import DEFAULT_STORE, AllowedModels

__all__ = ["plan_tools"]

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
    from services.cli.planned_calls import execution_error, execution_json, planned_calls, show_call

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
    from retrieval.query.plan_request import PlanRequest
    from retrieval.snapshot_engine import open_engine

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
