"""The command ``egotools plan``: with a domain a request is answered, without one the calls that it needs are planned, and made if asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from egotools.values import ToolPlan
from ontology.errors import EgotoolsError, InvalidArgumentError, ToolCallError
from services.cli.calls import NO_CALL_OPTIONS, CallOptions, ask_at_terminal, check_known
from services.cli.console import compact_json, plain, print_json, printable, say, tell
from services.cli.options import Done, Have, Journal, Json, Needs, Replay, Server, Store, Yes, command_error
from services.cli.search import read_pairs, show_doubts, show_needs, tools_client
from services.jobs.plans import DEFAULT_STORE, AllowedModels, ChatEndpoint, Rare, open_chat

if TYPE_CHECKING:
    from planners.calls.execute_plan import PlanExecution, StepCall

_MAX_SHOWN = 2_000
_OF_CALLS = frozenset(("goals", "done", "have", "needs", "preset", "execute", "allowed_models"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainOptions:
    """How a request is answered under a domain."""

    data: Annotated[Path | None, Rare(file_okay=False, help="Personal: mail, calendars, cards, files.")] = None
    index: Annotated[Path, Rare(envvar="EGOTOOLS_PERSONAL_INDEX", help="Index of --data.")] = Path(
        "egotools-personal.sqlite"
    )
    zone: Annotated[str, Rare(help="Time zone of the user, of --data.")] = "UTC"
    graph: Annotated[Path | None, Rare(help="The query graph as a JSON file, instead of words.")] = None
    parser: Annotated[str, Rare(help="Who reads the words: rules.v1, or llm.v1 (a model; see --llm-url).")] = "rules.v1"
    today: Annotated[str, Rare(help="The day against which dates are read, YYYY-MM-DD. Default: today.")] = ""
    max_calls: Annotated[int, Rare(min=1, help="Calls of tools, further pages of an answer included.")] = 10_000
    max_seconds: Annotated[float, Rare(min=0.1, help="Seconds for all calls together.")] = 300.0
    best_effort: Annotated[bool, Rare("--best-effort", help="Leave out words that are not understood.")] = False


_NO_ENDPOINT, _NO_DOMAIN = ChatEndpoint(), DomainOptions()
_OF_A_DOMAIN = {each.name for each in (*fields(DomainOptions), *fields(ChatEndpoint))} | {"journal", "replay"}


def plan(
    context: typer.Context,
    request: Annotated[str, Argument(help="The request in plain words; the context of --need.")] = "",
    domain: Annotated[str, Option(help="Answer it under a domain: personal, enterprise, a YAML file.")] = "",
    needs: Needs = None,
    goals: Annotated[list[str] | None, Option("--goal", help="Id of a tool to be called in the end.")] = None,
    have: Have = None,
    store: Store = DEFAULT_STORE,
    server: Server = "",
    execute: Annotated[bool, Option("--execute", help="Make the planned calls, in their order.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the graph and the tools, and call none.")] = False,
    yes: Yes = False,
    journal: Journal = None,
    replay: Replay = False,
    done: Done = None,
    preset: Annotated[str, Rare(help="Retriever that matches the request.")] = "",
    allowed_models: AllowedModels = (),
    calling: CallOptions = NO_CALL_OPTIONS,
    answering: DomainOptions = _NO_DOMAIN,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    as_json: Json = False,
) -> None:
    """Plan the calls that a request needs: their order, and where each input comes from. None is made without --execute.

    With --domain the request is answered: its tools are found through the service and called.
    """
    if domain:
        if useless := _given(context, _OF_CALLS):
            problem = f"a request is answered under it, and {useless} would have no effect"
            raise InvalidArgumentError(problem, subject="--domain", remedy="Leave it out, or the others")
        if replay and journal is None:
            raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
        where = {"server": server, "store": store, "journal": journal, "dry_run": dry_run}
        return _answer(request, domain, answering, endpoint, calling, where, yes=yes, replay=replay, as_json=as_json)
    if useless := _given(context, _OF_A_DOMAIN):
        problem = "it says under which schema the request is read and answered; without it the calls are only planned"
        remedy = "Name one, or leave the others out"
        raise InvalidArgumentError(f"{problem}, and {useless} would have no effect", subject="--domain", remedy=remedy)
    if not execute and (calling != NO_CALL_OPTIONS or yes):
        problem, remedy = "there are options for calls, and none is made", "Give it, or leave them out"
        raise InvalidArgumentError(problem, subject="--execute", remedy=remedy)
    asked: dict[str, Any] = {
        "goals": tuple(goals or ()),
        "query": request,
        "done": tuple(done or ()),
        "have": read_pairs(have or [], "--have"),
        "preset": preset,
        "needs": tuple(needs or ()),
    }
    tools = (server, store, allowed_models)
    if execute:
        return _execute(asked, calling, tools, yes=yes, as_json=as_json)
    found = _planned(asked, *tools)
    return print_json(asdict(found)) if as_json else _show(found)


def _given(context: typer.Context, names: Collection[str]) -> str:
    """Those options of some parameters that stand on the command line."""
    sources = {each: context.get_parameter_source(each.name or "") for each in context.command.params}
    given = [each for each, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    return ", ".join(sorted(max(each.opts, key=len) for each in given if each.name in names))


def _answer(
    request: str,
    domain: str,
    options: DomainOptions,
    endpoint: ChatEndpoint,
    calling: CallOptions,
    where: dict[str, Any],
    *,
    yes: bool,
    replay: bool,
    as_json: bool,
) -> None:
    """Answer a request under a domain.

    :param where: arguments of :func:`services.cli.walk.walk`: its server, store, journal and whether it is a dry run.
    """
    from planners.calls.tool_access import CallLimits
    from planners.query.domain import read_domain
    from services.cli.walk import DOMAIN_MODULES, Walk, read_graph, replay_walk, show_walk, walk, walk_to_json

    schema, day = read_domain(domain), _day(options.today)
    if options.data is not None:
        _refresh(options, day)
    if replay:
        walked = replay_walk(schema, where["journal"])
    else:
        access = calling.access(DOMAIN_MODULES.get(schema.name, ()), yes=yes)
        graph = read_graph(options.graph, schema) if options.graph is not None else None
        model = None
        if options.parser.startswith("llm") and graph is None:
            model = open_chat(endpoint, needed_by="--parser llm.v1")
        asked = Walk(
            request=request,
            domain=schema,
            graph=graph,
            today=day,
            parser=options.parser,
            model=model,
            best_effort=options.best_effort,
        )
        limits = CallLimits(calls=options.max_calls, seconds=options.max_seconds)
        if not as_json:
            tell(
                f"[dim]Over the tools of {plain(where['server'] or where['store'])}, by the domain {plain(schema.name)}.[/]"
            )
        with _personal(schema.name, options.index):
            walked = asyncio.run(walk(asked, access, ask_at_terminal(), limits=limits, **where))
    if as_json:
        print_json(walk_to_json(walked))
    else:
        show_walk(walked)
    if walked.execution is not None and walked.execution["count"] is None:  # nothing could be resolved
        raise typer.Exit(ToolCallError.exit_code)


def _refresh(options: DomainOptions, today: date) -> None:
    """Bring the index of personal data up to date, and say what could not be read."""
    from planners.personal import PersonalData, refresh_index

    data = PersonalData.below(options.data or Path(), zone=options.zone)
    for fault in refresh_index(data, options.index, today=today):
        tell(f"[yellow]not read[/] {plain(fault.subject)}: {plain(fault.problem)}")


def _personal(domain: str, index: Path) -> AbstractContextManager[None]:
    from planners.personal import index_in_use

    return index_in_use(index) if domain == "personal" else nullcontext()


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text) if text else date.today()
    except ValueError:
        raise InvalidArgumentError(f"{text!r} is no day", subject="--today", remedy="Write YYYY-MM-DD") from None


def _planned(asked: dict[str, Any], server: str, store: Path, allowed_models: Sequence[str]) -> ToolPlan:
    if server:
        from egotools import Client

        with Client(server) as client:
            return client.plan(**asked)
    from retrieval.engine import open_engine
    from retrieval.query.request import PlanRequest

    engine = open_engine(store, allowed_models=allowed_models)
    check_known(engine.snapshot, asked["goals"])
    return engine.plan(PlanRequest(**asked))


def _execute(
    asked: Mapping[str, Any],
    options: CallOptions,
    where: tuple[str, Path, Sequence[str]],
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Plan and make the calls.

    :param asked: arguments of :meth:`egotools.AsyncClient.plan`.
    :param where: the server, the store, and the encoders that it may name.
    """
    from planners.calls.execute_plan import execute_plan, planned_tools
    from planners.calls.tool_access import CallLimits

    access, ask = options.access(yes=yes), ask_at_terminal()
    observe: Callable[[StepCall], object] = (lambda call: None) if as_json else _show_call

    async def made() -> tuple[ToolPlan, PlanExecution]:
        async with tools_client(*where) as client, access.calling(ask, CallLimits()) as invoker:
            plan = await client.plan(**asked)
            tools = await planned_tools(client, plan)
            if not as_json:
                _show(plan)
            return plan, await execute_plan(plan, tools, invoker, have=asked["have"], observe=observe)

    plan, execution = asyncio.run(made())
    if as_json:
        print_json({"plan": asdict(plan), "execution": _execution_json(execution)})
    elif execution.calls and execution.remaining:
        left = ", ".join(f"{step.number} {step.tool_id}" for step in execution.remaining)
        say(f"[yellow]not called[/]: {plain(left)}")
    failed = _execution_error(execution)
    if failed is not None:
        raise failed


def _execution_json(execution: PlanExecution) -> dict[str, Any]:
    calls = [
        {
            "step": call.step.number,
            "tool_id": call.step.tool_id,
            **asdict(call.given),
            "ok": call.ok,
            "status": call.answer.status if call.answer else "",
            "body": call.answer.body if call.answer else None,
            "error": call.error
            and {"code": call.error.code, "reason": call.error.reason, "problem": call.error.message},
        }
        for call in execution.calls
    ]
    return {
        "outcome": execution.outcome,
        "calls": calls,
        "remaining": [step.number for step in execution.remaining],
        "open_inputs": [asdict(each) for each in execution.open_inputs],
    }


def _execution_error(execution: PlanExecution) -> EgotoolsError | None:
    """Return why not all calls were made, or None."""
    if execution.open_inputs:
        needed = [f"{each.parameter} (step {' and '.join(map(str, each.steps))})" for each in execution.open_inputs]
        problem = f"nothing was called, because these values are not known: {', '.join(needed)}"
        return InvalidArgumentError(problem, subject="--have", remedy="Give each of them: --have NAME=VALUE")
    if execution.outcome == "made":
        return None
    last = execution.calls[-1]
    if last.error is not None:
        return command_error(last.error)
    status = printable(last.answer.status) if last.answer is not None else ""
    problem = f"step {last.step.number} was answered with an error: {status}"
    return ToolCallError(problem, subject=last.step.tool_id, remedy="Read its answer")


def _show_call(call: StepCall) -> None:
    """Print a call before it is made, its answer after; an error ends the command, which prints it."""
    if call.answer is not None:
        text = json.dumps(call.answer.body, ensure_ascii=False, indent=1)
        more = f"… ({len(text):,} characters; --json prints all)" if len(text) > _MAX_SHOWN else ""
        say(f"[bold]{plain(call.answer.status)}[/]")
        for note in call.answer.notes:
            say(f"[yellow]{plain(note)}[/]")
        say(plain(text[:_MAX_SHOWN] + more))
    elif call.error is None:
        say(f"[bold]step {call.step.number}[/] {plain(f'{call.step.tool_id} {compact_json(call.given.arguments)}')}")
        for each in call.given.taken:
            which = f"value {each.row} of {each.rows} in " if each.rows > 1 else ""
            say(plain(f"  {each.parameter}: {which}{each.output} of {each.supplier}"))
        for name in call.given.left_out:
            say(plain(f"  {name}: left out, the tool does not take the known value"))


def _show(plan: ToolPlan) -> None:
    """Print a line for each step, and one for each of its inputs; a goal has its probability, 1.00 only where it is certain."""
    say(f"[bold]plan[/] · cost {plan.cost:.2f} · snapshot {plain(plan.snapshot_id)}")
    for step in plan.steps:
        known = step.confidence if step.confidence == 1 else min(step.confidence, 0.99)
        sure = "" if step.kind == "goal" and not step.confidence else f" {known:.2f}"
        say(f"{step.number:>2} [bold]{plain(step.tool_id)}[/] {step.kind}{sure}")
        for each in step.inputs:
            came = (
                f"step {each.step}"
                if each.source == "step"
                else each.supplier
                if each.source == "done"
                else each.source
            )
            came += "".join(f" {text}" for text in (each.output, each.value) if text)
            say(plain(f"     {each.parameter} ← {came}" if each.parameter else f"     after step {each.step}"))
    for open_input in plan.open_inputs:
        said = f": {plain(open_input.description)}" if open_input.description else ""
        say(
            f"{open_input.source} {plain(open_input.parameter)} (for step {', '.join(map(str, open_input.steps))}){said}"
        )
    show_needs(plan.need_results)
    if plan.guesses:
        say("Nobody named the goals: the number is the probability that the request needs each.")
    show_doubts(plan)
