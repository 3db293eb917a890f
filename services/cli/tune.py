"""The command ``egotools tune``: ranking weights fitted to a catalogue's own requests."""

from __future__ import annotations

import typer
from rich.markup import escape

from services.audited import audited
from services.cli.console import print_json, stdout, table
from services.cli.lost_signature import told_of_lost_signature
from services.cli.options import Json
from services.cli.progress_display import shown_progress
from services.jobs.plans import TuningPlan
from services.threads import pin_threads

__all__ = ["tune"]


def tune(plan: TuningPlan, as_json: Json = False) -> None:
    """Fit the ranking weights to labelled requests of your own, and publish them if they are better on held-out ones.

    If they are not better, nothing is published, the command prints the reason, and the exit code is 15.
    """
    pin_threads()  # before a numeric library is imported
    from services.jobs.tune import NOT_BETTER, roll_back_weights, tune_snapshot

    store = plan.out or plan.snapshot
    with (
        told_of_lost_signature(store),
        shown_progress(as_json=as_json) as progress,
        audited("rollback" if plan.rollback else "publish", str(store)) as change,
    ):
        tuned = roll_back_weights(plan) if plan.rollback else tune_snapshot(plan, progress)
        change.published(tuned.published_id)
    if as_json:
        print_json(tuned.to_json())
    else:
        if (made := tuned.tuning) is not None:
            row = [f"{made.searched:,}", f"{made.held_out:,}", f"{made.recall_before:.1%}", f"{made.recall_after:.1%}"]
            columns = ["searched on", "held out", f"CompleteRecall@{made.k} before", "after", "gained", "lost", "p"]
            stdout.print(table("Requests", columns, [[*row, f"{made.gained}", f"{made.lost}", f"{made.p_value:.2g}"]]))
            moved = [[n, f"{made.before[n]:g}", f"{found:.3g}"] for n, found in made.found.items()]
            stdout.print(table("Weights", ["weight", "before", "found"], moved))
        stdout.print(f"[bold {'green' if tuned.published_id else 'yellow'}]{escape(tuned.outcome)}[/]", soft_wrap=True)
    if not tuned.published_id:
        raise typer.Exit(NOT_BETTER)
