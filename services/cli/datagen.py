"""The command ``egotools datagen``: labelled requests generated from a catalogue's own tools."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.markup import escape

from services.cli.console import print_json, stderr, stdout, table
from services.cli.options import Json
from services.cli.progress_display import shown_progress
from services.jobs.plans import DatagenPlan
from services.threads import pin_threads

if TYPE_CHECKING:  # imports numeric libraries, which must come after the thread variables are set
    from services.jobs.generate import Further, Generation

__all__ = ["datagen"]


def datagen(plan: DatagenPlan, as_json: Json = False) -> None:
    """Generate labelled requests of six classes from the tools of a snapshot, to evaluate retrieval with."""
    pin_threads()  # before a numeric library is imported
    from services.jobs.generate import generate_requests

    with shown_progress(as_json=as_json) as progress:
        done = generate_requests(plan, progress)
    if as_json:
        print_json({**asdict(done.figures), "further": asdict(done.further)})
    else:
        _show(done)
    if done.stopped is not None:
        stderr.print("Everything generated before is written. Run the same command again to continue.", soft_wrap=True)
        raise done.stopped


def _show(done: Generation) -> None:
    figures = done.figures
    rows = [(name, f"{row.made:,}", f"{row.wanted:,}", f"{row.paths:,}") for name, row in figures.classes.items()]
    coverage, wording = figures.coverage, figures.wording
    title = f"Requests · {coverage.tools:,} tools · snapshot {figures.snapshot_id}"
    stdout.print(table(title, ("class", "made", "wanted", "paths"), rows))
    rejected = sum(sum(reasons.values()) for reasons in figures.rejected.values())
    stdout.print(
        f"{coverage.tools_used:,} of {coverage.tools:,} tools are needed; "
        f"distinct-2 {wording.distinct['2']:.2f}; highest cosine {wording.max_cosine:.2f}; "
        f"{wording.content_words:.0%} of the content words are also in the documents of the tools; "
        f"{rejected:,} rejected",
        soft_wrap=True,
    )
    if figures.smoke_test:
        stdout.print(
            "[yellow]note[/] sentence templates: good to smoke-test a catalogue, not to measure retrieval; --generator llm writes requests",
            soft_wrap=True,
        )
    short = [name for name, row in figures.classes.items() if row.made < row.wanted]
    if short and done.stopped is None:
        stdout.print(
            f"[yellow]note[/] fewer requests than wanted: {escape(', '.join(short))}; the report has the reasons, rejected.jsonl those of each class",
            soft_wrap=True,
        )
    _show_further(done.further)
    stdout.print(f"Report: [bold]{escape(str(done.report))}[/]", soft_wrap=True)


def _show_further(further: Further) -> None:
    for name, made in further.made.items():
        stdout.print(f"{escape(name)}: {made:,} of {further.wanted[name]:,} requests", soft_wrap=True)
        if made < further.wanted[name]:
            for reason in further.reasons[name]:
                stdout.print(f"[yellow]note[/] {escape(reason)}", soft_wrap=True)
    for reason in further.absent:
        stdout.print(f"[yellow]note[/] {escape(reason)}", soft_wrap=True)
