"""Tables of nodes and relationships that are to be loaded: typed columns, and rows that can be gone through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["UNDIRECTED", "ColumnType", "NodeTable", "RelationshipTable"]

ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]
"""Of the values of a column; None is no value, and a date is a date or text like 2021-03-14. There are no lists: Ladybug's COPY
has no way to write a comma in a member."""

UNDIRECTED = "undirected"
"""The comment on a table of relationships that have no direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTable:
    """The nodes of one type.

    :param columns: names and types of the properties.
    :param key: the column that identifies a node, a string or an integer.
    :param rows: values in the order of the columns.
    :param source: the file that the rows come from, for errors; empty: a program makes them.
    :param lines: of each row in the file, where one is known; it is gone through only when a row is at fault.
    """

    type: str
    columns: tuple[tuple[str, ColumnType], ...]
    key: str
    rows: Iterable[Sequence[object]]
    source: str = ""
    lines: Iterable[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipTable:
    """Relationships of one type between two types of nodes. Tables of one type have the same columns.

    :param rows: key of the source, key of the target, values in the order of the columns.
    :param undirected: whether they have no direction; where a type has several tables, all of them.
    """

    type: str
    source_type: str
    target_type: str
    columns: tuple[tuple[str, ColumnType], ...] = ()
    rows: Iterable[Sequence[object]]
    source: str = ""
    lines: Iterable[int] = ()
    undirected: bool = False
