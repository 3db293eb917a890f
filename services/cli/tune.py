"""The command ``egotools tune``: fit the ranking of a snapshot to its own requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from services.cli.console import print_json, progress_bars, stderr, stdout, table

if TYPE_CHECKING:  # these bring numeric libraries, which must not come before the threads are pinned
    from eval.report.blocks import Table
    from services.jobs.tune import Tuned

__all__ = ["tune"]


def tune(
    snapshot: Annotated[
        Path, typer.Argument(metavar="SNAPSHOT", help="Folder with the published snapshot, or a snapshot itself.")
    ],
    on: Annotated[
        Path,
        typer.Option(
            "--on",
            help="Folder with queries.jsonl, as egotools datagen writes it, or such a file: id, query, tools, and perhaps "
            "class, path_id, and split (dev or test).",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Store to publish in; the snapshot's own where left out.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=1_000, help="CompleteRecall at this k decides.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and the intervals.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="Also write the report here: .json or .md; it is kept in the store anyway.")
    ] = None,
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Fit though gold tools are not in the snapshot; they count as missed."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")] = False,
) -> None:
    """Fit the ranking weights to a catalogue's own requests; publish them if they are better on paths held out.

    The exit code is 15 where they are not better: nothing is published then, and the reason is said.
    """
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    from services.jobs.tune import NOT_BETTER, TuningPlan, tune_snapshot

    plan = TuningPlan(snapshot=snapshot, labels=on, out=out, k=k, seed=seed, report=report, allow_missing=allow_missing)
    with progress_bars(hidden=as_json or not stderr.is_terminal) as progress:
        tuned = tune_snapshot(plan, progress)
    if as_json:
        print_json(tuned.to_json())
    else:
        _show(tuned)
    if not tuned.published:
        raise typer.Exit(NOT_BETTER)


def _show(tuned: Tuned) -> None:
    from eval.tuning.tuning_report import basis, changes_table, weights_table

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
