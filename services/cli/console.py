"""Output of the command: tables for people, JSON for programs, errors on the error channel."""

from __future__ import annotations

import json
import os
import re
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ontology.errors import EgotoolsError

__all__ = [
    "plain",
    "print_id_lines",
    "print_json",
    "printable",
    "show_error",
    "stderr",
    "stdout",
    "table",
    "whole_words",
]


def printable(text: str) -> str:
    """Return the text without characters that could command a terminal."""
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs") else "�"
        for character in text
    )


# `list:books:all` is an id, not an emoji.
# JSON escapes the others itself.
_COMMANDS = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PIPED_WIDTH = 160  # of a line that no terminal shows
stdout = Console(emoji=False)
stderr = Console(stderr=True, emoji=False)


def plain(text: str) -> str:
    """Return a text of a document, a snapshot or a server as the markup of this text, without what could command a terminal."""
    return escape(printable(text))


def print_json(value: Any) -> None:
    """Print JSON, without colours, to standard output. Characters that could command a terminal are written as ``\\u…``."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    stdout.file.write(_COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


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
        stderr.print(f"[bold red]Error[/]: {plain(str(error))}", soft_wrap=True)


def print_id_lines(rows: Sequence[tuple[str, str, str]]) -> None:
    """Print one line for each row, as wide as the terminal: what stands before an id, the id as a whole, and as much of a text as is left.

    Where no terminal shows it, a line has up to 160 columns, or ``COLUMNS``.
    """
    is_shown = stdout.is_terminal or "COLUMNS" in os.environ
    width = stdout.width if is_shown else max(stdout.width, _PIPED_WIDTH)
    firsts = [f"{before}{printable(id_)}" for before, id_, _ in rows]
    usual = min(max(map(cell_len, firsts), default=0), width // 2)
    for first, (_, _, text) in zip(firsts, rows, strict=True):
        line = first + " " * (usual - cell_len(first)) + "  "
        said = Text(" ".join(printable(text).split()))
        said.truncate(max(0, width - cell_len(line)), overflow="ellipsis")
        stdout.print(Text(f"{line}{said}".rstrip()), soft_wrap=True, highlight=False)


def whole_words(text: str, width: int, first: str, other: str) -> list[str]:
    """The lines of a text, none of whose words is broken, each behind an indent: of the first line, and of the others."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=other, break_long_words=False, break_on_hyphens=False
    )


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> RenderableType:
    """A table with every value as plain text: documents bring brackets and colons of their own. No word, and so no id, is broken."""
    return _WholeWords(printable(title), columns, [[printable(str(value)) for value in row] for row in rows])


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
