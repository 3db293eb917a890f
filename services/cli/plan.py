"""The command ``egotools plan``: with a domain a request is answered, without one the calls that it needs are planned, and made if asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import TypeAdapter

from egotools.calling.invoker import ToolInvoker
from egotools.values import PlanInput, PlanStep, ToolPlan
from ontology.errors import EgotoolsError, InvalidArgumentError, ToolCallError
from services.cli.calls import NO_CALL_OPTIONS, CallOptions, ask_at_terminal
from services.cli.console import plain, print_json, printable, say, table, tell
from services.cli.options import Done, Have, Journal, Json, Needs, Rare, Replay, Server, Store, Yes, command_error
from services.cli.search import read_pairs, show_needs, tools_client
from services.jobs.plans import DEFAULT_STORE, AllowedModels, ChatEndpoint

if TYPE_CHECKING:
    from planners.calls.execute_plan import PlanExecution, StepCall, TakenRow
    from planners.calls.model_text import CountedModel
    from planners.journal.run_journal import RunJournal

__all__ = ["plan"]

_NO_ENDPOINT = ChatEndpoint()
_PERSONAL_INDEX = Path("egotools-personal.sqlite")
_MAX_SHOWN = 2_000
_OF_A_DOMAIN = frozenset(
    "--data --index --zone --graph --parser --llm-url --llm-model --llm-max-tokens --llm-max-usd --llm-usd-per-1k --today --max-calls "
    "--max-seconds --replay --best-effort".split()
)
_OF_CALLS = frozenset("--goal --done --have --need --preset --execute --allow-model".split())


def plan(
    context: typer.Context,
    request: Annotated[str, typer.Argument(help="The request in plain words; the context of --need.")] = "",
    domain: Annotated[
        str, typer.Option(help="Answer the request under a domain: personal, enterprise, or a YAML file.")
    ] = "",
    needs: Needs = None,
    goals: Annotated[
        list[str] | None, typer.Option("--goal", help="Id of a tool to be called in the end. Default: the best ones.")
    ] = None,
    have: Have = None,
    store: Store = DEFAULT_STORE,
    server: Server = "",
    execute: Annotated[bool, typer.Option("--execute", help="Make the planned calls, in their order.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the graph and the tools, and call none.")] = False,
    yes: Yes = False,
    journal: Journal = None,
    replay: Replay = False,
    done: Done = None,
    preset: Annotated[str, Rare(help="Retriever that matches the request.")] = "",
    allowed_models: AllowedModels = (),
    calling: CallOptions = NO_CALL_OPTIONS,
    data: Annotated[
        Path | None,
        Rare(file_okay=False, help="Of the domain personal: a folder with mail, calendars, cards and files."),
    ] = None,
    index: Annotated[Path, Rare(envvar="EGOTOOLS_PERSONAL_INDEX", help="The index of --data.")] = _PERSONAL_INDEX,
    zone: Annotated[str, Rare(help="Time zone of the user, of --data.")] = "UTC",
    graph: Annotated[Path | None, Rare(help="The query graph as a JSON file, instead of words.")] = None,
    parser: Annotated[
        str, Rare(help="Who reads the words: rules.v1, or llm.v1 (a model; see --llm-url).")
    ] = "rules.v1",
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    today: Annotated[str, Rare(help="The day against which dates are read, YYYY-MM-DD. Default: today.")] = "",
    max_calls: Annotated[int, Rare(min=1, help="Calls of tools, further pages of an answer included.")] = 10_000,
    max_seconds: Annotated[float, Rare(min=0.1, help="Seconds for all calls together.")] = 300.0,
    best_effort: Annotated[
        bool, Rare("--best-effort", help="Leave out a word that is not understood, and say so.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Plan the calls that a request needs: their order, and where each input comes from. None is made without --execute.

    With --domain the request is answered: its tools are found through the service and called.
    """
    given = _given(context)
    if domain and (useless := sorted(given & _OF_CALLS)):
        problem = f"a request is answered under it, and {', '.join(useless)} would have no effect"
        raise InvalidArgumentError(problem, subject="--domain", remedy="Leave it out, or the others")
    if not domain and (useless := sorted(given & _OF_A_DOMAIN)):
        raise InvalidArgumentError(
            "it says under which schema the request is read and answered; without it the calls are only planned, and "
            f"{', '.join(useless)} would have no effect",
            subject="--domain",
            remedy="Name one, or leave the others out",
        )
    if not domain:
        asked = {
            "goals": tuple(goals or ()),
            "query": request,
            "done": tuple(done or ()),
            "have": read_pairs(have or [], "--have"),
            "preset": preset,
            "needs": tuple(needs or ()),
        }
        where = (server, store, allowed_models)
        if execute:
            return _execute(asked, calling, where, yes=yes, journal=journal, as_json=as_json)
        if calling != NO_CALL_OPTIONS or yes or journal is not None:
            problem, remedy = "there are options for calls, and none is made", "Give it, or leave them out"
            raise InvalidArgumentError(problem, subject="--execute", remedy=remedy)
        found = _planned(asked, *where)
        return print_json(asdict(found)) if as_json else _show(found)
    if replay and journal is None:
        raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
    from planners.calls.tool_access import CallLimits
    from planners.query.domain import read_domain
    from services.cli.walk import DOMAIN_MODULES, Walk, read_graph, replay_walk, show_walk, walk, walk_to_json

    schema, day = read_domain(domain), _day(today)
    if data is not None:
        _refresh(data, index, zone, day)
    if replay and journal is not None:
        walked = replay_walk(schema, journal)
    else:
        access = calling.access(DOMAIN_MODULES.get(schema.name, ()), yes=yes)
        known = read_graph(graph, schema) if graph is not None else None
        walking = Walk(
            request=request,
            domain=schema,
            graph=known,
            today=day,
            parser=parser,
            model=_counted(endpoint) if parser.startswith("llm") and known is None else None,
            best_effort=best_effort,
        )
        ended = walk(
            walking,
            access,
            ask_at_terminal(),
            server=server,
            store=store,
            limits=CallLimits(calls=max_calls, seconds=max_seconds),
            journal=journal,
            dry_run=dry_run,
        )
        with _personal(schema.name, index):
            walked = asyncio.run(ended)
    if as_json:
        print_json(walk_to_json(walked))
    else:
        show_walk(walked)
    if walked.execution is not None and walked.execution["count"] is None:  # nothing could be resolved
        raise typer.Exit(ToolCallError.exit_code)


def _given(context: typer.Context) -> set[str]:
    """The options that stand on the command line."""
    sources = {
        max(each.opts, key=len): context.get_parameter_source(each.name or "") for each in context.command.params
    }
    return {option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _refresh(data: Path, index: Path, zone: str, today: date) -> None:
    """Bring the index of personal data up to date, and say what could not be read."""
    from planners.personal import PersonalData, refresh_index

    for fault in refresh_index(PersonalData.below(data, zone=zone), index, today=today):
        tell(f"[yellow]not read[/] {plain(fault.subject)}: {plain(fault.problem)}")


def _personal(domain: str, index: Path) -> AbstractContextManager[None]:
    from planners.personal import index_in_use

    return index_in_use(index) if domain == "personal" else nullcontext()


def _counted(endpoint: ChatEndpoint) -> CountedModel:
    from planners.calls.model_text import CountedModel, PromptTokens
    from services.jobs.model_factory import open_chat

    return CountedModel(open_chat(endpoint, needed_by="--parser llm.v1"), PromptTokens())


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

    return open_engine(store, allowed_models=allowed_models).plan(PlanRequest(**asked))


def _execute(
    asked: dict[str, Any],
    options: CallOptions,
    where: tuple[str, Path, Sequence[str]],
    *,
    yes: bool,
    journal: Path | None,
    as_json: bool,
) -> None:
    def quiet(what: object) -> None:
        """Print nothing: all is in the JSON."""

    shown: tuple[Callable[[Any], None], Callable[[Any], None]] = (quiet, quiet) if as_json else (_show, _show_call)
    plan, execution = asyncio.run(_made(asked, options, where, *shown, yes=yes, journal=journal))
    if as_json:
        print_json({"plan": asdict(plan), "execution": _execution_json(execution)})
    elif execution.calls and execution.remaining:
        left = ", ".join(f"{step.number} {step.tool_id}" for step in execution.remaining)
        say(f"[yellow]not called[/]: {plain(left)}")
    failed = _execution_error(execution)
    if failed is not None:
        raise failed


async def _made(
    asked: Mapping[str, Any],
    options: CallOptions,
    where: tuple[str, Path, Sequence[str]],
    planned: Callable[[ToolPlan], object],
    observe: Callable[[StepCall], object],
    *,
    yes: bool,
    journal: Path | None,
) -> tuple[ToolPlan, PlanExecution]:
    """Plan and make the calls. A journal that has a run goes on with its plan.

    :param asked: arguments of :meth:`egotools.AsyncClient.plan`.
    :param planned: is called with the plan before its first call.
    :raises InvalidArgumentError: when the journal is of another run.
    """
    from planners.calls.execute_plan import execute_plan, planned_tools
    from planners.calls.tool_access import CallLimits, always
    from planners.journal.recorded import RecordedInvoker, Steps
    from planners.journal.run_journal import open_run_journal

    access, ask = options.access(yes=yes), ask_at_terminal()
    with open_run_journal(journal) if journal is not None else contextlib.nullcontext() as kept:
        async with tools_client(*where) as client, access.calling(ask, CallLimits()) as calling:
            plan = _plan_of(kept, asked) if kept is not None else None
            plan = plan or await client.plan(**asked)
            tools = await planned_tools(client, plan)
            planned(plan)
            invoker: ToolInvoker = calling
            if kept is not None:
                if kept.first is None:
                    kept.append("run_begun", asked=_json(asked), plan=_json(asdict(plan)))
                invoker = RecordedInvoker(calling, Steps(kept, faults="retried"), repeat=always if yes else ask)
            execution = await execute_plan(plan, tools, invoker, have=asked["have"], observe=observe)
            if kept is not None:
                kept.append("run_ended", answer=_execution_json(execution))
    return plan, execution


def _plan_of(journal: RunJournal, asked: Mapping[str, Any]) -> ToolPlan | None:
    """Return the plan of a journal's run; None of an empty journal.

    :raises InvalidArgumentError: when the journal is of another run.
    """
    if journal.first is None:
        return None
    begun = journal.first.data
    if begun.get("asked") != _json(asked):
        remedy = "Give a new file, or the same goals and values"
        raise InvalidArgumentError("the journal is of another run", subject="--journal", remedy=remedy)
    return TypeAdapter(ToolPlan).validate_python(begun["plan"])


def _json(value: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(value))


def _execution_json(execution: PlanExecution) -> dict[str, Any]:
    return {
        "outcome": execution.outcome,
        "calls": [_call_json(call) for call in execution.calls],
        "remaining": [step.number for step in execution.remaining],
        "open_inputs": [asdict(each) for each in execution.open_inputs],
    }


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
        arguments = json.dumps(call.given.arguments, ensure_ascii=False)
        say(f"[bold]step {call.step.number}[/] {plain(f'{call.step.tool_id} {arguments}')}")
        for each in call.given.taken:
            say(plain(f"  {each.parameter}: {_which(each)}{each.output} of {each.supplier}"))
        for name in call.given.left_out:
            say(plain(f"  {name}: left out, the tool does not take the known value"))


def _which(taken: TakenRow) -> str:
    return f"value {taken.row} of {taken.rows} in " if taken.rows > 1 else ""


def _show(plan: ToolPlan) -> None:
    rows = [
        (step.number, step.tool_id, step.kind, _certainty(step), "\n".join(_lines(step.inputs))) for step in plan.steps
    ]
    title = f"plan · cost {plan.cost:.2f} · snapshot {plan.snapshot_id}"
    table(title, ("#", "tool", "kind", "conf.", "inputs"), rows)
    for each in plan.open_inputs:
        said = f": {plain(each.description)}" if each.description else ""
        say(f"{each.source} {plain(each.parameter)} (for step {', '.join(map(str, each.steps))}){said}")
    show_needs(plan.need_results)
    if plan.guesses:
        say("Nobody named the goals: conf. is the probability that the request needs each.")
    if plan.doubt:
        say(f"[yellow]{plain(plan.doubt)}[/]")
    for reason in plan.fallbacks:
        say(f"[yellow]fallback[/]: {plain(reason)}")


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
