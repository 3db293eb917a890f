"""The blocks of a report, independent of Markdown and HTML: plain text, tables and pictures. Texts are not escaped
here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "NOTHING",
    "Block",
    "Cell",
    "Column",
    "Document",
    "Listing",
    "Paragraph",
    "Picture",
    "Quotation",
    "Section",
    "Table",
    "make_table",
    "number_columns",
    "text_columns",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    :param group: adjacent columns with the same group have one common heading; empty for a single column.
    :param number: whether its cells are aligned to the right.
    """

    name: str
    group: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell.

    :param best: shown in bold.
    :param detail: shown after the text: an interval.
    """

    text: str
    best: bool = False
    detail: str = ""


NOTHING = Cell(text="–")  # not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; every row has a cell for every column.

    :param caption: what it shows and of which snapshot, systems and configurations.
    :param averages: numbers of the rows, from 0, that are averages of others.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    averages: frozenset[int] = frozenset()


def text_columns(*names: str) -> tuple[Column, ...]:
    """Columns of text with these names."""
    return tuple(Column(name=name, number=False) for name in names)


def number_columns(*names: str, group: str = "") -> tuple[Column, ...]:
    """Columns of numbers with these names."""
    return tuple(Column(name=name, group=group) for name in names)


def make_table(
    columns: Iterable[Column],
    rows: Iterable[Iterable[str | Cell]],
    *,
    caption: str = "",
    averages: Iterable[int] = (),
) -> Table:
    """A table from rows of texts and cells."""
    cells = (tuple(Cell(text=value) if isinstance(value, str) else value for value in row) for row in rows)
    return Table(caption=caption, columns=tuple(columns), rows=tuple(cells), averages=frozenset(averages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture.

    :param name: of its file, ``figure3.png``.
    :param title: what it shows in a few words.
    :param caption: the same, and of which snapshot, systems and configurations.
    :param png: its bytes.
    """

    name: str
    title: str
    caption: str
    png: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """Quoted text, such as a request."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of plain texts."""

    items: tuple[str, ...]


Block = Table | Picture | Paragraph | Quotation | Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, what follows it, and the sections below it."""

    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A page.

    :param warnings: warnings about the figures, shown at the top.
    """

    title: str
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
