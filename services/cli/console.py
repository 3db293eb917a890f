"""What the command prints: lines and tables for people, JSON for programs, errors and progress on the error channel."""

from __future__ import annotations

import json
import re
import textwrap
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column, Table
from rich.text import Text

from ontology.errors import EgotoolsError

__all__ = [
    "ProgressDisplay",
    "counted",
    "plain",
    "print_json",
    "printable",
    "say",
    "show_error",
    "show_facts",
    "show_lines",
    "stderr",
    "stdout",
    "table",
    "tell",
    "whole_words",
]

# JSON escapes the others itself.
_COMMANDS = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PLAIN_EVERY_S = 10.0  # between two lines of progress where no terminal shows a bar
stdout = Console(emoji=False)  # `list:books:all` is an id, not an emoji
stderr = Console(stderr=True, emoji=False)


def printable(text: str) -> str:
    """Return the text without characters that could command a terminal."""
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs") else "�"
        for character in text
    )


def plain(text: object) -> str:
    """Return a text of a document, a snapshot or a server as the markup of this text, without what could command a terminal."""
    return escape(printable(str(text)))


def say(markup: str) -> None:
    """Print a line of markup; a terminal wraps it."""
    stdout.print(markup, soft_wrap=True, highlight=False)


def tell(markup: str) -> None:
    """Print a line of markup on the error channel."""
    stderr.print(markup, soft_wrap=True, highlight=False)


def counted(number: int, noun: str) -> str:
    """Return ``1 tool``, ``2,000 tools``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def show_lines(title: str, lines: Sequence[str], most: int) -> None:
    """Print a title with the number of its lines, and the first of them; nothing where there are none. The lines are no markup."""
    if lines:
        say(f"[bold]{plain(title)}[/]: {len(lines):,}")
    for line in lines[:most]:
        say(f"  {plain(line)}")
    if len(lines) > most:
        say(f"  … {len(lines) - most:,} more (--json has all)")


def show_facts(facts: Mapping[str, object]) -> None:
    """Print a line for each fact that has a text; the names are markup."""
    for name, text in facts.items():
        if text:
            say(f"[bold]{name}[/]: {plain(text)}")


def print_json(value: Any) -> None:
    """Print JSON, without colours, to standard output. Characters that could command a terminal are written as ``\\u…``."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    stdout.file.write(_COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def show_error(error: EgotoolsError, *, as_json: bool) -> None:
    """Print an error to the error channel, as JSON or as text."""
    if not as_json:
        tell(f"[bold red]Error[/]: {plain(error)}")
        return
    row = {"error": type(error).__name__, "problem": error.problem, "subject": error.subject, "remedy": error.remedy}
    stderr.file.write(json.dumps({**row, "exit_code": error.exit_code}, ensure_ascii=False) + "\n")


def whole_words(text: str, width: int, first: str, other: str) -> list[str]:
    """The lines of a text, none of whose words is broken, each behind an indent: of the first line, and of the others."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=other, break_long_words=False, break_on_hyphens=False
    )


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table with every value as plain text: documents bring brackets and colons of their own. No word, and so no id, is broken."""
    stdout.print(_WholeWords(printable(title), columns, [[printable(str(value)) for value in row] for row in rows]))


class _WholeWords:
    """A grid where its words fit side by side; else a line for each row, whose continuations are indented."""

    def __init__(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._title, self._columns, self._rows = title, columns, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        cells = list(zip(self._columns, *self._rows, strict=True))
        words = [max(map(cell_len, chain.from_iterable(cell.split() or [""] for cell in column))) for column in cells]
        lines = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in cells]
        left = options.max_width - sum(words) - 3 * len(cells) - 1
        if left < 0:
            yield from self._lines(options.max_width)
            return
        made = Table(title=Text(self._title), title_justify="left", header_style="bold")
        widths = dict(enumerate(words))
        narrow = sorted(range(len(cells)), key=lambda at: lines[at] - words[at])
        for place, at in enumerate(narrow):  # who needs little gets all that it needs, the others share the rest
            more = min(lines[at] - words[at], left // (len(cells) - place))
            widths[at] += more
            left -= more
        for at, column in enumerate(self._columns):
            made.add_column(Text(column), width=widths[at])
        for row in self._rows:
            made.add_row(*map(Text, row))
        yield made

    def _lines(self, width: int) -> Iterator[RenderableType]:
        yield from (Text(line, style="bold") for line in (self._title, " · ".join(self._columns)) if line)
        for row in self._rows:
            joined = " · ".join(cell.strip().replace("\n", ", ") or "-" for cell in row)
            yield from map(Text, whole_words(joined, width, "", "  "))


class ProgressDisplay:
    """The progress of a job on the error channel: one bar on a terminal; elsewhere a line every ten seconds, and none for programs.

    It is a context manager, and the job's :data:`ontology.reporting.Progress`.

    :param as_json: whether the command prints JSON, and its errors too.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self._lines = not stderr.is_interactive and not as_json
        name = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
        columns = (SpinnerColumn(), name, BarColumn(16), MofNCompleteColumn(), TimeElapsedColumn())
        quiet = not stderr.is_interactive
        self._bars = Bars(*columns, console=stderr, transient=True, expand=True, disable=quiet)
        self._task = self._bars.add_task("", total=None)
        self._stage, self._shown = "", time.monotonic()

    def __enter__(self) -> ProgressDisplay:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if stage != self._stage:
            self._stage = stage
            self._bars.reset(self._task, description=plain(" ".join(stage.split())))
        self._bars.update(self._task, completed=done, total=total or None)
        now = time.monotonic()
        if self._lines and now - self._shown >= _PLAIN_EVERY_S:
            self._shown = now
            tell(plain(f"{stage}: {done:,}/{total:,} …" if total else f"{stage} …"))
