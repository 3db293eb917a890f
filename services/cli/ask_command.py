"""The command ``egotools ask``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egotools.client_errors import ClientError
from ontology.errors import InvalidArgumentError
from services.cli.command_error import command_error
from services.cli.console import print_json, stderr
from services.cli.options import Json
from services.jobs.plans import ChatEndpoint
from services.threads import pin_threads

if TYPE_CHECKING:
    from planners.graphseek.agent_events import AgentEvent
    from services.cli.ask_run import Told
    from services.jobs.ask_parts import AskPlan

__all__ = ["ask"]

_NO_ENDPOINT = ChatEndpoint()
_DESCRIPTORS = ("on", "off", "auto")


def ask(
    question: Annotated[
        str, typer.Argument(help="The question in plain words. Not needed with --replay, --refine or --branch.")
    ] = "",
    graph: Annotated[
        str,
        typer.Option(
            "--graph",
            help="Graph that is asked: ladybug:PATH, neo4j:bolt://USER:PASSWORD@HOST:PORT, csv:FOLDER, graphml:FILE, or store:PATH "
            "(the tool graph of a store). Default: that of --store.",
        ),
    ] = "",
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            "-s",
            envvar="EGOTOOLS_STORE",
            help="Store whose tool graph is asked. Default: the shipped company's.",
        ),
    ] = None,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="Accepted catalog of the graph (egotools catalog). Default: the shipped one, if there is one."
        ),
    ] = None,
    descriptors: Annotated[
        str,
        typer.Option(
            help="Whether a model sees what types and properties mean: on, off, or auto (as the question needs)."
        ),
    ] = "auto",
    steps: Annotated[int, typer.Option(min=1, max=100, help="Steps at most.")] = 10,
    max_seconds: Annotated[float, typer.Option(min=0.0, help="Seconds for the whole run; 0: no limit.")] = 0.0,
    all_operators: Annotated[
        bool, typer.Option("--all-operators", help="Give a model all operators instead of those that a lookup finds.")
    ] = False,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="Write the run to this file. The same question goes on with it; another one is the next turn of a conversation."
        ),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Tell the last run of the journal again; nobody is asked.")
    ] = False,
    refine: Annotated[
        str, typer.Option(help="Go on from the end of the journal's last run, its steps included, with this request.")
    ] = "",
    branch: Annotated[
        int | None, typer.Option(min=0, help="Ask the journal's last question again, from after this step on.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, max=1_000, help="Rows of a table that are printed.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Print the queries too.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a question of a graph in plain words: its plan, its tables and its answer are printed. The graph is never written.

    With --llm-url and --llm-model a model plans the steps; without, rules do, for questions that they can read.
    """
    pin_threads()  # before a numeric library is imported
    from services.cli import ask_run
    from services.cli.show_ask import AskPrinter, show_end
    from services.jobs.ask_outcome import outcome_error

    _check_together(journal, question, endpoint, replay=replay, refine=refine, branch=branch)
    printer = AskPrinter(explain=explain)
    events: list[AgentEvent] = []
    observe = events.append if as_json else printer.tell
    if replay:
        told = _ended(lambda: ask_run.replay(journal or Path(), rows, observe))
    else:
        plan = _plan(graph, store, endpoint, catalog, descriptors, steps, max_seconds)
        asked = ask_run.Asked(
            text=refine or question,
            journal=journal,
            refine=bool(refine),
            branch=branch,
            rows=rows,
        )
        lookup = plan.chat is not None and not all_operators
        told = _ended(lambda: ask_run.ask(plan, asked, observe, lookup=lookup))
    if as_json:
        print_json(_to_json(told, events))
    else:
        show_end(told.answered.end, told.pages)
    failed = outcome_error(told.answered.end)
    if failed is not None:
        raise failed


def _check_together(
    journal: Path | None, question: str, endpoint: ChatEndpoint, *, replay: bool, refine: str, branch: int | None
) -> None:
    """Check that options fit one another.

    :raises InvalidArgumentError: when they do not.
    """
    chosen = [
        name for name, given in (("--replay", replay), ("--refine", refine), ("--branch", branch is not None)) if given
    ]
    if len(chosen) > 1:
        raise InvalidArgumentError(f"it excludes {chosen[1]}", subject=chosen[0], remedy="Give one of them")
    if chosen and journal is None:
        raise InvalidArgumentError("it needs --journal", subject=chosen[0], remedy="Name the journal of the run")
    if chosen and question:
        raise InvalidArgumentError(f"{chosen[0]} takes no question", subject="question", remedy="Leave it out")
    if not chosen and not question.strip():
        raise InvalidArgumentError("there is no question", subject="question", remedy="Say what you want to know")
    if endpoint.base_url and not endpoint.model and endpoint.base_url != os.environ.get("OPENAI_BASE_URL"):
        raise InvalidArgumentError("it needs --llm-model", subject="--llm-url", remedy="Give --llm-model too")


def _plan(
    graph: str,
    store: Path | None,
    endpoint: ChatEndpoint,
    catalog: Path | None,
    descriptors: str,
    steps: int,
    max_seconds: float,
) -> AskPlan:
    from planners.graphseek.agent.agent_settings import AgentSettings
    from services.jobs.ask_parts import AskPlan
    from services.jobs.model_factory import open_chat
    from services.jobs.shipped_store import shipped_store

    if descriptors not in _DESCRIPTORS:
        remedy = f"Use one of {', '.join(_DESCRIPTORS)}"
        raise InvalidArgumentError(f"{descriptors!r} is none", subject="--descriptors", remedy=remedy)
    chat = open_chat(endpoint, needed_by="a run by a model") if endpoint.model else None
    if not graph and store is None:
        stderr.print("[dim]The tool graph of the shipped company is asked.[/]", highlight=False)
        store = shipped_store()
    shown: Any = descriptors  # one of them, as checked
    settings = AgentSettings(descriptors=shown, max_steps=steps, max_seconds=max_seconds or None)
    return AskPlan(graph=graph or f"store:{store}", catalog=catalog, settings=settings, chat=chat)


def _ended(run: Callable[[], Coroutine[Any, Any, Told]]) -> Told:
    """Run, with the errors of the client as those of the command."""
    try:
        return asyncio.run(run())
    except ClientError as error:
        raise command_error(error) from error


def _to_json(told: Told, events: list[AgentEvent]) -> dict[str, Any]:
    from planners.graphseek.agent_events import event_json

    answered = told.answered
    return {
        **asdict(answered.end),
        "results": list(told.pages),
        "steps": [each for each in map(event_json, events) if each["event"] not in ("ModelAsked", "Ended")],
        "model": {
            "calls": answered.model_calls,
            "prompt_tokens": answered.prompt_tokens,
            "completion_tokens": answered.completion_tokens,
            "usd": answered.usd,
        },
    }
