"""Output of the command: tables for people, JSON for programs, errors on the error channel."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ontology.errors import EgotoolsError
from services.cli.printable import printable

__all__ = ["plain", "print_json", "show_error", "stderr", "stdout", "table"]

# `list:books:all` is an id, not an emoji.
# JSON escapes the others itself.
_COMMANDS = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
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


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """A table with every value as plain text: documents bring brackets and colons of their own."""
    made = Table(title=plain(title), title_justify="left", header_style="bold")
    for column in columns:
        made.add_column(Text(column), overflow="fold")
    for row in rows:
        made.add_row(*(Text(printable(str(value))) for value in row))
    return made
