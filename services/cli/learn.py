"""The command ``egotools learn``: what agents reported becomes part of the snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from services.audited import audited
from services.cli.console import print_json, stdout, table
from services.cli.lost_signature import told_of_lost_signature
from services.cli.options import Json
from services.cli.progress_display import shown_progress
from services.jobs.plans import LearningPlan
from services.threads import pin_threads

if TYPE_CHECKING:  # it imports numeric libraries, which must come after the thread variables are set
    from services.jobs.learn import Learned

__all__ = ["learn"]


def learn(plan: LearningPlan, as_json: Json = False) -> None:
    """Learn from reported outcomes and usage logs, and publish it if held-out sessions are answered better.

    If they are not, nothing is published, the command prints the reason, and the exit code is 15.
    """
    pin_threads()  # before a numeric library is imported
    from services.jobs.learn import learn_from_use
    from services.jobs.tune import NOT_BETTER

    with (
        told_of_lost_signature(plan.store),
        shown_progress(as_json=as_json) as progress,
        audited("publish", str(plan.store)) as change,
    ):
        learned = learn_from_use(plan, progress)
        change.published(learned.published)
    if as_json:
        print_json(learned.to_json())
    else:
        _show(learned)
    if not learned.published and not plan.forget:
        raise typer.Exit(NOT_BETTER)


def _show(learned: Learned) -> None:
    learning = learned.learning
    if learning is not None and learning.asked:
        columns = [
            "sessions",
            "reporters",
            "held out",
            f"CompleteRecall@{learning.k} before",
            "after",
            "gained",
            "lost",
            "p",
        ]
        row = [
            f"{learning.sessions:,}",
            f"{learning.reporters:,}",
            f"{learning.asked:,}",
            f"{learning.before:.1%}",
            f"{learning.after:.1%}",
            f"{learning.gained:,}",
            f"{learning.lost:,}",
            f"{learning.p_value:.2g}",
        ]
        stdout.print(table("Held-out sessions", columns, [row]))
    if learned.damaged:
        stdout.print(f"{learned.damaged:,} damaged lines of the log were left out.")
    if learned.unknown:
        stdout.print(f"{learned.unknown:,} sessions have no tool that the catalogue has.")
    stdout.print(f"[bold {'green' if learned.published else 'yellow'}]{escape(learned.outcome)}[/]", soft_wrap=True)
