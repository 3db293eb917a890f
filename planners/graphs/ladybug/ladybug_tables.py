"""Tables and columns of a Ladybug graph, made when a type or property is first named.

Ladybug wants tables before data, takes ``Name`` and ``name`` for one, and has one type a column. So:

- All nodes stand in one table, their label in a hidden column: a table for each label would make one of edges for each pair
  of labels that a type joins, and each of these takes Ladybug 0.22 some 9 MiB.
- A type has a table, a property a column, of its own name; where that is taken (another case, a name that Ladybug or the store
  keeps for itself) invisible marks are appended, and taken off what comes back.
- The type of a property is one for all nodes, and one for all edges: the narrowest that holds all its values. Where a value
  needs a wider one, another column takes over (the old one stays, empty). A query sees integers among decimals as decimals,
  and values of several other types as text.
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
from planners.graphs.cypher_names import quoted_name
from planners.graphs.ladybug.column_types import ColumnType, joined_type
from planners.graphs.ladybug.ladybug_process import LadybugProcess, WrittenCypher

__all__ = ["EXACT", "KEY", "LABEL", "NODES", "Column", "LadybugTables", "Needs", "RowKind", "own_name"]

RowKind: TypeAlias = Literal["NODE", "REL"]
_MARK = "\u2060"
KEY, EXACT, LABEL = "_key", "_exact", "_kind"
_HIDDEN = f"`{KEY}` INT64 DEFAULT nextval('_keys'), `{EXACT}` STRING"
_RESERVED = frozenset({KEY, EXACT, LABEL, "_id", "_label", "_src", "_dst", "_nodes", "_rels", "_length"})
NODES, _NO_EDGES = "_all_nodes", "_no_edges"
"""The table of all nodes, and one of edges that is always empty: queries of a graph without any have one to read. Ladybug takes ``_nodes``
and ``_edges`` for those of a graph without columns, and fails on others of these names."""
_FIRST_KEY = 2**40
"""Keys from here are of rows that statements insert; below are those of typed operations."""
_MAX_TABLES, _MAX_COLUMNS = 100, 2_000
"""Of a graph: several times those of our largest; the table of a type takes about 9 MiB of memory."""
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
    "startNode(r) AS start_node(r)",
    "endNode(r) AS end_node(r)",
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

    :param properties: kind, type of an edge (None: any; nodes have none), property → type of its values (None: unknown).
    :param everywhere: properties that edges of any type may get.
    """

    types: set[str] = field(default_factory=set)
    properties: dict[tuple[RowKind, str | None, str], ColumnType | None] = field(default_factory=dict)
    everywhere: set[str] = field(default_factory=set)

    def want(self, kind: RowKind, owner: str | None, name: str, type_: ColumnType | None) -> None:
        """Note a property."""
        key = (kind, owner, name)
        self.properties[key] = joined_type(self.properties.get(key), type_)

    def add(self, other: Needs) -> None:
        """Note what others note too."""
        self.types |= other.types
        self.everywhere |= other.everywhere
        for (kind, owner, name), type_ in other.properties.items():
            self.want(kind, owner, name, type_)


class LadybugTables:
    """The tables of one database, as they are when the definitions that it asks for have been run. :meth:`load` reads them."""

    def __init__(self) -> None:
        self._definitions: list[WrittenCypher] = []
        self._edges: dict[str, str] = {}
        self._columns: dict[RowKind, dict[str, Column]] = {"NODE": {}, "REL": {}}
        self._versions: dict[RowKind, dict[str, Column]] = {"NODE": {}, "REL": {}}
        self._present: dict[str, set[str]] = {}

    @classmethod
    async def load(cls, process: LadybugProcess) -> LadybugTables:
        """Read the tables of a database; those of a new one are among the definitions to be run."""
        tables = cls()
        found = await process.read("CALL show_tables() RETURN name, type")
        if not found:
            tables._make()
        for name, kind in found:
            tables._load_columns(name, kind, await process.read(f"CALL table_info({_text(name)}) RETURN name, type"))
            if kind == "REL" and name != _NO_EDGES:
                tables._edges[own_name(name)] = name
        return tables

    def definitions(self) -> list[WrittenCypher]:
        """Return what must be run before anything else, once."""
        taken, self._definitions = self._definitions, []
        return taken

    def edges(self, type_: str) -> str:
        """Return the table of the edges of a type; its own name where it has none."""
        return self._edges.get(type_, type_)

    def columns_of(self, kind: RowKind, types: Iterable[str]) -> list[str]:
        """Return the columns of the properties of nodes, or that edges of all these types have."""
        names = [NODES] if kind == "NODE" else [self._edges[type_] for type_ in types if type_ in self._edges]
        shared = set.intersection(*(self._present[name] for name in names)) if names else set()
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

    def older(self, kind: RowKind, type_: str, name: str) -> list[str]:
        """Return the columns that held a property of nodes, or of edges of a type, before another took over."""
        column = self._columns[kind].get(name)
        present = self._present[NODES if kind == "NODE" else self._edges[type_]]
        return sorted(old for old in present if own_name(old) == name and column is not None and old != column.name)

    def ensure(self, needs: Needs, used: Iterable[tuple[RowKind, str]]) -> set[tuple[RowKind, str]]:
        """Make what is missing; return the properties that another column takes over: their values must be written anew.

        :param used: properties that have values; the type of others can change without a trace.
        :raises StatementError: when the graph has too many names.
        """
        for type_ in sorted(needs.types - set(self._edges)):
            if len(self._edges) >= _MAX_TABLES:
                raise _too_many("types", _MAX_TABLES)
            table = self._free_name(type_, {"_nodes", "_edges", *(name.casefold() for name in self._present)})
            # Every table of edges has every column: of one that some lack, Ladybug 0.22 gave values that nobody wrote.
            columns = [column for column in self._versions["REL"].values() if column.name in self._present[_NO_EDGES]]
            more = "".join(f", {quoted_name(column.name)} {column.type}" for column in columns)
            self._define(f"CREATE REL TABLE {quoted_name(table)} (FROM {NODES} TO {NODES}, {_HIDDEN}{more})")
            self._edges[type_] = table
            self._present[table] = {column.name for column in columns}
        moved = self._retype(needs, set(used))
        for kind, name in sorted({(kind, name) for kind, _, name in needs.properties}):
            self._add(kind, name)
        return moved

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

    def _add(self, kind: RowKind, name: str) -> None:
        """Add the column of a property where it is missing."""
        column = self._columns[kind][name]
        for table in [NODES] if kind == "NODE" else [_NO_EDGES, *self._edges.values()]:
            if column.name not in self._present[table]:
                self._define(f"ALTER TABLE {quoted_name(table)} ADD {quoted_name(column.name)} {column.type}")
                self._present[table].add(column.name)

    def _free_name(self, name: str, taken: set[str]) -> str:
        if name.endswith(_MARK):
            raise StatementError("a name ends with an invisible character", subject=name[:40], remedy="Leave it out")
        while name.casefold() in taken:
            name += _MARK
        return name

    def _define(self, text: str) -> None:
        self._definitions.append((text, {}))

    def _make(self) -> None:
        """Ask for the tables of a new database."""
        self._define(f"CREATE SEQUENCE `_keys` START {_FIRST_KEY}")
        for macro in _MACROS:
            self._define(f"CREATE MACRO {macro}")
        self._define(f"CREATE NODE TABLE {NODES} ({_HIDDEN}, `{LABEL}` STRING, PRIMARY KEY (`{KEY}`))")
        self._define(f"CREATE REL TABLE {_NO_EDGES} (FROM {NODES} TO {NODES}, {_HIDDEN})")
        self._present = {NODES: set(), _NO_EDGES: set()}

    def _load_columns(self, table: str, kind: RowKind, columns: list[list[Any]]) -> None:
        self._present[table] = set()
        for name, type_ in columns:
            if name in (KEY, EXACT, LABEL):
                continue
            self._present[table].add(name)
            self._versions[kind][name.casefold()] = Column(name=name, type=type_)
            known = self._columns[kind].get(own_name(name))
            if known is None or len(known.name) < len(name):
                self._columns[kind][own_name(name)] = Column(name=name, type=type_)


def own_name(name: str) -> str:
    """Return the label, type or property that a table or column stands for."""
    return name.rstrip(_MARK)


def _text(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _too_many(what: str, limit: int) -> StatementError:
    return StatementError(f"the graph would have more than {limit} {what}", subject=what, remedy="Use those it has")
