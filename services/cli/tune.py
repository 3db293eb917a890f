"""The command ``egotools tune``: ranking weights fitted to a catalogue's own requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from services.audited import audited
from services.cli.console import print_json, stdout, table
from services.cli.lost_signature import told_of_lost_signature
from services.cli.options import Json
from services.cli.progress_display import shown_progress
from services.jobs.plans import TuningPlan
from services.threads import pin_threads

if TYPE_CHECKING:  # these import numeric libraries, which must come after the thread variables are set
    from eval.report.blocks import Table
    from services.jobs.tune import Tuned

__all__ = ["tune"]


def tune(plan: TuningPlan, as_json: Json = False) -> None:
    """Fit the ranking weights to a catalogue's own requests, and publish them if they are better on held-out paths.

    If they are not better, nothing is published, the command prints the reason, and the exit code is 15.
    """
    pin_threads()  # before a numeric library is imported
    if plan.rollback:
        _roll_back(plan, as_json=as_json)
        return
    from services.jobs.tune import NOT_BETTER, tune_snapshot

    store = plan.out or plan.snapshot
    with (
        told_of_lost_signature(store),
        shown_progress(as_json=as_json) as progress,
        audited("publish", str(store)) as change,
    ):
        tuned = tune_snapshot(plan, progress)
        change.published(tuned.published)
    if as_json:
        print_json(tuned.to_json())
    else:
        _show(tuned)
    if not tuned.published:
        raise typer.Exit(NOT_BETTER)


def _roll_back(plan: TuningPlan, *, as_json: bool) -> None:
    from services.jobs.tune_rollback import roll_back_weights

    store = plan.out or plan.snapshot
    with told_of_lost_signature(store), audited("rollback", str(store)) as change:
        done = roll_back_weights(plan)
        change.published(done.published)
    if as_json:
        print_json(done.to_json())
    else:
        stdout.print(f"[bold green]{escape(done.outcome)}[/]", soft_wrap=True)


def _show(tuned: Tuned) -> None:
    from eval.tuning import basis, changes_table, weights_table

    _print("Held-out paths", changes_table(tuned.tuning.held_out, caption=""))
    if tuned.tuning.test:
        _print("Test requests", changes_table(tuned.tuning.test, caption=""))
    _print("Weights", weights_table(tuned.tuning))
    stdout.print(escape(basis(tuned.tuning, tuned.labels)), soft_wrap=True)
    stdout.print(f"[bold {'green' if tuned.published else 'yellow'}]{escape(tuned.outcome)}[/]", soft_wrap=True)
    for file in tuned.files:
        stdout.print(f"Report: [bold]{escape(str(file))}[/]", soft_wrap=True)


def _print(title: str, made: Table) -> None:
    rows = [[f"{cell.text} {cell.detail}".strip() for cell in row] for row in made.rows]
    stdout.print(table(title, [column.name for column in made.columns], rows))
