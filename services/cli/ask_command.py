"""The command ``egotools ask``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egotools.client_errors import ClientError
from services.cli.ask_options import NO_TURN, THE_COMPANY, AskOptions, TurnOptions
from services.cli.command_error import command_error
from services.cli.console import print_json
from services.cli.options import Json
from services.jobs.plans import ChatEndpoint
from services.threads import pin_threads

if TYPE_CHECKING:
    from planners.graphseek.turn import AgentEvent
    from services.cli.ask_run import Told

__all__ = ["ask"]

_NO_ENDPOINT = ChatEndpoint()
_PRINTED = 10  # rows of a table
_ALL = sys.maxsize


def ask(
    question: Annotated[
        str, typer.Argument(help="The question in plain words. Not needed with --replay, --refine or --branch.")
    ] = "",
    asked: AskOptions = THE_COMPANY,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    turn: TurnOptions = NO_TURN,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Rows of a table that are given. Default: 10; all with --json.")
    ] = None,
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

    turn.check(question)
    printer = AskPrinter(explain=explain)
    count = rows or (_ALL if as_json else _PRINTED)
    events: list[AgentEvent] = []
    observe = events.append if as_json else printer.tell
    if turn.replay:
        told = _ended(lambda: ask_run.replay(turn.journal or Path(), count, observe))
    else:
        plan = asked.plan(endpoint)
        request = ask_run.Asked(
            text=turn.refine or question,
            journal=turn.journal,
            refine=bool(turn.refine),
            branch=turn.branch,
            rows=count,
        )
        lookup = plan.chat is not None and not asked.all_operators
        told = _ended(lambda: ask_run.ask(plan, request, observe, lookup=lookup))
    if as_json:
        print_json(_to_json(told, events))
    else:
        show_end(told.answered.end, told.pages)
    failed = outcome_error(told.answered.end)
    if failed is not None:
        raise failed


def _ended(run: Callable[[], Coroutine[Any, Any, Told]]) -> Told:
    """Run, with the errors of the client as those of the command."""
    try:
        return asyncio.run(run())
    except ClientError as error:
        raise command_error(error) from error


def _to_json(told: Told, events: list[AgentEvent]) -> dict[str, Any]:
    answered = told.answered
    return {
        **dict(answered.end),
        "results": list(told.pages),
        "steps": [
            each for each in (event.to_json() for event in events) if each["event"] not in ("ModelAsked", "Ended")
        ],
        "model": {
            "calls": answered.model_calls,
            "prompt_tokens": answered.prompt_tokens,
            "completion_tokens": answered.completion_tokens,
            "usd": answered.usd,
        },
    }
