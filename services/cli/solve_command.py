"""The command ``egotools solve``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egotools.client_errors import ClientError
from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
)
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions
from services.cli.command_error import command_error
from services.cli.console import plain, print_json, stderr
from services.cli.options import Json, On
from services.cli.solve_options import (
    NO_BATCH,
    NO_ENDPOINT,
    NO_MODELS,
    NO_RUN,
    BatchOptions,
    RunOptions,
    ToolModelOptions,
    check_together,
)
from services.jobs.plans import AllowedModels, ChatEndpoint
from services.threads import pin_threads

if TYPE_CHECKING:
    from planners.kgot.kgot_controller import KgotRun
    from services.cli.solve_run import Solved

__all__ = ["solve"]


def solve(
    question: Annotated[
        str, typer.Argument(help="The task in plain words. Not needed with --replay, --tasks or --demo.")
    ] = "",
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="A file of the task; tools know it by its name. Repeat for several."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            "-s",
            file_okay=False,
            envvar="EGOTOOLS_STORE",
            help="Store with tools. Default: the integrated tools alone.",
        ),
    ] = None,
    server: Annotated[
        str, typer.Option(help="Find the tools through a running server (HOST:PORT) instead of a store.")
    ] = "",
    allowed_models: AllowedModels = (),
    tools_cache: Annotated[
        Path | None,
        typer.Option(
            "--tools-cache",
            file_okay=False,
            help="Folder for the store of the integrated tools. Default: the user's cache.",
        ),
    ] = None,
    run: RunOptions = NO_RUN,
    endpoint: ChatEndpoint = NO_ENDPOINT,
    models: ToolModelOptions = NO_MODELS,
    calling: CallOptions = NO_CALL_OPTIONS,
    journal: Annotated[
        Path | None,
        typer.Option(help="Write the run to this file. A run that was interrupted goes on, without repeating a call."),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Take the steps of the journal's finished run again; nobody is asked.")
    ] = False,
    batch: BatchOptions = NO_BATCH,
    on: On = "local",
    demo: Annotated[
        bool, typer.Option("--demo", help="Replay a recorded run of a real model; nobody is asked.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask before a call that may change something, but where the policy says ask."
        ),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say at the start which integrated tools are not ready, and why.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Solve a task in several steps. Tools are called, their answers are kept in a graph, and a query of the graph gives the answer.

    A model takes the steps (--llm-url, --llm-model). Each step is printed.
    """
    pin_threads()  # before a numeric library is imported
    if demo:
        from services.cli.solve_demo import solve_demo

        return solve_demo()
    if replay:
        return _replay(journal, as_json)
    from services.cli.ask_at_terminal import ask_at_terminal
    from services.cli.solve_run import Catalogue

    check_together(endpoint, batch, on)
    plan = run.plan(endpoint, models)
    catalogue = Catalogue(store=store, server=server, allowed_models=allowed_models, cache=tools_cache)
    access = calling.access(yes=yes)
    if batch.tasks is not None:
        from services.cli.solve_batch import solve_batch

        return solve_batch(plan, catalogue, access, batch, on=on, as_json=as_json)
    from planners.calls.untrusted import clean_text
    from planners.kgot.kgot_task import KgotTask
    from services.cli import solve_run

    if not question.strip():
        raise _no_task(journal)
    if clean_text(question) != question:  # bytes of the command line that are no UTF-8
        raise InvalidArgumentError("the task is no UTF-8", subject="question", remedy="Write it in UTF-8")
    show = _Shown(as_json, explain=explain)
    task = KgotTask(question=question, files=tuple(files or ()))
    solved = _ended(
        lambda: asyncio.run(
            solve_run.solve(
                plan,
                catalogue,
                task,
                access,
                ask_at_terminal(),
                journal=journal,
                observe=show.tell,
                unusable=show.unusable,
            )
        )
    )
    show.end(solved)


def _no_task(journal: Path | None) -> InvalidArgumentError:
    """Return the error for a command without a question."""
    known = journal is not None and journal.is_file()
    more = "; to see the finished run of the journal, add --replay" if known else ""
    return InvalidArgumentError("there is no task", subject="question", remedy=f"Say what is to be solved{more}")


def _replay(journal: Path | None, as_json: bool) -> None:
    if journal is None:
        raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
    from services.cli import solve_run

    show = _Shown(as_json)
    show.end(_ended(lambda: asyncio.run(solve_run.replay(journal, show.tell))))


def _ended(run: Callable[[], Solved]) -> Solved:
    """Run, with the errors of the client as those of the command."""
    try:
        return run()
    except ClientError as error:
        raise command_error(error) from error


class _Shown:
    """What is shown of a run: each step, or JSON at the end.

    :param explain: whether the integrated tools that are not ready are told at the start; else when one of them is called.
    """

    def __init__(self, as_json: bool, *, explain: bool = False) -> None:
        from services.cli.show_solve import SolvePrinter

        self._as_json, self._explain = as_json, explain
        self._printer = SolvePrinter()
        self._unusable: Mapping[str, str] = {}

    def tell(self, event: Any) -> None:
        """Take an event."""
        from planners.kgot.kgot_task import CallMade

        is_called = isinstance(event, CallMade) and event.call.tool_id in self._unusable
        if self._unusable and (self._explain or is_called):
            stderr.print(f"[dim]{plain(_not_ready(self._unusable))}[/]", soft_wrap=True, highlight=False)
            self._unusable = {}
        if not self._as_json:
            self._printer.tell(event)

    def unusable(self, reasons: Mapping[str, str]) -> None:
        """Take which integrated tools cannot be used here, and why."""
        self._unusable = reasons

    def end(self, solved: Solved) -> None:
        """Show the outcome.

        :raises EgotoolsError: when the task was not solved.
        """
        if self._as_json:
            print_json(_to_json(solved))
        else:
            from services.cli.show_solve import show_outcome

            show_outcome(solved.run, solved.account)
        failed = _outcome_error(solved.run)
        if failed is not None:
            raise failed


_OPTIONS = {
    "kgot/ask_llm": "--llm-url and --llm-model",
    "kgot/search": "--search-url",
    "kgot/inspect_image": "--vision-model",
}
"""Integrated tool → the options without which it is not ready."""


def _not_ready(reasons: Mapping[str, str]) -> str:
    """Return on one line which integrated tools cannot be used, and what would make them ready."""
    from planners.kgot.tools.task_files import unread_kinds

    named = {id_: f"Give {_OPTIONS[id_]}" if id_ in _OPTIONS else why.rstrip(".") for id_, why in reasons.items()}
    told = ["not ready: " + "; ".join(f"{id_} ({why})" for id_, why in named.items())]
    if unread_kinds():
        told.append("kgot/inspect_file reads text, csv, json and Markdown only: the extra files is not installed")
    return ". ".join(told)


def _outcome_error(run: KgotRun) -> EgotoolsError | None:
    """Return why a run has no answer; None where it has one, also a forced one."""
    if run.outcome == "budget":
        return BudgetExceededError(
            run.missing.rstrip("."), subject="budget", remedy="Raise it and run the command again with the same journal"
        )
    if run.outcome == "deadline":
        return DeadlineError(
            run.missing.rstrip("."),
            subject="--max-seconds",
            remedy="Raise it and run the command again with the same journal",
        )
    if run.outcome == "model":
        return ModelError(
            run.missing.rstrip("."), remedy="The run ended there; with the same journal the command goes on with it"
        )
    if run.answer:
        return None
    return NotFoundError(
        f"no answer was found: {run.missing.rstrip('.?! ')}",
        subject="task",
        remedy="Read its steps; more tools, steps or another model may help",
    )


def _to_json(solved: Solved) -> dict[str, Any]:
    run = solved.run
    return {
        "answer": run.answer,
        "outcome": run.outcome,
        "missing": run.missing,
        "iterations": run.iterations,
        "calls": [asdict(call) for call in run.calls],
        "graph": asdict(run.state),
        "account": asdict(solved.account),
    }
