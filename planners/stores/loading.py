"""Graphs from tables, CSV folders and GraphML files into a new Ladybug file: built aside by COPY, made durable, and only then put in the
place of an older one.

A folder of CSV files has headers close to those of Neo4j's import::

    nodes_Person.csv               key:ID,name,age:int,born:date
    relationships_KNOWS.csv        :START_ID(Person),:END_ID(Person),since:int
    relationships_KNOWS.2.csv      :START_ID(Person),:END_ID(Company),since:int

The type stands in the name of the file, a further pair of ends in one with a number. ``:ID`` marks the key; ``:ID(int)`` has integers.
A type after a colon is one of string (the default), int, long, float, double, boolean, date. An empty cell is no value.

GraphML has no types of nodes: the first attribute called ``labels``, ``label`` or ``type`` that a node has is its type, and likewise
of a relationship; without one they are ``Node`` and ``RELATED``. A type of relationships is undirected where none of its edges is
directed. The id of a node becomes the property ``id``. The whole graph stands in memory while it is read, as the columns of a type are
known at the end only. A file with a document type is refused: an entity in it can stand for gigabytes.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from ingest.stores.ladybug_building import COPY_OPTIONS, building_ladybug
from ingest.stores.ladybug_connection import check_ladybug, ladybug_connection
from ontology.errors import DocumentError, RejectionReason, StorageError
from planners.stores.graph_schema import UNDIRECTED
from planners.stores.statements import quoted_name, quoted_text

__all__ = [
    "ColumnType",
    "NodeTable",
    "RelationshipTable",
    "csv_tables",
    "graphml_tables",
    "load_graph",
    "load_once",
    "loaded_file",
    "write_rows",
]

ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]
"""Of the values of a column; None is no value, and a date is a date or text like 2021-03-14. There are no lists: Ladybug's COPY
has no way to write a comma in a member."""
_LAYOUT = "2"
"""Of loaded files: part of their names; it changes with what this module makes of the same bytes."""
_ENGINE_TYPES = {"string": "STRING", "integer": "INT64", "number": "DOUBLE", "boolean": "BOOL", "date": "DATE"}
_PYTHON_TYPES: Mapping[ColumnType, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "date": (str, datetime.date),
}
_FILE_TYPES: Mapping[str, ColumnType] = {
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "number": "number",
    "boolean": "boolean",
    "date": "date",
}
_LOADING: dict[str, Lock] = {}


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


_Table: TypeAlias = NodeTable | RelationshipTable
_FaultOf: TypeAlias = Callable[[Sequence[object]], str]


def loaded_file(source: Path, cache: Path, *, is_folder: bool) -> Path:
    """Return the Ladybug file that a folder of CSV files, or a GraphML file, was loaded into: once for each content.

    :raises DocumentError: when a file to be loaded is at fault; the subject is file and line.
    :raises StorageError: when it cannot be read or loaded.
    """
    if not (source.is_dir() if is_folder else source.is_file()):
        problem = f"there is no such {'folder' if is_folder else 'file'}"
        raise StorageError(problem, subject=str(source), remedy="Check the path")
    digest = hashlib.sha256(f"{'csv' if is_folder else 'graphml'} {_LAYOUT}".encode())
    for path in sorted(source.glob("*.csv")) if is_folder else [source]:
        if not path.is_file():  # reading a pipe would wait for ever
            raise StorageError("this is no regular file", subject=str(path), remedy="Remove it, or give another folder")
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problem = f"the file cannot be read: {error.strerror}"
            raise StorageError(problem, subject=str(path), remedy="Check its permissions") from None
        digest.update(f"\n{path.name if is_folder else ''}\n{content}".encode())
    read = csv_tables if is_folder else graphml_tables
    return load_once(cache / f"{digest.hexdigest()}.lbdb", lambda: read(source))


def load_once(path: Path, tables: Callable[[], tuple[Iterable[NodeTable], Iterable[RelationshipTable]]]) -> Path:
    """Load tables into a file that is not there yet, once, also where several threads ask for it.

    :raises EgotoolsError: as of :func:`load_graph`.
    """
    with _LOADING.setdefault(str(path), Lock()):
        if not path.exists():
            load_graph(path, *tables())
    return path


def load_graph(path: Path, nodes: Iterable[NodeTable], relationships: Iterable[RelationshipTable]) -> None:
    """Build a file from tables, which only its owner may read. An older one is replaced when the new one is complete.

    :raises DocumentError: when a table is at fault: a name or type, a missing or double key, an end that no node has.
    :raises MissingExtraError: when the package ``ladybug`` is not installed.
    :raises StorageError: when it cannot be written.
    """
    check_ladybug("graphs in Ladybug files")
    nodes, relationships = list(nodes), list(relationships)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with building_ladybug(path) as temporary, ladybug_connection(temporary) as connection:
            temporary.chmod(0o600)
            for table, text in _definitions(nodes, relationships):
                with _engine_errors(table):
                    connection.execute(text)
            file = temporary.with_name(f"{temporary.name}.csv")
            for tables, types, fault_of, text in _copies(nodes, relationships):
                if write_rows(file, tables, types, fault_of):
                    with _engine_errors(tables[0]):
                        connection.execute(text.format(quoted_text(str(file)))).close()
                file.unlink()
            connection.execute("CHECKPOINT")
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"the Ladybug database cannot be written: {str(error).strip().rstrip('.')}",
            subject=str(path),
            remedy="Check that its folder is writable and has room",
        ) from None


def _definitions(
    nodes: Sequence[NodeTable], relationships: Sequence[RelationshipTable]
) -> Iterator[tuple[_Table, str]]:
    """Yield the statements that make tables, each with a table that it is for."""

    def columns_of(table: _Table) -> list[str]:
        return [f"{quoted_name(name)} {_ENGINE_TYPES[type_]}" for name, type_ in table.columns]

    for node in nodes:
        columns = [*columns_of(node), f"PRIMARY KEY ({quoted_name(node.key)})"]
        yield node, f"CREATE NODE TABLE {quoted_name(node.type)} ({', '.join(columns)})"
    types = {node.type for node in nodes}
    for type_ in dict.fromkeys(each.type for each in relationships):
        tables = [each for each in relationships if each.type == type_]
        for each in tables:
            for end in (each.source_type, each.target_type):
                if end not in types:
                    raise _table_fault(each, f"there are no nodes of type {end}", "dangling-type")
            if each.columns != tables[0].columns:
                raise _table_fault(each, "tables of one type have different columns", "wrong-columns")
        ends = dict.fromkeys((each.source_type, each.target_type) for each in tables)
        pairs = [f"FROM {quoted_name(source)} TO {quoted_name(target)}" for source, target in ends]
        yield tables[0], f"CREATE REL TABLE {quoted_name(type_)} ({', '.join([*pairs, *columns_of(tables[0])])})"
        if all(each.undirected for each in tables):
            yield tables[0], f"COMMENT ON TABLE {quoted_name(type_)} IS {quoted_text(UNDIRECTED)}"


def _copies(
    nodes: Sequence[NodeTable], relationships: Sequence[RelationshipTable]
) -> Iterator[tuple[Sequence[_Table], list[ColumnType], _FaultOf, str]]:
    """Yield one COPY for each table of the engine (a second one into the same made it crash): the tables, the types of their columns, what
    says what is wrong with the keys of a row, and the statement."""
    keys: dict[str, set[object]] = {}
    key_types: dict[str, ColumnType] = {}
    for node in nodes:
        at = [name for name, _ in node.columns].index(node.key)
        key_types[node.type] = node.columns[at][1]
        known = keys.setdefault(node.type, set())

        def fault_of_node(row: Sequence[object], at: int = at, known: set[object] = known) -> str:
            if row[at] is None or row[at] in known:
                return "a key is missing" if row[at] is None else f"two nodes have the key {str(row[at])[:60]}"
            known.add(row[at])
            return ""

        text = f"COPY {quoted_name(node.type)} FROM {{}} ({COPY_OPTIONS})"
        yield [node], [type_ for _, type_ in node.columns], fault_of_node, text
    by_pair: dict[tuple[str, str, str], list[RelationshipTable]] = {}
    for each in relationships:
        by_pair.setdefault((each.type, each.source_type, each.target_type), []).append(each)
    for (type_, source, target), tables in by_pair.items():

        def fault_of_ends(row: Sequence[object], sources: Any = keys[source], targets: Any = keys[target]) -> str:
            if row[0] in sources and row[1] in targets:
                return ""
            key = row[1] if row[0] in sources else row[0]
            return "a key is missing" if key is None else f"no node has the key {str(key)[:60]}"

        ends = f"from={quoted_text(source)}, to={quoted_text(target)}"
        text = f"COPY {quoted_name(type_)} FROM {{}} ({ends}, {COPY_OPTIONS})"
        types = [key_types[source], key_types[target], *(kind for _, kind in tables[0].columns)]
        yield tables, types, fault_of_ends, text


def write_rows(path: Path, tables: Sequence[_Table], types: Sequence[ColumnType], fault_of: _FaultOf) -> bool:
    """Write the rows of tables as the CSV that Ladybug copies, text in quotes and nothing at all for no value; say whether there are any.

    :param fault_of: says what else is wrong with a row; empty: nothing.
    :raises DocumentError: when a row has not as many values as there are columns, one has another type, or something else is wrong.
    """
    templates: dict[tuple[type, ...], str] = {}  # types of the values of a row → how it is written
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        for table in tables:
            for number, row in enumerate(table.rows, 1):
                kinds = tuple(map(type, row))
                if kinds not in templates:
                    templates[kinds] = _template(table, number, row, types)
                if problem := fault_of(row):
                    raise _row_fault(table, number, problem)
                text = templates[kinds] % tuple(row)
                if text.count('"') != templates[kinds].count('"'):
                    text = templates[kinds] % tuple(v.replace('"', '""') if isinstance(v, str) else v for v in row)
                file.write(text)
        return bool(templates)


def _template(table: _Table, number: int, row: Sequence[object], types: Sequence[ColumnType]) -> str:
    if len(row) != len(types):
        raise _row_fault(table, number, f"it has {len(row)} values for {len(types)} columns", "wrong-columns")
    cells: list[str] = []
    for value, type_ in zip(row, types, strict=True):
        if not (value is None or isinstance(value, _PYTHON_TYPES[type_])):
            problem = f"{str(value)[:40]!r} stands in a column of type {type_}"
            raise _row_fault(table, number, problem, "wrong-type")
        cells.append("%.0s" if value is None else '"%s"' if type_ in ("string", "date") else "%s")
    return ",".join(cells) + "\n"


def _row_fault(table: _Table, number: int, problem: str, reason: RejectionReason = "unreadable") -> DocumentError:
    """Return an error with the line in the file that the row is from, else the number of the row."""
    line = next(itertools.islice(table.lines, number - 1, None), None)
    return _table_fault(table, problem, reason, f":{line}" if line else f", row {number}")


def _table_fault(table: _Table, problem: str, reason: RejectionReason, place: str = "") -> DocumentError:
    subject = table.source or f"table {table.type}"
    remedy = "Correct it and load again; nothing was replaced"
    return DocumentError(problem, subject=subject + place, remedy=remedy, reason=reason)


@contextlib.contextmanager
def _engine_errors(table: _Table) -> Iterator[None]:
    """Turn what Ladybug 0.22 says of a table into an error of the document; found by loading such tables."""
    try:
        yield
    except RuntimeError as error:
        kind, _, told = str(error).partition("exception: ")
        if kind.strip() not in ("Binder", "Catalog", "Parser", "Runtime", "Conversion", "Copy", "Buffer manager"):
            raise
        if line := re.search(r"on line (\d+)", told):  # of several tables together it counts their rows
            raise _row_fault(table, int(line[1]), told.split("Line/record")[0].strip(". ")) from None
        subject = table.source or f"table {table.type}"
        raise DocumentError(
            f"the table {table.type} cannot be loaded: {told.splitlines()[0].rstrip('.')}",
            subject=subject,
            remedy="Names must not be empty, nor differ in case only, nor begin with an underscore; columns of relationships cannot be"
            " called from or to; there cannot be thousands of columns",
            reason="no-name",
        ) from None


def _read_cell(text: str, type_: ColumnType) -> object:
    """Return the text of a file as a value of a column.

    :raises ValueError: when it is no such value.
    """
    if type_ == "integer" and -(2**63) <= (whole := int(text)) < 2**63:
        return whole
    if type_ == "number" and math.isfinite(number := float(text)):
        return number
    if type_ == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if type_ == "date":
        return datetime.date.fromisoformat(text).isoformat()
    if type_ == "string":
        return text
    raise ValueError(text)


# --- CSV ------------------------------------------------------------------------------------------------------------------------------

_FILE = re.compile(r"(nodes|relationships)_(.+?)(?:\.\d+)?\.csv")
_HEADER = re.compile(r"(?P<name>[^:]*)(?::(?P<word>ID|START_ID|END_ID)(?:\((?P<inner>[^)]*)\))?|:(?P<type>\w*))?")


class _Column(NamedTuple):
    """A column of a header.

    :param word: ``ID``, ``START_ID``, ``END_ID`` or empty.
    :param inner: what stands in brackets after it.
    """

    name: str
    word: str
    inner: str
    type: ColumnType


def csv_tables(folder: Path) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return the tables of a folder; their rows are read when they are gone through.

    :raises DocumentError: when there is no file of nodes, or a header is at fault.
    """
    nodes: list[NodeTable] = []
    others: list[tuple[Path, str, list[_Column]]] = []
    for path in sorted(folder.glob("*.csv")):
        named = _FILE.fullmatch(path.name)
        if named is None:
            remedy = "Call it nodes_TYPE.csv or relationships_TYPE.csv"
            raise DocumentError("the name says neither nodes nor relationships", subject=str(path), remedy=remedy)
        columns = _header(path)
        if named[1] == "relationships":
            others.append((path, named[2], columns))
            continue
        keys = [column.name for column in columns if column.word == "ID"]
        if len(keys) != 1 or not all(column.name for column in columns):
            problem = "exactly one column must be the key, and each needs a name"
            raise _header_fault(path, problem, "Write key:ID,name,age:int")
        nodes.append(NodeTable(type=named[2], key=keys[0], **_parts_of(path, columns, columns)))
    if not nodes:
        remedy = "Put nodes_TYPE.csv there"
        raise DocumentError("the folder has no file of nodes", subject=str(folder), remedy=remedy, reason="empty")
    key_types = {node.type: type_ for node in nodes for name, type_ in node.columns if name == node.key}
    relationships: list[RelationshipTable] = []
    for path, type_, columns in others:
        ends, rest = columns[:2], columns[2:]
        is_whole = [end.word for end in ends] == ["START_ID", "END_ID"] and all(end.inner for end in ends)
        if not is_whole or not all(column.name for column in rest):
            problem = "the first columns must be the ends, with types of nodes"
            raise _header_fault(path, problem, "Write :START_ID(Person),:END_ID(Person),since:int")
        typed = [end._replace(type=key_types.get(end.inner, "string")) for end in ends]
        parts = _parts_of(path, [*typed, *rest], rest)
        relationships.append(
            RelationshipTable(type=type_, source_type=ends[0].inner, target_type=ends[1].inner, **parts)
        )
    return nodes, relationships


def _parts_of(path: Path, columns: Sequence[_Column], shown: Sequence[_Column]) -> dict[str, Any]:
    rows = _Again(lambda: _csv_rows(path, columns))
    lines = _Again(lambda: (line for line, _ in itertools.islice(_csv_cells(path), 1, None)))
    return {
        "columns": tuple((each.name, each.type) for each in shown),
        "rows": rows,
        "lines": lines,
        "source": str(path),
    }


class _Again:
    """What can be gone through several times."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return self._start()


def _header(path: Path) -> list[_Column]:
    first = next(_csv_cells(path), (1, list[str]()))[1]
    columns = []
    for cell in first:
        read = _HEADER.fullmatch(cell.strip())
        kind = _FILE_TYPES.get((read["type"] or "string").lower()) if read else None
        if read is None or kind is None:
            raise _header_fault(path, f"{cell[:40]!r} is no column", f"Types are {', '.join(_FILE_TYPES)}")
        if read["word"] == "ID" and read["inner"] in ("int", "long", "integer"):
            kind = "integer"
        columns.append(_Column(read["name"].strip(), read["word"] or "", read["inner"] or "", kind))
    if not columns:
        raise _header_fault(path, "the file has no header", "Write key:ID,name,age:int")
    return columns


def _header_fault(path: Path, problem: str, remedy: str) -> DocumentError:
    return DocumentError(problem, subject=f"{path}:1", remedy=remedy, reason="wrong-columns")


def _csv_rows(path: Path, columns: Sequence[_Column]) -> Iterator[list[object]]:
    for line, cells in itertools.islice(_csv_cells(path), 1, None):
        if len(cells) != len(columns):
            problem = f"the row has {len(cells)} cells for {len(columns)} columns"
            raise DocumentError(problem, subject=f"{path}:{line}", reason="wrong-columns")
        row: list[object] = []
        for cell, column in zip(cells, columns, strict=True):
            try:
                row.append(_read_cell(cell, column.type) if cell else None)
            except ValueError:
                problem = f"{cell[:40]!r} in the column {column.name} is no {column.type}"
                raise DocumentError(problem, subject=f"{path}:{line}", reason="wrong-type") from None
        yield row


def _csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file that are not empty, with the lines in which they end.

    :raises DocumentError: when it cannot be read, or is not UTF-8 or no CSV.
    """
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield line, cells
    except UnicodeDecodeError as error:
        raise DocumentError(f"it is not UTF-8: {error.reason}", subject=str(path), reason="not-utf8") from None
    except csv.Error as error:
        raise DocumentError(f"it is no CSV: {error}", subject=f"{path}:{line}", reason="invalid-csv") from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror}", subject=str(path)) from None


# --- GraphML --------------------------------------------------------------------------------------------------------------------------

_TYPE_NAMES = ("labels", "label", "type")


class _Key(NamedTuple):
    """An attribute of nodes or edges; ``default`` is the value of those that have none, as text."""

    name: str
    type: ColumnType
    of: tuple[str, ...]
    default: str | None


class _Element(NamedTuple):
    """A node, or an edge with its ends."""

    type: str
    ends: tuple[str, str]
    is_directed: bool
    values: dict[str, object]


def graphml_tables(path: Path) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return the tables of a file.

    :raises DocumentError: when it cannot be read, is no GraphML, has a document type, or a value, id or end is at fault; the problem names
        the node or the edge.
    """
    reader = _GraphmlReader(path)
    try:
        reader.read()
    except ParseError as error:
        raise _graphml_fault(path, f"it is no XML: {error}", "invalid-xml") from None
    except DefusedXmlException:
        raise _graphml_fault(path, "it has a document type, which can hide entities") from None
    except (LookupError, ValueError):
        raise _graphml_fault(path, "its encoding is not read", "invalid-xml") from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror}", subject=str(path)) from None
    if not reader.nodes:
        raise DocumentError("the file has no nodes", subject=str(path), remedy="Give a GraphML file", reason="empty")
    nodes: list[NodeTable] = []
    for type_ in sorted({node.type for node in reader.nodes.values()}):
        members = {id_: node.values for id_, node in reader.nodes.items() if node.type == type_}
        names, key = _names(members.values()), "id"
        while key in {name.casefold() for name in names}:
            key = f"node_{key}"
        columns: tuple[tuple[str, ColumnType], ...] = (
            (key, "string"),
            *((name, reader.types["node", name]) for name in names),
        )
        rows = [(id_, *map(values.get, names)) for id_, values in members.items()]
        nodes.append(NodeTable(type=type_, columns=columns, key=key, rows=rows, source=str(path)))
    relationships: list[RelationshipTable] = []
    for type_ in sorted({edge.type for edge in reader.edges}):
        edges = [edge for edge in reader.edges if edge.type == type_]
        names = _names(edge.values for edge in edges)
        by_ends: dict[tuple[str, str], list[tuple[object, ...]]] = {}
        for edge in edges:
            source, target = (reader.nodes[end].type for end in edge.ends)
            by_ends.setdefault((source, target), []).append((*edge.ends, *map(edge.values.get, names)))
        columns = tuple((name, reader.types["edge", name]) for name in names)
        undirected = not any(edge.is_directed for edge in edges)
        for (source, target), rows in sorted(by_ends.items()):
            parts: dict[str, Any] = {"columns": columns, "rows": rows, "source": str(path), "undirected": undirected}
            relationships.append(RelationshipTable(type=type_, source_type=source, target_type=target, **parts))
    return nodes, relationships


def _names(members: Iterable[Mapping[str, object]]) -> list[str]:
    return sorted({name for values in members for name in values})


class _GraphmlReader:
    """Reads a file into nodes, by id, and edges.

    :ivar types: ``node`` or ``edge`` and the name of an attribute → the type of its values.
    """

    def __init__(self, path: Path) -> None:
        self.nodes: dict[str, _Element] = {}
        self.edges: list[_Element] = []
        self.types: dict[tuple[str, str], ColumnType] = {}
        self._path = path
        self._keys: dict[str, _Key] = {}

    def read(self) -> None:
        graphs: list[str] = []  # the directions of edges in the graphs that are open
        for event, element in iterparse(self._path, ("start", "end"), forbid_dtd=True):
            tag = element.tag.rpartition("}")[2]
            if tag == "hyperedge":
                raise self._fault("hyperedges are not read")
            if tag == "graph" and event == "start":
                graphs.append(element.get("edgedefault", "directed"))
                if len(graphs) > 1:
                    raise self._fault("graphs in nodes are not read")
            elif tag == "graph":
                graphs.pop()
            elif tag == "key" and event == "end":
                self._declare(element)
            elif tag in ("node", "edge") and event == "end":
                self._add(tag, element, graphs[-1] if graphs else "directed")
                element.clear()
        for edge in self.edges:
            for end in edge.ends:
                if end not in self.nodes:
                    raise self._fault(f"edge {' → '.join(edge.ends)[:120]}: no node has the id {end[:60]}")

    def _declare(self, element: Element) -> None:
        given = element.get("attr.type", "string")
        kind = _FILE_TYPES.get(given)
        if kind is None or kind == "date":
            raise self._fault(f"{given[:40]!r} is no type of GraphML")
        of = element.get("for", "all")
        default = element.find("{*}default")
        key = _Key(
            name=element.get("attr.name", element.get("id", "")),
            type=kind,
            of=("node", "edge") if of == "all" else (of,),
            default=None if default is None else default.text or "",
        )
        self._keys[element.get("id", "")] = key
        for each in key.of:
            self._set_type(each, key.name, kind)

    def _set_type(self, of: str, name: str, kind: ColumnType) -> None:
        if self.types.setdefault((of, name), kind) != kind:
            raise self._fault(f"the attribute {name[:40]} has two types")

    def _add(self, tag: str, element: Element, directed: str) -> None:
        ends = (element.get("source", ""), element.get("target", ""))
        id_ = element.get("id", "")
        shown = f"{tag} {(id_ or ' → '.join(ends))[:120]}"
        if not (id_ if tag == "node" else all(ends)):
            raise self._fault(f"a {tag} has no {'id' if tag == 'node' else 'source or target'}")
        values: dict[str, object] = {name: element.attrib[name] for name in _TYPE_NAMES if name in element.attrib}
        for name in values:
            self._set_type(tag, name, "string")
        texts = [(data.get("key", ""), "".join(data.itertext())) for data in element.iterfind("{*}data")]
        defaults = [(id_, key.default) for id_, key in self._keys.items() if key.default is not None and tag in key.of]
        for key_id, text in (*defaults, *texts):
            key = self._keys.get(key_id)
            if key is None or tag not in key.of:
                raise self._fault(f"{shown}: no key of a {tag} is called {key_id[:40]!r}")
            try:
                values[key.name] = _read_cell(text if key.type == "string" else text.strip(), key.type)
            except ValueError:
                problem = f"{text[:40]!r} in the attribute {key.name[:40]} is no {key.type}"
                raise self._fault(f"{shown}: {problem}") from None
        type_ = "Node" if tag == "node" else "RELATED"
        for name in _TYPE_NAMES:  # the type is then none of the properties; of several labels ``:A:B`` it is the first
            value = values.get(name)
            if isinstance(value, str) and value.strip(": "):
                type_ = str(values.pop(name)).strip(": ").split(":")[0]
                break
        is_directed = element.get("directed", directed) not in ("undirected", "false", "0")
        read = _Element(type_, ends, is_directed, values)
        if tag == "edge":
            self.edges.append(read)
        elif id_ in self.nodes:
            raise self._fault(f"two nodes have the id {id_[:60]}")
        else:
            self.nodes[id_] = read

    def _fault(self, problem: str) -> DocumentError:
        return _graphml_fault(self._path, problem)


def _graphml_fault(path: Path, problem: str, reason: RejectionReason = "unreadable") -> DocumentError:
    return DocumentError(problem, subject=str(path), remedy="Correct the file and load again", reason=reason)
