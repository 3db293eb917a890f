"""Tables and columns of a Ladybug graph, made when a label, type or property is first named.

Ladybug wants tables before data, takes ``Name`` and ``name`` for one, and has one type a column. So:

- A label or type has a table, a property a column, of its own name; where that is taken (another case, a label that is also
  a type, a name that Ladybug keeps for itself) invisible marks are appended, and taken off what comes back.
- The type of a property is one for all nodes, and one for all edges, as queries over several labels want it: the narrowest that
  holds all its values. Where a value needs a wider one, a new column takes over (the old one stays, empty). A query sees
  integers among decimals as decimals, and values of several other types as text.
- What such a column does not show exactly stands in a hidden column as JSON; typed operations and states lose nothing.
- Each node has a hidden key, and each edge.

Definitions are not part of the state; they are made outside of transactions (a definition in one with data made Ladybug 0.22
crash), and stay where the data is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ontology.errors import StatementError
from planners.graphs.column_types import ColumnType, joined_type
from planners.graphs.cypher_tokens import quoted_name

__all__ = ["EXACT", "KEY", "MARK", "NOTHING", "Column", "LadybugTables", "Needs", "RowKind", "own_name"]

RowKind: TypeAlias = Literal["NODE", "REL"]
MARK = "\u2060"
KEY, EXACT = "_key", "_exact"
_HIDDEN = f"`{KEY}` INT64 DEFAULT nextval('_keys'), `{EXACT}` STRING"
_RESERVED = frozenset({KEY, EXACT, "_id", "_label", "_src", "_dst", "_nodes", "_rels", "_length"})
_NO_NODE, _NO_EDGE = f"_node{MARK}", f"_edge{MARK}"
NOTHING = "_node"
"""The label of a table that is always empty: what matches no node matches in it."""
_FIRST_KEY = 2**40
"""Keys from here are of rows that statements insert; below are those of typed operations."""
_MAX_TABLES, _MAX_COLUMNS = 500, 2_000
"""Of a graph: over ten times those of our largest; each table takes Ladybug about 1 MiB."""
_MACROS = (
    "toInteger(x) AS CAST(x AS INT64)",
    "toFloat(x) AS CAST(x AS DOUBLE)",
    "toString(x) AS CAST(x AS STRING)",
    "toBoolean(x) AS CAST(x AS BOOL)",
    "type(r) AS label(r)",
    "head(l) AS list_extract(l, 1)",
    "last(l) AS list_extract(l, -1)",
    "tail(l) AS list_slice(l, 2, size(l))",
    "split(t, by) AS string_split(t, by)",
    "isEmpty(l) AS size(l) = 0",
    "startNode(r) AS start_node(r)",
    "endNode(r) AS end_node(r)",
    "_labels(n) AS [label(n)]",
    "_round(x) AS round(x, 0)",
    "_substring(t, at, n) AS substring(t, at + 1, n)",
    "_substring_from(t, at) AS substring(t, at + 1, size(t))",
)
"""Functions of openCypher that Ladybug lacks, or counts from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The column that holds a property."""

    name: str
    type: ColumnType


@dataclass(slots=True, kw_only=True)
class Needs:
    """What operations or a query name.

    :param pairs: type, label of the source, label of the target.
    :param properties: kind, label or type (None: of any), property → type of its values (None: unknown).
    :param everywhere: properties that nodes of any label, or edges of any type, may get.
    """

    labels: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)
    properties: dict[tuple[RowKind, str | None, str], ColumnType | None] = field(default_factory=dict)
    everywhere: set[tuple[RowKind, str]] = field(default_factory=set)

    def want(self, kind: RowKind, owner: str | None, name: str, type_: ColumnType | None) -> None:
        """Note a property."""
        key = (kind, owner, name)
        self.properties[key] = joined_type(self.properties.get(key), type_)

    def add(self, other: Needs) -> None:
        """Note what others note too."""
        self.labels |= other.labels
        self.types |= other.types
        self.pairs |= other.pairs
        self.everywhere |= other.everywhere
        for (kind, owner, name), type_ in other.properties.items():
            self.want(kind, owner, name, type_)


class LadybugTables:
    """The tables of one database.

    :param connection: used for definitions only.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._tables: dict[RowKind, dict[str, str]] = {"NODE": {}, "REL": {}}
        self._taken: set[str] = set()
        self._pairs: set[tuple[str, str, str]] = set()
        self._columns: dict[RowKind, dict[str, Column]] = {"NODE": {}, "REL": {}}
        self._versions: dict[RowKind, dict[str, Column]] = {"NODE": {}, "REL": {}}
        self._present: dict[str, set[str]] = {}
        self._load()

    def table(self, kind: RowKind, name: str) -> str:
        """Return the table of a label or type that has one."""
        return self._tables[kind][name]

    def table_or_name(self, kind: RowKind, name: str) -> str:
        """Return the table of a label or type, or the name where it has none."""
        return self._tables[kind].get(name, name)

    def columns_of(self, kind: RowKind, owners: Iterable[str]) -> list[str]:
        """Return the columns of the properties that all these labels or types have."""
        tables = [self._present[self._tables[kind][owner]] for owner in owners if owner in self._tables[kind]]
        shared = set.intersection(*tables) if tables else set()
        return sorted(column.name for column in self._columns[kind].values() if column.name in shared)

    def column(self, kind: RowKind, name: str) -> Column | None:
        """Return the column of a property, if it has one."""
        return self._columns[kind].get(name)

    def type_of(self, kind: RowKind, column: str) -> ColumnType:
        """Return the type of a column."""
        return self._versions[kind][column.casefold()].type

    def moved_ever(self) -> set[tuple[RowKind, str]]:
        """Return the properties that have had several columns."""
        names = [(kind, own_name(column.name)) for kind, found in self._versions.items() for column in found.values()]
        return {name for name in names if names.count(name) > 1}

    def older(self, kind: RowKind, owner: str, name: str) -> list[str]:
        """Return the columns that held a property before another took over, in the table of a label or type."""
        column = self._columns[kind].get(name)
        present = self._present[self._tables[kind][owner]]
        return sorted(old for old in present if own_name(old) == name and column is not None and old != column.name)

    def ensure(self, needs: Needs, used: Iterable[tuple[RowKind, str]]) -> set[tuple[RowKind, str]]:
        """Make what is missing; return the properties that another column takes over: their values must be written anew.

        :param used: properties that have values; the type of others can change without a trace.
        :raises StatementError: when the graph has too many names.
        """
        for label in sorted(needs.labels - set(self._tables["NODE"])):
            self._make("NODE", label)
        for kind in sorted((needs.types | {pair[0] for pair in needs.pairs}) - set(self._tables["REL"])):
            self._make("REL", kind)
        for pair in sorted(needs.pairs - self._pairs):
            self._pair(*pair)
        moved = self._retype(needs, set(used))
        for kind_, owner, name in sorted(needs.properties, key=str):
            self._add(kind_, owner, name, needs.everywhere)
        return moved

    def _make(self, kind: RowKind, name: str) -> None:
        if len(self._tables["NODE"]) + len(self._tables["REL"]) >= _MAX_TABLES:
            raise _too_many("labels and types", _MAX_TABLES)
        table = self._free_name(name, self._taken)
        if kind == "NODE":
            self._define(f"CREATE NODE TABLE {quoted_name(table)} ({_HIDDEN}, PRIMARY KEY (`{KEY}`))")
        else:
            nothing = quoted_name(_NO_NODE)
            self._define(f"CREATE REL TABLE {quoted_name(table)} (FROM {nothing} TO {nothing}, {_HIDDEN})")
            self._pairs.add((name, own_name(_NO_NODE), own_name(_NO_NODE)))
        self._taken.add(table.casefold())
        self._tables[kind][name] = table
        self._present[table] = set()

    def _pair(self, kind: str, source: str, target: str) -> None:
        ends = (quoted_name(self.table("NODE", source)), quoted_name(self.table("NODE", target)))
        self._define(f"ALTER TABLE {quoted_name(self.table('REL', kind))} ADD FROM {ends[0]} TO {ends[1]}")
        self._pairs.add((kind, source, target))

    def _retype(self, needs: Needs, used: set[tuple[RowKind, str]]) -> set[tuple[RowKind, str]]:
        """Give properties the columns that their types need."""
        wanted: dict[tuple[RowKind, str], ColumnType | None] = {}
        for (kind, _, name), type_ in needs.properties.items():
            wanted[kind, name] = joined_type(wanted.get((kind, name)), type_)
        moved = set()
        for (kind, name), type_ in wanted.items():
            old = self.column(kind, name)
            joined = (
                joined_type(old.type if old and ((kind, name) in used or type_ is None) else None, type_) or "STRING"
            )
            joined = "STRING[]" if joined == "[]" else joined
            if old is None or old.type != joined:
                self._columns[kind][name] = self._version(kind, name, joined)
                if old is not None and (kind, name) in used:
                    moved.add((kind, name))
        return moved

    def _version(self, kind: RowKind, name: str, type_: ColumnType) -> Column:
        """Return the column of a property that has a type, a new one where none has."""
        versions = self._versions[kind]
        for column in versions.values():
            if own_name(column.name) == name and column.type == type_:
                return column
        if len(versions) >= _MAX_COLUMNS:
            raise _too_many("properties", _MAX_COLUMNS)
        column = Column(name=self._free_name(name, {*versions, *_RESERVED}), type=type_)
        versions[column.name.casefold()] = column
        return column

    def _add(self, kind: RowKind, owner: str | None, name: str, everywhere: set[tuple[RowKind, str]]) -> None:
        """Add the column of a property to the tables that need it: that of its owner, or to any where it has none."""
        column = self._columns[kind][name]
        tables = self._tables[kind]
        nothing = _NO_NODE if kind == "NODE" else _NO_EDGE
        # A property that moved needs its new column wherever it had the old one.
        older = [table for table in tables.values() if any(own_name(old) == name for old in self._present[table])]
        asked = tables.values() if owner is None and (kind, name) in everywhere else [tables.get(owner or "", nothing)]
        for table in sorted({*asked, *older}):
            if column.name not in self._present[table]:
                self._define(f"ALTER TABLE {quoted_name(table)} ADD {quoted_name(column.name)} {column.type}")
                self._present[table].add(column.name)

    def _free_name(self, name: str, taken: set[str]) -> str:
        if name.endswith(MARK):
            raise StatementError("a name ends with an invisible character", subject=name[:40], remedy="Leave it out")
        while name.casefold() in taken:
            name += MARK
        return name

    def _define(self, text: str) -> None:
        self._connection.execute(text)

    def _rows(self, text: str) -> list[list[Any]]:
        return [list(row) for row in self._connection.execute(text)]

    def _load(self) -> None:
        """Read the tables of a database, or make those of a new one."""
        found = self._rows("CALL show_tables() RETURN name, type")
        if not found:
            self._define(f"CREATE SEQUENCE `_keys` START {_FIRST_KEY}")
            for macro in _MACROS:
                self._define(f"CREATE MACRO {macro}")
            self._define(f"CREATE NODE TABLE {quoted_name(_NO_NODE)} ({_HIDDEN}, PRIMARY KEY (`{KEY}`))")
            ends = f"FROM {quoted_name(_NO_NODE)} TO {quoted_name(_NO_NODE)}"
            self._define(f"CREATE REL TABLE {quoted_name(_NO_EDGE)} ({ends}, {_HIDDEN})")
            found = [[_NO_NODE, "NODE"], [_NO_EDGE, "REL"]]
        for name, kind in found:
            self._tables[kind][own_name(name)] = name
            self._taken.add(name.casefold())
            self._load_columns(name, kind)
            if kind == "REL":
                ends_ = self._rows(f"CALL show_connection({_text(name)}) RETURN *")
                self._pairs |= {(own_name(name), own_name(end[0]), own_name(end[1])) for end in ends_}

    def _load_columns(self, table: str, kind: RowKind) -> None:
        self._present[table] = set()
        for row in self._rows(f"CALL table_info({_text(table)}) RETURN name, type"):
            name, type_ = row
            if name in (KEY, EXACT):
                continue
            self._present[table].add(name)
            self._versions[kind][name.casefold()] = Column(name=name, type=type_)
            known = self._columns[kind].get(own_name(name))
            if known is None or len(known.name) < len(name):
                self._columns[kind][own_name(name)] = Column(name=name, type=type_)


def own_name(name: str) -> str:
    """Return the label, type or property that a table or column stands for."""
    return name.rstrip(MARK)


def _text(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _too_many(what: str, limit: int) -> StatementError:
    return StatementError(f"the graph would have more than {limit} {what}", subject=what, remedy="Use those it has")
