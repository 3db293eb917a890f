"""What the command prints: lines and tables for people, JSON for programs, errors and progress on the error channel."""

from __future__ import annotations

import json
import math
import os
import re
import textwrap
import time
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from ontology.errors import EgotoolsError

_COMMANDS = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # JSON escapes the others itself
_PLAIN_EVERY_S = 10.0  # between two lines of progress where no terminal shows a bar
_MOST_CHARS = 300  # of a text on a line of a run
_COUNTED = 1  # objects of an event: only their number is shown
stdout = Console(emoji=False)  # `list:books:all` is an id, not an emoji
stderr = Console(stderr=True, emoji=False)


def printable(text: str) -> str:
    """Return the text without characters that could command a terminal."""
    hidden = {each for each in text if each not in "\n\t" and unicodedata.category(each) in ("Cc", "Cf", "Cs")}
    return text.translate(dict.fromkeys(map(ord, hidden), "�"))


def plain(text: object) -> str:
    """Return a text of a document, a snapshot or a server as the markup of this text, without what could command a terminal."""
    return escape(printable(str(text)))


def line_width() -> float:
    """Return how many columns a line may have: those of the terminal, or of COLUMNS; without limit in a pipe or a file."""
    return stdout.width if stdout.is_terminal or os.environ.get("COLUMNS") else math.inf


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


def show_step(what: str, text: str) -> None:
    """Print what a step of a run is (markup), and what it says, on one line."""
    one = " ".join(text.split())
    cut = one if len(one) <= _MOST_CHARS else f"{one[:_MOST_CHARS]}… ({len(one):,} characters)"
    say(f"  {what:<9} {plain(cut)}")


def show_event(told: Mapping[str, Any], without: Collection[str] = ()) -> None:
    """Print an event of a run, as JSON values with its name under ``event``, on one line: its name, and the fields that say something."""
    name = re.sub(r"(?<=.)(?=[A-Z])", " ", told["event"]).lower()
    said = _in_words({key: value for key, value in told.items() if key not in ("event", *without)}, _COUNTED)
    if said:
        show_step(name, said)


def show_result(result: Mapping[str, Any], most: int = 20, title: str = "") -> None:
    """Print what a command found, as JSON values, for a person: a fact or an object a line, at most so many of a list,
    and nothing of what is empty."""
    for key, value in result.items():
        name = f"{title} {key.replace('_', ' ')}".strip()
        if isinstance(value, Mapping):
            show_result(value, most, name)
        elif isinstance(value, list | tuple):
            show_lines(name, [_in_words(each) for each in value], most)
        elif text := _in_words(value):
            show_facts({plain(name): text})


def _in_words(value: Any, counted_from: int = 1_000) -> str:
    """A JSON value in words; empty for what says nothing. A list of ``counted_from`` objects or more is only counted."""
    if value in (None, "", False, 0, [], {}, ()):
        return ""
    if isinstance(value, Mapping):
        found = {key.replace("_", " "): _in_words(each, counted_from) for key, each in value.items()}
        return "; ".join(f"{key} {text}" for key, text in found.items() if text)
    if isinstance(value, list | tuple):
        flat = not any(isinstance(each, list | tuple | Mapping) for each in value)
        if flat or len(value) < counted_from:
            return (", " if flat else " | ").join(_in_words(each, counted_from) or "-" for each in value)
        return f"{len(value):,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def compact_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


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


def whole_words(text: str, width: float, first: str, other: str) -> list[str]:
    """The lines of a text, none of whose words is broken, each behind an indent: of the first line, and of the others."""
    indents: dict[str, Any] = {"initial_indent": first, "subsequent_indent": other}
    return textwrap.wrap(text, int(min(width, 1e9)), **indents, break_long_words=False, break_on_hyphens=False)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: its columns side by side where they fit, else a line for each row. No word, and so no id, is
    broken. Every value is plain text: documents bring brackets and colons of their own."""
    shown = [[", ".join(printable(str(value)).split("\n")).strip() for value in row] for row in (columns, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    fits = sum(widths) + 2 * len(widths) - 2 <= line_width()
    if title:
        stdout.print(Text(printable(title), style="bold"))
    for number, row in enumerate(shown):
        lines = ["  ".join(map(set_cell_size, row, widths)).rstrip()]
        if not fits:
            lines = whole_words(" · ".join(cell or "-" for cell in row), stdout.width, "", "  ")
        for line in lines:
            stdout.print(Text(line, style="" if number else "bold"), soft_wrap=True)


class ProgressDisplay:
    """The progress of a job on the error channel: one bar on a terminal; elsewhere a line every ten seconds, and none
    beside JSON. It is a context manager, and the job's :data:`ontology.reporting.Progress`."""

    def __init__(self, *, as_json: bool = False) -> None:
        quiet = not stderr.is_interactive
        self._lines = quiet and not as_json
        name = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
        columns = (SpinnerColumn(), name, BarColumn(16), MofNCompleteColumn(), TimeElapsedColumn())
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
