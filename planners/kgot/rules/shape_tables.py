"""Tables in texts: Markdown, comma-separated lines, columns that are set apart by spaces; cells get the type of their column."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.graphs.property_graph import Scalar

__all__ = ["TextTable", "json_in", "tables_in"]

_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_INTEGER = re.compile(r"^-?(?:0|[1-9]\d{0,17})$")
_DECIMAL = re.compile(r"^-?(?:0|[1-9]\d*)\.\d+$")
_GAP = re.compile(r"\s{2,}|\t")
_DELIMITERS = (",", ";", "\t")
_FEWEST_LINES, _FEWEST_COLUMNS = 3, 2
"""Of a table that nothing marks as one: fewer are more often prose."""
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table.

    :param title: the heading above it, or empty.
    :param rows: column → value; empty cells are left out.
    """

    title: str
    rows: tuple[Mapping[str, Scalar], ...]


def json_in(text: str) -> Any:
    """Return the JSON that a text is, or is in one fence of; None of another text."""
    inner = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n```\s*", text, re.DOTALL)
    held = inner[1] if inner else text
    if held.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(held)
    except (ValueError, RecursionError):
        return None


def tables_in(text: str) -> tuple[TextTable, ...]:
    """Return the tables of a text in their order, with the headings above them."""
    return tuple(_marked(text)) or tuple(_separated(text)) or tuple(_aligned(text))


def _marked(text: str) -> Iterator[TextTable]:
    """Yield the tables with a line of dashes below their names of columns."""
    lines, title, at = text.splitlines(), "", 0
    while at < len(lines):
        heading = _HEADING.match(lines[at])
        title = heading[1] if heading else title
        if at + 1 < len(lines) and "|" in lines[at] and "|" in lines[at + 1] and _RULE.match(lines[at + 1]):
            end = next((n for n in range(at + 2, len(lines)) if "|" not in lines[n]), len(lines))
            head, body = _parts(lines[at]), [_parts(line) for line in lines[at + 2 : end]]
            if not any(head) and body:  # a table without names has them in its first row, as converters write it
                head, body = body[0], body[1:]
            yield TextTable(title=title, rows=_typed(head, body))
            at = end
        else:
            at += 1


def _parts(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [part.replace("\\|", "|").strip() for part in re.split(r"(?<!\\)\|", inner)]


def _separated(text: str) -> Iterator[TextTable]:
    for delimiter in _DELIMITERS:
        try:
            lines = [
                line for line in csv.reader(io.StringIO(text.strip("\n"), newline=""), delimiter=delimiter) if line
            ]
        except csv.Error:
            continue
        width = len(lines[0]) if lines else 0
        if len(lines) >= _FEWEST_LINES and width >= _FEWEST_COLUMNS and all(len(line) == width for line in lines):
            yield TextTable(title="", rows=_typed(lines[0], lines[1:]))
            return


def _aligned(text: str) -> Iterator[TextTable]:
    """Yield the runs of lines that have equally many parts, each set apart by two spaces or more."""
    run: list[list[str]] = []
    title = last = ""
    for line in [*text.splitlines(), ""]:
        parts = _GAP.split(line.strip())
        if len(parts) >= _FEWEST_COLUMNS and (not run or len(parts) == len(run[0])):
            title = title if run else last
            run.append(parts)
            continue
        if len(run) >= _FEWEST_LINES:
            yield TextTable(title=title, rows=_typed(run[0], run[1:]))
        run = []
        last = line.strip() or last


def _typed(head: Sequence[str], body: Sequence[Sequence[str]]) -> tuple[Mapping[str, Scalar], ...]:
    names = [name.strip() or f"column {place}" for place, name in enumerate(head, start=1)]
    body = [[*row[: len(names)], *[""] * (len(names) - len(row))] for row in body[:_MOST_ROWS]]
    kinds = [_kind([row[place].strip() for row in body]) for place in range(len(names))]
    made = [
        {name: kind(cell.strip()) for name, kind, cell in zip(names, kinds, row, strict=True) if cell.strip()}
        for row in body
    ]
    return tuple(row for row in made if row)


def _kind(cells: Sequence[str]) -> Any:
    """Return the type of a column: a number where each cell is written as one, and no leading zero would be lost."""
    held = [cell for cell in cells if cell and cell != "NaN"]
    if held and all(_INTEGER.match(cell) for cell in held):
        return int if len(held) == len([cell for cell in cells if cell]) else float
    if held and all(_INTEGER.match(cell) or _DECIMAL.match(cell) for cell in held):
        return float
    if held and all(cell.casefold() in ("true", "false") for cell in held):
        return _truth
    return str


def _truth(cell: str) -> bool:
    return cell.casefold() == "true"
