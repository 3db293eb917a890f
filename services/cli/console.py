"""Output of the command: tables and progress bars for people, JSON for programs, errors on the error channel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from ontology.errors import EgotoolsError
from ontology.progress import Progress

__all__ = ["counts_table", "print_json", "progress_bars", "show_error", "stderr", "stdout", "table"]

# `list:books:all` is an id, not an emoji.
stdout = Console(emoji=False)
stderr = Console(stderr=True, emoji=False)


def print_json(value: Any) -> None:
    """Print JSON, without colours, to standard output."""
    stdout.file.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def show_error(error: EgotoolsError, *, as_json: bool) -> None:
    """Print an error to the error channel, as JSON or as text."""
    if as_json:
        row = {
            "error": type(error).__name__,
            "problem": error.problem,
            "subject": error.subject,
            "remedy": error.remedy,
            "exit_code": error.exit_code,
        }
        stderr.file.write(json.dumps(row, ensure_ascii=False) + "\n")
    else:
        stderr.print(f"[bold red]Error[/]: {escape(str(error))}", soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """A table with every value as plain text: documents bring brackets and colons of their own."""
    made = Table(title=escape(title), title_justify="left", header_style="bold")
    for column in columns:
        made.add_column(Text(column), overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(value)) for value in row))
    return made


def counts_table(title: str, counts: Mapping[str, Any]) -> Table:
    """A table of names and numbers."""
    return table(title, ("what", "count"), sorted(counts.items(), key=lambda item: (-int(item[1]), item[0])))


@contextmanager
def progress_bars(*, hidden: bool) -> Iterator[Progress]:
    """Show progress bars on the error channel while the block runs."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=stderr, transient=True, disable=hidden) as bars:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bars.stop_task(task)
                tasks[stage] = bars.add_task(stage, total=total or None)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield update
