"""Graphs in Ladybug files: built from tables and CSV folders, and only read, in processes that opened the file so that they cannot write.

A new file is built aside by COPY, made durable, and only then put in the place of an older one. What is wrong with a row, Ladybug says, with
its line. A folder of CSV files has headers close to those of Neo4j's import::

    nodes_Person.csv               key:ID,name,age:int,born:date
    relationships_KNOWS.csv        :START_ID(Person),:END_ID(Person),since:int
    relationships_KNOWS.2.csv      :START_ID(Person),:END_ID(Company),since:int

The type stands in the name of the file, a further pair of ends in one with a number. ``:ID`` marks the key; ``:ID(int)`` has integers.
A type after a colon is one of string (the default), int, long, float, double, boolean, date. An empty cell is no value.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import hashlib
import importlib.util
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

from ontology.errors import DocumentError, MissingExtraError, StatementError, StorageError
from planners.stores import graph_schema as schemas
from planners.stores.engine import EngineEndedError, EngineProcess
from planners.stores.graph_schema import CypherDialect, GraphSchema, read_rows_of
from planners.stores.property_graph import QueryLimits, QueryRows, Value
from planners.stores.statements import quoted_name, quoted_text

_LIMITS = QueryLimits()
_PROCESSES = 4  # at once: as many as the agent runs invocations at the same time; each takes at most 1 GiB of buffers
_BUFFER_BYTES = 1 << 30  # memory of pages at most, taken as it is used: the default is most of the memory there is
# Address space of a database, a power of two: the default, 8 TiB, containers with a limit of address space refuse
_DATABASE_BYTES = 1 << 36
_OWN_S = 60.0  # seconds for a request that runs no query of a caller; a part of an answer takes under a second
# Seconds that a query may go on after its limit, until its process is ended: the engine looks at its clock now and then
_GRACE_S = 3.0
# Patterns of the names of Ladybug's types; others (maps, blobs) have no operator
_TYPES: Sequence[tuple[str, schemas.PropertyType]] = (
    (r".*\]", "list"),
    (r"U?INT\d+|SERIAL", "integer"),
    (r"DOUBLE|FLOAT|DECIMAL.*", "number"),
    (r"DATE|TIMESTAMP.*", "date"),
    (r"STRING|UUID", "string"),
    (r"BOOL", "boolean"),
)


def check_ladybug(feature: str) -> None:
    """Check that the package is there; raises MissingExtraError when it is not."""
    if importlib.util.find_spec("ladybug") is None:
        raise MissingExtraError(feature, extra="ladybug")


@contextlib.asynccontextmanager
async def open_ladybug_reader(path: Path) -> AsyncIterator[LadybugReader]:
    """Open a file, and end its processes at the end.

    :raises MissingExtraError: when the package ``ladybug`` is not installed.
    :raises StorageError: when the file is no database that can be read.
    """
    check_ladybug("graphs in Ladybug files")
    if not (path.is_file() and path.stat().st_size):  # Ladybug takes an empty file for an empty graph
        problem = "there is no such file, it is empty, or it cannot be read"
        remedy = "Check the path and its permissions, or build the graph again"
        raise StorageError(problem, subject=str(path), remedy=remedy)
    reader = LadybugReader(path)
    try:
        await reader.open()
        yield reader
    finally:
        await reader.close()


class LadybugReader:
    """A graph in a file. :func:`open_ladybug_reader` opens it."""

    dialect: CypherDialect = "ladybug"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._slots = asyncio.Semaphore(_PROCESSES)
        self._idle: list[EngineProcess] = []
        self._schema: GraphSchema | None = None

    async def open(self) -> None:
        """Start a process; raises StorageError when the file is no database that can be read."""
        self._idle.append(await self._take())

    async def close(self) -> None:
        """End the processes."""
        idle, self._idle = self._idle, []
        for process in idle:
            await process.end()

    async def schema(self) -> GraphSchema:
        """Return the types."""
        self._schema = self._schema or await _schema(self)
        return self._schema

    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Run a query. At most four are open at once; more wait."""
        asked = {"do": "query", "text": text, "parameters": dict(parameters or {})}
        request = {**asked, "most": limits.rows, "seconds": limits.seconds}
        async with self._slots:
            process = await self._take()
            try:
                part = await self._ask(process, request, limits.seconds)
                rows = list(map(tuple, part["rows"]))
                while part["next"]:
                    part = await self._ask(process, {"do": "next"}, _OWN_S)
                    rows += map(tuple, part["rows"])
            except StorageError:
                await process.end()
                raise
            finally:
                self._idle.append(process)
        return QueryRows(columns=tuple(part["columns"]), rows=tuple(rows), cut=part["cut"])

    async def _take(self) -> EngineProcess:
        """Return a process that has the file open."""
        while self._idle:
            process = self._idle.pop()
            if not process.has_ended:
                return process
        sizes = {"buffer_bytes": _BUFFER_BYTES, "database_bytes": _DATABASE_BYTES}
        process = await EngineProcess.start()
        try:
            await self._ask(process, {"do": "open", "path": str(self._path), **sizes}, _OWN_S)
        except (StatementError, StorageError) as error:
            await process.end()
            problem = error.problem
            remedy = "Check that it is a complete file that Ladybug 0.22 wrote, or build it again"
            if "lock" in problem.lower():
                problem = "another process holds the database open for writing"
                remedy = "End that process, or read a copy of the file"
            raise StorageError(problem, subject=str(self._path), remedy=remedy) from None
        return process

    async def _ask(self, process: EngineProcess, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        late = f"it takes longer than {seconds:g} s"
        try:
            answer = await process.ask(request, seconds + _GRACE_S)
        except EngineEndedError as error:
            how = f"by {error.signal_name}" if error.signal_name else "or sent more than is allowed"
            problem = f"the engine Ladybug has ended while it ran this, {how}"
            remedy = "Ask again, it starts anew; if it ends at this query once more, ask for less"
            raise StorageError(problem, subject=str(self._path), remedy=remedy) from None
        except TimeoutError:
            answer = {"fault": late}
        text = str(answer.get("fault", ""))
        if answer.get("of") == "OSError" or text.startswith("IO exception") or "No space left" in text:
            problem = f"the Ladybug database cannot be used: {text}".rstrip(".")
            remedy = (
                "Check that the file can be read, that its disk has room, and that no process has it open for writing"
            )
            raise StorageError(problem, subject=str(self._path), remedy=remedy)
        if text:
            said = late if "Interrupted" in text else text.rstrip(". \n")
            raise StatementError(said, subject="Cypher", remedy="Correct the query")
        return answer


async def _schema(graph: LadybugReader) -> GraphSchema:
    """Read the types, which are tables."""
    nodes: list[schemas.NodeType] = []
    relationships: list[schemas.RelationshipType] = []
    tables = await read_rows_of(graph, "CALL show_tables() RETURN name, type")
    for name, kind in sorted(tables, key=lambda row: (row[1] != "NODE", row[0])):
        info = f"CALL table_info({quoted_text(name)}) RETURN name, type"
        if kind == "NODE":
            columns = await read_rows_of(graph, f"{info}, `primary key`")
            key = next(column for column, _, is_key in columns if is_key)
            nodes.append(schemas.NodeType(name=name, key=key, properties=_properties(columns)))
        elif kind == "REL":
            ends = "RETURN `source table name`, `destination table name`"
            pairs = await read_rows_of(graph, f"CALL show_connection({quoted_text(name)}) {ends}")
            joined = tuple(schemas.RelationshipEnds(source=one, target=two) for one, two in sorted(pairs, key=tuple))
            properties = _properties(await read_rows_of(graph, info))
            relationships.append(schemas.RelationshipType(name=name, ends=joined, properties=properties))
    return GraphSchema(nodes=tuple(sorted(nodes, key=lambda node: node.name)), relationships=tuple(relationships))


def _properties(columns: Sequence[Sequence[str]]) -> tuple[schemas.PropertyKey, ...]:
    typed = sorted((name, kind) for name, kind, *_ in columns)
    found = [(name, next((type_ for text, type_ in _TYPES if re.fullmatch(text, kind)), None)) for name, kind in typed]
    return tuple(schemas.PropertyKey(name=name, type=type_) for name, type_ in found if type_ is not None)


# --- Building files -----------------------------------------------------------------------------------------------------------------

# Of the values of a column; None is no value, and a date is a date or text like 2021-03-14. There are no lists:
# Ladybug's COPY has no way to write a comma in a member.
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]
_LAYOUT = "4"  # of loaded files: part of their names; it changes with what this module makes of the same bytes
_ENGINE_TYPES = {"string": "STRING", "integer": "INT64", "number": "DOUBLE", "boolean": "BOOL", "date": "DATE"}
_FILE_TYPES: Mapping[str, ColumnType] = {
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "number"), "number"),
    **{"string": "string", "boolean": "boolean", "date": "date"},
}
# Not parallel: Ladybug then takes a line break in a value for the end of its row
_COPY = """auto_detect=false, header={header}, parallel=false, delim=',', quote='"', escape='"'"""
_LOADING: dict[str, Lock] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTable:
    """The nodes of one type."""

    type: str
    columns: tuple[tuple[str, ColumnType], ...]  # names and types of the properties
    key: str  # the column that identifies a node, a string or an integer
    # values in the order of the columns; ``file``: a CSV file with them, and a header, in their place
    rows: Iterable[Sequence[object]] = ()
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipTable:
    """Relationships of one type between two types of nodes. Tables of one type have the same columns."""

    type: str
    source_type: str
    target_type: str
    columns: tuple[tuple[str, ColumnType], ...] = ()
    # key of the source, key of the target, values in the order of the columns; ``file``: a CSV file with them, and a
    # header
    rows: Iterable[Sequence[object]] = ()
    file: Path | None = None


_Table: TypeAlias = NodeTable | RelationshipTable


def loaded_folder(source: Path, cache: Path) -> Path:
    """Return the Ladybug file that a folder of CSV files was loaded into: once for each content. Raises DocumentError
    when a file to be loaded is at fault, StorageError when it cannot be read or loaded."""
    if not source.is_dir():
        raise StorageError("there is no such folder", subject=str(source), remedy="Check the path")
    digest = hashlib.sha256(f"csv {_LAYOUT}".encode())
    for path in sorted(source.glob("*.csv")):
        if not path.is_file():  # reading a pipe would wait for ever
            raise StorageError("this is no regular file", subject=str(path), remedy="Remove it, or give another folder")
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problem = f"the file cannot be read: {error.strerror}"
            raise StorageError(problem, subject=str(path), remedy="Check its permissions") from None
        digest.update(f"\n{path.name}\n{content}".encode())
    return load_once(cache / f"{digest.hexdigest()}.lbdb", lambda: csv_tables(source))


def load_once(path: Path, tables: Callable[[], tuple[Iterable[NodeTable], Iterable[RelationshipTable]]]) -> Path:
    """Load tables into a file that is not there yet, once, also where several threads ask for it; errors are those of :func:`load_graph`."""
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
    by_type = defaultdict[str, list[RelationshipTable]](list)
    for each in relationships:
        by_type[each.type].append(each)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            aside = Path(folder) / path.name
            _build(aside, list(nodes), by_type.values())
            aside.chmod(0o600)
            with aside.open("rb+") as file:
                os.fsync(file.fileno())
            aside.replace(path)
    except (OSError, RuntimeError) as error:
        problem = f"the Ladybug database cannot be written: {str(error).strip().rstrip('.')}"
        remedy = "Check that its folder is writable and has room"
        raise StorageError(problem, subject=str(path), remedy=remedy) from None


def _build(path: Path, nodes: Sequence[NodeTable], relationships: Iterable[Sequence[RelationshipTable]]) -> None:
    import ladybug

    known = {node.type for node in nodes}
    with (
        ladybug.Database(str(path), buffer_pool_size=_BUFFER_BYTES, max_db_size=_DATABASE_BYTES) as database,
        ladybug.Connection(database) as connection,
    ):
        for node in nodes:
            columns = [*_column_texts(node), f"PRIMARY KEY ({quoted_name(node.key)})"]
            with _engine_errors(node, path):
                connection.execute(f"CREATE NODE TABLE {quoted_name(node.type)} ({', '.join(columns)})")
                _copy(connection, [node], path, "")
        for first, *rest in relationships:
            by_ends = defaultdict[tuple[str, str], list[RelationshipTable]](list)
            for each in (first, *rest):
                if unknown := [end for end in (each.source_type, each.target_type) if end not in known]:
                    raise _fault(_source(each), f"there are no nodes of type {unknown[0]}", "dangling-type")
                if each.columns != first.columns:
                    raise _fault(_source(each), "tables of one type have different columns", "wrong-columns")
                by_ends[each.source_type, each.target_type].append(each)
            pairs = [f"FROM {quoted_name(source)} TO {quoted_name(target)}" for source, target in by_ends]
            columns = [*pairs, *_column_texts(first)]
            with _engine_errors(first, path):
                connection.execute(f"CREATE REL TABLE {quoted_name(first.type)} ({', '.join(columns)})")
            for (source, target), given in by_ends.items():
                with _engine_errors(given[0], path):
                    _copy(connection, given, path, f"from={quoted_text(source)}, to={quoted_text(target)}, ")
        connection.execute("CHECKPOINT")


def _column_texts(table: _Table) -> list[str]:
    return [f"{quoted_name(name)} {_ENGINE_TYPES[type_]}" for name, type_ in table.columns]


def _copy(connection: Any, tables: Sequence[_Table], database: Path, ends: str) -> None:
    """Fill a table of the engine by one COPY: a second one into the same made it crash. Files of a user are read over a
    link, since COPY takes ``*`` and ``[`` in a path for patterns."""
    files: list[Path] = []
    for table in tables:
        file = database.with_name(f"{len(files)}.csv")
        if table.file is not None:
            file.symlink_to(table.file.resolve())
            files.append(file)
            continue
        with file.open("w", encoding="utf-8", errors="replace", newline="") as rows:
            rows.writelines(",".join(map(_cell, row)) + "\n" for row in table.rows)
        files += [file] if file.stat().st_size else []
    options = _COPY.format(header="false" if tables[0].file is None else "true")
    if files:
        listed = ", ".join(quoted_text(str(file)) for file in files)
        connection.execute(f"COPY {quoted_name(tables[0].type)} FROM [{listed}] ({ends}{options})").close()
    for file in files:
        file.unlink()


def _cell(value: object) -> str:
    """A value in the CSV that Ladybug copies: text in quotes, and nothing at all for no value."""
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else str(value)
    return '"' + str(value).replace('"', '""') + '"'


def _source(table: _Table) -> str:
    return f"table {table.type}" if table.file is None else str(table.file)


def _fault(subject: str, problem: str, reason: str = "unreadable", remedy: str = "") -> DocumentError:
    remedy = remedy or "Correct it and load again; nothing was replaced"
    return DocumentError(problem, subject=subject, remedy=remedy, reason=reason)


@contextlib.contextmanager
def _engine_errors(table: _Table, database: Path) -> Iterator[None]:
    """Turn what Ladybug 0.22 says of a table into an error of the document."""
    try:
        yield
    except UnicodeDecodeError:
        raise _fault(_source(table), "it is not UTF-8", "not-utf8") from None
    except RuntimeError as error:
        kind, _, told = str(error).partition("exception: ")
        if kind.strip() not in ("Binder", "Catalog", "Parser", "Runtime", "Conversion", "Copy", "Buffer manager"):
            raise
        where = re.match(rf"Error in file {re.escape(str(database.parent))}\S* on line (\d+): ", told)
        told = told[where.end() if where else 0 :].split("Line/record containing")[0].replace("\n", " ").strip(". ")
        told = told.removeprefix("Conversion exception: ")
        if kind.strip() == "Copy":
            raise _fault(_source(table) + (f":{where[1]}" if where else ""), told) from None
        remedy = (
            "Names must not be empty, nor differ in case only, nor begin with an underscore; columns of relationships cannot be called"
            " from or to; there cannot be thousands of columns"
        )
        problem = f"the table {table.type} cannot be loaded: {told}"
        raise _fault(_source(table), problem, "no-name", remedy) from None


# --- CSV ------------------------------------------------------------------------------------------------------------------------------

_FILE = re.compile(r"(nodes|relationships)_(.+?)(?:\.\d+)?\.csv")
_HEADER = re.compile(r"(?P<name>[^:]*)(?::(?P<word>ID|START_ID|END_ID)(?:\((?P<inner>[^)]*)\))?|:(?P<type>\w*))?")


class _Column(NamedTuple):
    """A column of a header: ``word`` is ``ID``, ``START_ID``, ``END_ID`` or empty, ``inner`` what stands in brackets after it."""

    name: str
    word: str
    inner: str
    type: ColumnType


def csv_tables(folder: Path) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return the tables of a folder; raises DocumentError when there is no file of nodes, or a header is at fault."""
    nodes: list[NodeTable] = []
    relationships: list[RelationshipTable] = []
    for path in sorted(folder.glob("*.csv")):
        named = _FILE.fullmatch(path.name)
        if named is None:
            remedy = "Call it nodes_TYPE.csv or relationships_TYPE.csv"
            raise _fault(str(path), "the name says neither nodes nor relationships", remedy=remedy)
        columns = _header(path)
        if named[1] == "nodes":
            keys = [column.name for column in columns if column.word == "ID"]
            if len(keys) != 1 or not all(column.name for column in columns):
                problem = "exactly one column must be the key, and each needs a name"
                raise _fault(f"{path}:1", problem, "wrong-columns", "Write key:ID,name,age:int")
            typed = tuple((each.name, each.type) for each in columns)
            nodes.append(NodeTable(type=named[2], key=keys[0], columns=typed, file=path))
            continue
        ends, rest = columns[:2], columns[2:]
        is_whole = [end.word for end in ends] == ["START_ID", "END_ID"] and all(end.inner for end in ends)
        if not is_whole or not all(column.name for column in rest):
            problem = "the first columns must be the ends, with types of nodes"
            raise _fault(f"{path}:1", problem, "wrong-columns", "Write :START_ID(Person),:END_ID(Person),since:int")
        types: Any = {"type": named[2], "source_type": ends[0].inner, "target_type": ends[1].inner}
        typed = tuple((each.name, each.type) for each in rest)
        relationships.append(RelationshipTable(**types, columns=typed, file=path))
    if not nodes:
        raise _fault(str(folder), "the folder has no file of nodes", "empty", "Put nodes_TYPE.csv there")
    return nodes, relationships


def _header(path: Path) -> list[_Column]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = next(csv.reader(file, strict=True), [])
    except UnicodeDecodeError as error:
        raise _fault(str(path), f"it is not UTF-8: {error.reason}", "not-utf8") from None
    except csv.Error as error:
        raise _fault(f"{path}:1", f"it is no CSV: {error}", "invalid-csv") from None
    except OSError as error:
        raise _fault(str(path), f"it cannot be read: {error.strerror}") from None
    columns = []
    for cell in cells:
        read = _HEADER.fullmatch(cell.strip())
        kind = _FILE_TYPES.get((read["type"] or "string").lower()) if read else None
        if read is None or kind is None:
            problem, remedy = f"{cell[:40]!r} is no column", f"Types are {', '.join(_FILE_TYPES)}"
            raise _fault(f"{path}:1", problem, "wrong-columns", remedy)
        if read["word"] == "ID" and read["inner"] in ("int", "long", "integer"):
            kind = "integer"
        columns.append(_Column(read["name"].strip(), read["word"] or "", read["inner"] or "", kind))
    if not columns:
        raise _fault(f"{path}:1", "the file has no header", "wrong-columns", "Write key:ID,name,age:int")
    return columns
