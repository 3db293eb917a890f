"""What a report is made of, before it is Markdown or HTML: plain text, tables and pictures. Nothing here is escaped."""

from __future__ import annotations

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
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    :param group: columns side by side with the same group share one heading; empty for a column that stands alone.
    :param number: whether its cells line up on the right.
    """

    name: str
    group: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell.

    :param best: set in bold.
    :param detail: said after the text, smaller: an interval.
    """

    text: str
    best: bool = False
    detail: str = ""


NOTHING = Cell(text="–")  # not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; every row has a cell for every column.

    :param caption: what it shows and of which snapshot, systems and configurations.
    :param averages: numbers of the rows, from 0, that sum up others and stand apart.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    averages: frozenset[int] = frozenset()


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
    """Someone else's words, such as a request."""

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

    :param warnings: what must be known before any figure is read; said at the very top.
    """

    title: str
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
