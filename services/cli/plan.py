"""The command ``egotools plan``: under a domain a request is answered, else its calls are planned, and made if asked."""

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

from egotools import Client
from egotools.values import ToolPlan
from ontology.errors import InvalidArgumentError, ToolCallError
from services.cli.console import compact_json, counted, plain, print_json, printable, say, table, tell
from services.cli.options import (
    NO_CALL_OPTIONS,
    CallOptions,
    Done,
    Have,
    Journal,
    Json,
    Needs,
    Replay,
    Server,
    Store,
    Yes,
    ask_at_terminal,
    check_known,
    command_error,
)
from services.cli.search import read_pairs, show_doubts, show_needs
from services.jobs.plans import DEFAULT_STORE, AllowedModels, ChatEndpoint, Rare, open_chat
from services.jobs.served_store import tools_client

if TYPE_CHECKING:
    from planners.calls.execute_plan import PlanExecution, StepCall
    from planners.query.query_graph import QueryGraph
    from services.jobs.walk import Walked

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
        problem = "it says under which schema the request is read and answered; without it no request is"
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
    if execute and not dry_run:
        return _execute(asked, calling, tools, yes=yes, as_json=as_json)
    if server:
        with Client(server) as client:
            found = client.plan(**asked)
    else:
        from retrieval.engine import open_engine
        from retrieval.query.request import PlanRequest

        engine = open_engine(store, allowed_models=allowed_models)
        check_known(engine.snapshot, asked["goals"])
        found = engine.plan(PlanRequest(**asked))
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
    where: dict[str, Any],  # arguments of :func:`walk`: server, store, journal, dry_run
    *,
    yes: bool,
    replay: bool,
    as_json: bool,
) -> None:
    """Answer a request under a domain."""
    from planners.calls.tool_access import CallLimits
    from planners.query.domain import read_domain
    from services.jobs.walk import DOMAIN_MODULES, Walk, read_graph, replay_walk, walk, walk_to_json

    schema = read_domain(domain)
    try:
        day = date.fromisoformat(options.today) if options.today else date.today()
    except ValueError:
        problem = f"{options.today!r} is no day"
        raise InvalidArgumentError(problem, subject="--today", remedy="Write YYYY-MM-DD") from None
    if options.data is not None:
        from planners.personal import PersonalData, refresh_index

        for fault in refresh_index(PersonalData.below(options.data, zone=options.zone), options.index, today=day):
            tell(f"[yellow]not read[/] {plain(fault.subject)}: {plain(fault.problem)}")
    if replay:
        walked = replay_walk(schema, where["journal"])
    else:
        access = calling.access(DOMAIN_MODULES.get(schema.name, ()), yes=yes)
        graph = read_graph(options.graph, schema) if options.graph is not None else None
        by_model = options.parser.startswith("llm") and graph is None
        asked = Walk(
            request=request,
            domain=schema,
            graph=graph,
            today=day,
            parser=options.parser,
            model=open_chat(endpoint, needed_by="--parser llm.v1") if by_model else None,
            best_effort=options.best_effort,
        )
        limits = CallLimits(calls=options.max_calls, seconds=options.max_seconds)
        if not as_json:
            over = where["server"] or where["store"]
            tell(f"[dim]Over the tools of {plain(over)}, by the domain {plain(schema.name)}.[/]")
        with _personal(schema.name, options.index):
            walked = asyncio.run(walk(asked, access, ask_at_terminal(), limits=limits, **where))
    if as_json:
        print_json(walk_to_json(walked))
    else:
        show_walk(walked)
    if walked.execution is not None and walked.execution["count"] is None:  # nothing could be resolved
        raise typer.Exit(ToolCallError.exit_code)


def _personal(domain: str, index: Path) -> AbstractContextManager[None]:
    if domain != "personal":
        return nullcontext()
    from planners.personal import index_in_use

    return index_in_use(index)


def _execute(
    asked: Mapping[str, Any],
    options: CallOptions,
    where: tuple[str, Path, Sequence[str]],  # the server, the store, and the encoders that it may name
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Plan, with the arguments of :meth:`egotools.AsyncClient.plan`, and make the calls."""
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
        calls = [
            {
                "step": call.step.number,
                "tool_id": call.step.tool_id,
                **asdict(call.given),
                "ok": call.ok,
                "status": call.answer.status if call.answer else "",
                "body": call.answer.body if call.answer else None,
                "error": (error := call.error)
                and {"code": error.code, "reason": error.reason, "problem": error.message},
            }
            for call in execution.calls
        ]
        told = {
            "outcome": execution.outcome,
            "calls": calls,
            "remaining": [each.number for each in execution.remaining],
            "open_inputs": [asdict(each) for each in execution.open_inputs],
        }
        print_json({"plan": asdict(plan), "execution": told})
    elif execution.calls and execution.remaining:
        left = ", ".join(f"{step.number} {step.tool_id}" for step in execution.remaining)
        say(f"[yellow]not called[/]: {plain(left)}")
    _check_made(execution)


def _check_made(execution: PlanExecution) -> None:
    """Raise the error that says why not all calls were made."""
    if execution.open_inputs:
        needed = [f"{each.parameter} (step {' and '.join(map(str, each.steps))})" for each in execution.open_inputs]
        problem = f"nothing was called, because these values are not known: {', '.join(needed)}"
        raise InvalidArgumentError(problem, subject="--have", remedy="Give each of them: --have NAME=VALUE")
    if execution.outcome == "made":
        return
    last = execution.calls[-1]
    if last.error is not None:
        raise command_error(last.error)
    status = printable(last.answer.status) if last.answer is not None else ""
    problem = f"step {last.step.number} was answered with an error: {status}"
    raise ToolCallError(problem, subject=last.step.tool_id, remedy="Read its answer")


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
    """Print a line that counts calls and open values, and one for each step and input; a goal has 1.00 only where it is certain."""
    to_give = f", {counted(len(plan.open_inputs), 'value')} to give" if plan.open_inputs else ""
    say(f"[bold]plan[/] · {counted(len(plan.steps), 'call')}{to_give} · snapshot {plain(plan.snapshot_id)}")
    for step in plan.steps:
        known = step.confidence if step.confidence == 1 else min(step.confidence, 0.99)
        sure = "" if step.kind == "goal" and not step.confidence else f" {known:.2f}"
        changes = " [yellow]changes something[/]" if step.effect in ("change", "idempotent") else ""
        say(f"{step.number:>2} [bold]{plain(step.tool_id)}[/] {step.kind}{sure}{changes}")
        for each in step.inputs:
            unsure = "request" if each.value else "perhaps in the request"
            places = {"step": f"step {each.step}", "done": each.supplier, "request": unsure}
            came = places.get(each.source, each.source)
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


_MOST_ROWS, _MOST_CHARS = 50, 80


def show_walk(walked: Walked) -> None:
    """Print the graph, why each tool, the calls, the answer, and what is missing."""
    from services.jobs.walk import emptied_by

    parsed, graph, found = walked.parsed, walked.parsed.graph, walked.execution
    left_out = plain(" ".join(parsed.left_out))
    if left_out:  # the first line, because the answer is to another request
        say(f"[yellow]left out[/]: {left_out}")
    say(f"[bold]Graph[/] {plain(f'{graph.action} {graph.return_mode}: {graph.return_var}')}")
    lines = [f"{edge.source} {edge.edge} {edge.target}" for edge in graph.edges]
    for var, kind in reversed(graph.vars.items()):
        filters = ", ".join(f"{each.field} {each.op} {each.value}" for each in graph.filters_of(var))
        lines.insert(0, f"{var}: {kind}" + (f" ({filters})" if filters else ""))
    lines += [note for note in parsed.notes if note not in parsed.left_out]
    for line in (*lines, "", *walked.said):
        say(plain(f"  {line}") if line else "[bold]Tools[/]")
    if found is None:
        say("Nothing was called (--dry-run).")
        return
    _show_answer(graph, found)
    if why := emptied_by(found):
        say(f"Nothing: {plain(why)}")
    if left_out and not found["count"]:
        say(f"This is no answer to the whole request: {left_out}")
    for missing in found["missing"]:
        say(f"[yellow]missing[/] {plain(missing['var'])}: {plain(missing['reason'])}")
    if walked.account is not None:
        made = f"{walked.account.calls} calls, {walked.account.rows:,} rows"
        say(f"{made}, {walked.account.seconds:.3f} s in tools")


def _show_answer(graph: QueryGraph, found: Mapping[str, Any]) -> None:
    names = ("kind", "what", "sources", "rows", "ms", "error")
    table("Calls", names, [[each[name] for name in names] for each in found["calls"]])
    answer = found["answer"]
    if found["count"] is None:
        say("[bold]No answer[/]")
    elif graph.action == "count" or not answer:
        say(f"[bold]Answer[/] {found['count']:,}" if graph.action == "count" else "[bold]Answer[/] nothing")
    else:
        shown = answer[:_MOST_ROWS]
        named = dict.fromkeys(name for each in shown for name in each["fields"] if name not in ("id", "source_id"))
        rows = [[each["id"], *(str(each["fields"].get(name) or "")[:_MOST_CHARS] for name in named)] for each in shown]
        table(f"Answer: {len(answer):,}", ("id", *named), rows)
        if len(answer) > _MOST_ROWS:
            say(f"… and {len(answer) - _MOST_ROWS:,} more (--json prints all)")
