"""The summary of a table: title, size, columns with counts and ranges, first and last rows; of bounded size, whatever the table.

It follows section 4.2 of the paper: metadata of columns, and previews of head and tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from planners.calls.prompt_tokens import PromptTokens
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
_SAMPLE_HEAD, _SAMPLE_TAIL = 8, 3
"""First and last rows of a table that does not stand whole: few, so that prompts are about as long for a graph a tenth as large."""
_LIKELY = 4  # characters of a token; a text of more than 600 times this is not counted at all, since counting takes most of the time


class _LineTokens(dict[str, int]):
    """Tokens by line, each line counted once: from detail to detail most lines are the same. No token crosses a line."""

    def __missing__(self, line: str) -> int:
        self[line] = tokens = _TOKENS.count(line)
        return tokens

    def fitting(self, lines: Iterable[str]) -> tuple[list[str], bool]:
        """Return lines, and whether together they are a summary that a model may see; goes no further than to the bound."""
        taken, length, tokens, counted = list[str](), 0, 0, 0
        for line in lines:
            taken.append(line)
            length += len(line)
            if length <= _MOST_TOKENS and line.isascii() and not counted:
                continue  # a token has at least one character of ASCII
            tokens += sum(map(self.__getitem__, taken[counted:]))
            counted = len(taken)
            if tokens > _MOST_TOKENS or length > _MOST_TOKENS * _LIKELY:
                return taken, False
        return taken, True


class _RowLines(dict[tuple[int, int, int], str]):
    """Rows as they are shown, each made once for the details that show it alike.

    :param rows: first and last ones.
    """

    def __init__(self, rows: Sequence[Sequence[Cell]]) -> None:
        super().__init__()
        self._rows = rows
        self._longest = [max((len(cell) for cell in row if isinstance(cell, str)), default=0) for row in rows]

    def line(self, at: int, places: Sequence[int], most: int) -> str:
        """Return a row by its place among them."""
        key = at, len(places), min(most, self._longest[at])
        if key not in self:
            self[key] = shown_row(self._rows[at], places, most)
        return self[key]


def table_summary(handle: str, title: str, census: TableCensus, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a table."""
    tokens, rows, lines = _LineTokens(), _RowLines([*census.head, *census.tail]), list[str]()
    for detail in _DETAILS:
        lines, fit = tokens.fitting(_lines(handle, title, census, rows, cut, notes, detail))
        if fit:
            break
    return "\n".join(lines)


def fits(text: str) -> bool:
    """Whether a text is a summary that a model may see: it has at most 600 tokens."""
    return len(text) <= _MOST_TOKENS * _LIKELY and _TOKENS.count(text) <= _MOST_TOKENS


def _lines(
    handle: str, title: str, census: TableCensus, rows: _RowLines, cut: bool, notes: Sequence[str], detail: _Detail
) -> Iterator[str]:
    yield f"{handle}: {shown_text(title, _TITLE_CELLS * detail.cell)}"
    yield f"rows: {census.rows}" + (" (cut: there were more)" if cut else "")
    yield "columns:"
    for each in census.columns[: detail.columns]:
        yield _column_line(each, detail.cell)
    if more := census.columns[detail.columns :]:
        names = ", ".join(shown_text(each.column.name, detail.cell) for each in more[: detail.columns // 2])
        yield f"and {len(more)} more columns" + (f": {names}, …" if names else "")
    yield from _row_lines(census, rows, detail)
    for note in notes[: detail.notes]:
        yield f"note: {shown_text(note, _TITLE_CELLS * detail.cell)}"


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


def _row_lines(census: TableCensus, rows: _RowLines, detail: _Detail) -> Iterator[str]:
    """Show first and last rows, without the ids of nodes where there is something else to show."""
    columns = range(min(len(census.columns), detail.columns))
    places = [at for at in columns if census.columns[at].column.type != "node"] or list(columns)
    if not census.rows or not places:
        return
    kept = len(census.head)
    whole = census.rows <= min(detail.head + detail.tail, kept)
    head = kept if whole else min(detail.head, _SAMPLE_HEAD, kept)
    tail = 0 if whole else min(detail.tail, _SAMPLE_TAIL, census.rows - head, len(census.tail))
    names = " | ".join(shown_text(census.columns[at].column.name, detail.cell) for at in places)
    yield f"rows 1 to {head} ({names}):"
    for at in range(head):
        yield rows.line(at, places, detail.cell)
    if tail:
        yield f"rows {census.rows - tail + 1} to {census.rows}:"
        last = kept + len(census.tail)
        for at in range(last - tail, last):
            yield rows.line(at, places, detail.cell)


def shown_row(row: Sequence[Cell], places: Sequence[int], most: int) -> str:
    """Return some cells of a row on one line."""
    return " | ".join(shown_cell(row[at], most) for at in places)
