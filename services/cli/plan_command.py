"""The command ``egotools plan``."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from egotools.client_errors import ClientError
from ontology.errors import InvalidArgumentError, ToolCallError
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions
from services.cli.command_error import command_error
from services.cli.console import print_json
from services.cli.options import Json, Store
from services.cli.plan_tools import plan_tools
from services.jobs.plans import DEFAULT_STORE, ChatEndpoint

if TYPE_CHECKING:
    from planners.calls.model_text import CountedModel

__all__ = ["DOMAIN_MODULES", "plan"]

_NO_ENDPOINT = ChatEndpoint()

_OF_A_PLAN = {"request", "--store", "--server", "--json", "--dry-run"}
"""What ``egotools plan`` takes without a domain."""

_PERSONAL_INDEX = Path("egotools-personal.sqlite")

DOMAIN_MODULES = {"personal": ("planners.personal.personal_tools",)}
"""Modules of Python whose functions a shipped domain calls."""


def plan(
    context: typer.Context,
    request: Annotated[
        str, typer.Argument(help="The request in plain words. Not needed with --graph or --replay.")
    ] = "",
    domain: Annotated[
        str,
        typer.Option(
            help="A shipped domain (personal, enterprise), or a YAML file: the graph of the request is walked and answered. "
            "Without it the calls are only planned, as by plan-tools."
        ),
    ] = "",
    store: Store = DEFAULT_STORE,
    server: Annotated[
        str, typer.Option(help="Find the tools through a running server (HOST:PORT) instead of a store.")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Of the domain personal: a folder with mail, calendars, cards and files. Its index is brought up to date first.",
        ),
    ] = None,
    index: Annotated[
        Path, typer.Option(envvar="EGOTOOLS_PERSONAL_INDEX", help="The index of --data.")
    ] = _PERSONAL_INDEX,
    zone: Annotated[str, typer.Option(help="Time zone of the user, of --data.")] = "UTC",
    graph: Annotated[Path | None, typer.Option(help="The query graph as a JSON file, instead of words.")] = None,
    parser: Annotated[
        str, typer.Option(help="Who makes a graph of words: rules.v1 (no model), or llm.v1 (see --llm-url).")
    ] = "rules.v1",
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    today: Annotated[str, typer.Option(help="The day against which dates are read (YYYY-MM-DD). Default: today.")] = "",
    calling: CallOptions = NO_CALL_OPTIONS,
    max_calls: Annotated[
        int, typer.Option(min=1, help="Calls of tools, further pages of an answer included.")
    ] = 10_000,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Seconds for all calls together.")] = 300.0,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="Write every call to this file. A run that was interrupted goes on where it was, without repeating a call."
        ),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Answer from the journal of a finished run; nothing is called.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the graph and the tools, and call none.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask before a call that may change something, but where the policy says ask."
        ),
    ] = False,
    best_effort: Annotated[
        bool,
        typer.Option(
            "--best-effort",
            help="Answer a request of which a word is not understood without that word, and say so, instead of refusing it.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Answer a request by calling the tools that it needs, found through the service: answer, graph and log.

    Without a domain: the calls that it needs, in their order, of which none is made.
    """
    if not domain:
        if needs_domain := sorted(_given(context) - _OF_A_PLAN):
            raise InvalidArgumentError(
                "it says under which schema the request is read and answered; without it the calls are only planned, and "
                f"{', '.join(needs_domain)} would have no effect",
                subject="--domain",
                remedy="Name one, or leave the others out",
            )
        plan_tools(request, store=store, server=server, as_json=as_json)
        return
    if replay and journal is None:
        raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
    from planners.calls.tool_access import CallLimits
    from planners.query.domain import read_domain
    from services.cli.ask_at_terminal import ask_at_terminal
    from services.cli.show_walk import show_walk, walk_to_json
    from services.cli.walk import Walk, read_graph, replay_walk, walk

    schema = read_domain(domain)
    if data is not None:
        _refresh(data, index, zone, _day(today))
    if replay and journal is not None:
        walked = replay_walk(schema, journal)
    else:
        access = calling.access(DOMAIN_MODULES.get(schema.name, ()), yes=yes)
        given = read_graph(graph, schema) if graph is not None else None
        model = _counted(endpoint) if parser.startswith("llm") and given is None else None
        asked = Walk(
            request=request,
            domain=schema,
            graph=given,
            today=_day(today),
            parser=parser,
            model=model,
            best_effort=best_effort,
        )
        limits = CallLimits(calls=max_calls, seconds=max_seconds)
        try:
            with _personal(schema.name, index):
                walked = asyncio.run(
                    walk(
                        asked,
                        access,
                        ask_at_terminal(),
                        server=server,
                        store=store,
                        limits=limits,
                        journal=journal,
                        dry_run=dry_run,
                    )
                )
        except ClientError as error:
            raise command_error(error) from error
    if as_json:
        print_json(walk_to_json(walked))
    else:
        show_walk(walked)
    if walked.execution is not None and walked.execution["count"] is None:  # nothing could be resolved
        raise typer.Exit(ToolCallError.exit_code)


def _given(context: typer.Context) -> set[str]:
    """The options and arguments that stand on the command line."""
    sources = {each: context.get_parameter_source(each.name or "") for each in context.command.params}
    return {
        max(each.opts, key=len)
        for each, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }


def _refresh(data: Path, index: Path, zone: str, today: date) -> None:
    """Bring the index of personal data up to date, and say what could not be read."""
    from planners.personal import PersonalData, refresh_index
    from services.cli.console import plain, stderr

    report = refresh_index(PersonalData.below(data, zone=zone), index, today=today)
    for fault in report.faults:
        stderr.print(
            f"[yellow]not read[/] {plain(fault.subject)}: {plain(fault.problem)}", soft_wrap=True, highlight=False
        )


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
