"""Documents and tables as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from eval.report.document import Block, Cell, Document, Listing, Paragraph, Picture, Quotation, Section, Table

__all__ = ["document_to_markdown", "escape_markdown", "section_to_markdown", "table_to_markdown"]

# What opens markup inside a line. A bracket does only where a link can follow it, an underscore not inside a word,
# an ampersand before an entity, a smaller-than before a tag.
_MARKUP = re.compile(r"[\\`*|]|~(?=~)|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_LINE_START = re.compile(r"^(?:(?=[#+\-=>])|(\d+)(?=[.)]\s))")
_JOINED = " / "  # between the values of columns with a common heading


def document_to_markdown(document: Document) -> str:
    """The whole page; pictures are links to files beside it."""
    parts = [f"# {escape_markdown(document.title)}"]
    parts += [f"> **Attention**: {escape_markdown(warning)}" for warning in document.warnings]
    for section in document.sections:
        parts += _section(section, 2)
    return "\n\n".join(parts) + "\n"


def section_to_markdown(section: Section, level: int = 2) -> str:
    """A section and those below it, its heading of this level."""
    return "\n\n".join(_section(section, level)) + "\n"


def table_to_markdown(table: Table) -> str:
    """A table with its caption below; columns with a common heading share one column, their values joined by slashes."""
    spans = _spans(table)
    names = [_heading(table, start, stop) for start, stop in spans]
    rules = ["---:" if table.columns[start].number else "---" for start, _ in spans]
    lines = [_line(names), _line(rules)]
    for number, row in enumerate(table.rows):
        cells = [_JOINED.join(_cell(cell) for cell in row[start:stop]) for start, stop in spans]
        if number in table.averages:
            cells[0] = f"*{cells[0]}*"
        lines.append(_line(cells))
    caption = f"\n\n{_line_of(table.caption)}" if table.caption else ""
    return "\n".join(lines) + caption


def escape_markdown(text: str) -> str:
    """Text that shows as itself inside a line of Markdown, also in a table; line breaks become spaces."""
    return _MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))


def _line_of(text: str) -> str:
    """Text that shows as itself on a line of its own: it opens no heading, list or rule."""
    return _LINE_START.sub(lambda found: f"{found.group(1) or ''}\\", escape_markdown(text))


def _section(section: Section, level: int) -> Iterator[str]:
    yield f"{'#' * min(level, 6)} {escape_markdown(section.title)}"
    yield from map(_block, section.blocks)
    for inner in section.sections:
        yield from _section(inner, level + 1)


def _block(block: Block) -> str:
    match block:
        case Table():
            return table_to_markdown(block)
        case Picture():
            return f"![{escape_markdown(block.title)}]({block.name})\n\n{_line_of(block.caption)}"
        case Listing():
            return "\n".join(f"- {_line_of(item)}" for item in block.items)
        case Quotation():
            return f"> {_line_of(block.text)}"
        case Paragraph():
            return _line_of(block.text)


def _spans(table: Table) -> list[tuple[int, int]]:
    """Start and stop of each run of columns that share a heading."""
    spans = []
    numbered = list(enumerate(table.columns))
    for _, run in groupby(numbered, key=lambda item: item[1].group or item[0]):
        places = [place for place, _ in run]
        spans.append((places[0], places[-1] + 1))
    return spans


def _heading(table: Table, start: int, stop: int) -> str:
    first = table.columns[start]
    names = _JOINED.join(escape_markdown(column.name) for column in table.columns[start:stop])
    return f"{escape_markdown(first.group)} {names}" if first.group else names


def _cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    if cell.best:
        text = f"**{text}**"
    return f"{text} {escape_markdown(cell.detail)}" if cell.detail else text


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
