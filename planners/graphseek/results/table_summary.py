"""The summary of a table: title, size, columns with counts and ranges, first and last rows; of bounded size, whatever the table.

It follows section 4.2 of the paper: metadata of columns, and previews of head and tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from planners.finding.prompt_tokens import PromptTokens
from planners.graphseek.results.result import Cell
from planners.graphseek.results.shown_cell import shown_cell, shown_text
from planners.graphseek.results.table_census import MOST_DISTINCT, ColumnCensus, TableCensus

__all__ = ["fits", "shown_row", "table_summary"]

_MOST_TOKENS = 600  # of a summary
_TOKENS = PromptTokens()  # one for all: its tokenizer is loaded at the first summary
_TITLE_CELLS = 4  # a title may have as many characters as this number of cells


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much is shown.

    :param cell: characters of a text.
    """

    columns: int
    head: int
    tail: int
    cell: int
    notes: int


# From all to little; the first that fits is taken. Tried on tables of 1 to 200 columns with cells from a letter to a megabyte: rows go
# before columns, since a column that is not named cannot be asked for. The last fits with any characters: about 70 of the table's.
_DETAILS = (
    _Detail(40, 25, 5, 80, 6),
    _Detail(40, 12, 4, 60, 5),
    _Detail(40, 6, 3, 40, 4),
    _Detail(24, 4, 2, 32, 3),
    _Detail(14, 3, 2, 24, 3),
    _Detail(8, 3, 1, 20, 2),
    _Detail(5, 2, 1, 16, 2),
    _Detail(3, 1, 1, 12, 1),
    _Detail(1, 1, 0, 8, 0),
)
_LIKELY = 4  # characters of a token; a text of more than 600 times this is not counted at all, since counting takes most of the time


class _LineTokens(dict[str, int]):
    """Tokens by line, each line counted once: from detail to detail most lines are the same. No token crosses a line."""

    def __missing__(self, line: str) -> int:
        self[line] = tokens = _TOKENS.count(line)
        return tokens

    def fit(self, lines: Sequence[str]) -> bool:
        """Whether lines together are a summary that a model may see; counts no further than to the bound."""
        length = sum(map(len, lines))
        if length <= _MOST_TOKENS and all(map(str.isascii, lines)):
            return True  # a token has at least one character of ASCII
        if length > _MOST_TOKENS * _LIKELY:
            return False
        return all(total <= _MOST_TOKENS for total in accumulate(map(self.__getitem__, lines)))


def table_summary(handle: str, title: str, census: TableCensus, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a table."""
    tokens, lines = _LineTokens(), list[str]()
    for detail in _DETAILS:
        lines = _lines(handle, title, census, cut, notes, detail)
        if tokens.fit(lines):
            break
    return "\n".join(lines)


def fits(text: str) -> bool:
    """Whether a text is a summary that a model may see: it has at most 600 tokens."""
    return len(text) <= _MOST_TOKENS * _LIKELY and _TOKENS.count(text) <= _MOST_TOKENS


def _lines(handle: str, title: str, census: TableCensus, cut: bool, notes: Sequence[str], detail: _Detail) -> list[str]:
    shown = census.columns[: detail.columns]
    lines = [
        f"{handle}: {shown_text(title, _TITLE_CELLS * detail.cell)}",
        f"rows: {census.rows}" + (" (cut: there were more)" if cut else ""),
        "columns:",
        *(_column_line(each, detail.cell) for each in shown),
    ]
    if more := census.columns[detail.columns :]:
        names = ", ".join(shown_text(each.column.name, detail.cell) for each in more[: detail.columns // 2])
        lines.append(f"and {len(more)} more columns" + (f": {names}, …" if names else ""))
    lines += _row_lines(census, detail)
    lines += [f"note: {shown_text(note, _TITLE_CELLS * detail.cell)}" for note in notes[: detail.notes]]
    return lines


def _column_line(census: ColumnCensus, most: int) -> str:
    column = census.column
    kind = (
        f"node of {shown_text(column.node_type, most)}" if column.type == "node" and column.node_type else column.type
    )
    distinct = f"more than {MOST_DISTINCT}" if census.distinct is None else str(census.distinct)
    line = f"- {shown_text(column.name, most)}: {kind}, {census.count} values, {distinct} distinct"
    if column.type == "node" or not census.count:
        return line
    return f"{line}, {shown_cell(census.least, most)} to {shown_cell(census.greatest, most)}"


def _row_lines(census: TableCensus, detail: _Detail) -> list[str]:
    """Show first and last rows, without the ids of nodes where there is something else to show."""
    columns = range(min(len(census.columns), detail.columns))
    places = [at for at in columns if census.columns[at].column.type != "node"] or list(columns)
    if not census.rows or not places:
        return []
    whole = census.rows <= min(detail.head + detail.tail, len(census.head))
    head = census.head if whole else census.head[: detail.head]
    tail = [] if whole or not detail.tail else list(census.tail)[-min(detail.tail, census.rows - len(head)) :]
    names = " | ".join(shown_text(census.columns[at].column.name, detail.cell) for at in places)
    lines = [f"rows 1 to {len(head)} ({names}):", *(shown_row(row, places, detail.cell) for row in head)]
    if tail:
        lines.append(f"rows {census.rows - len(tail) + 1} to {census.rows}:")
        lines += [shown_row(row, places, detail.cell) for row in tail]
    return lines


def shown_row(row: Sequence[Cell], places: Sequence[int], most: int) -> str:
    """Return some cells of a row on one line."""
    return " | ".join(shown_cell(row[at], most) for at in places)
