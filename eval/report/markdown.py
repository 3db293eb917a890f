"""Documents and tables as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from eval.report.blocks import Block, Cell, Column, Document, Listing, Paragraph, Picture, Quotation, Section, Table
from ontology.markdown_text import escape_line, escape_markdown, escape_title

__all__ = ["document_to_markdown", "pictures_of", "section_to_markdown", "table_to_markdown"]

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
    """A table with its caption below; columns with a common heading are one column, their values joined by slashes."""
    numbered = list(enumerate(table.columns))
    spans = [[place for place, _ in run] for _, run in groupby(numbered, key=lambda item: item[1].group or item[0])]
    names = [_heading([table.columns[place] for place in span]) for span in spans]
    rules = ["---:" if table.columns[span[0]].number else "---" for span in spans]
    lines = [_line(names), _line(rules)]
    for number, row in enumerate(table.rows):
        cells = [_JOINED.join(_cell(row[place]) for place in span) for span in spans]
        if number in table.averages:
            cells[0] = f"*{cells[0]}*"
        lines.append(_line(cells))
    caption = f"\n\n{escape_line(table.caption)}" if table.caption else ""
    return "\n".join(lines) + caption


def pictures_of(sections: Sequence[Section]) -> Iterator[Picture]:
    """The pictures of the sections and of those below them."""
    for section in sections:
        yield from (block for block in section.blocks if isinstance(block, Picture))
        yield from pictures_of(section.sections)


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
            return f"![{escape_title(block.title)}]({block.name})\n\n{escape_line(block.caption)}"
        case Listing():
            return "\n".join(f"- {escape_line(item)}" for item in block.items)
        case Quotation():
            return f"> {escape_line(block.text)}"
        case Paragraph():
            return escape_line(block.text)


def _heading(columns: Sequence[Column]) -> str:
    names = _JOINED.join(escape_markdown(column.name) for column in columns)
    return f"{escape_markdown(columns[0].group)} {names}" if columns[0].group else names


def _cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    if cell.best:
        text = f"**{text}**"
    return f"{text} {escape_markdown(cell.detail)}" if cell.detail else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
