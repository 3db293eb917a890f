"""A Ladybug database file that is only read: each query runs in a process that opened the file so that it cannot write.

A process serves one query at a time. Concurrent queries get processes of their own; one that ends is replaced at the next call.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ingest.stores.ladybug_connection import check_ladybug
from ontology.errors import StatementError, StorageError
from planners.stores.engine import EngineEndedError, EngineProcess
from planners.stores.graph_schema import (
    UNDIRECTED,
    CypherDialect,
    GraphSchema,
    NodeType,
    PropertyKey,
    PropertyType,
    RelationshipType,
    RowStream,
    TypeMark,
    graph_census,
    marked_ends,
    marked_nodes,
    read_rows_of,
)
from planners.stores.property_graph import QueryLimits, Value
from planners.stores.statements import quoted_text

__all__ = ["LadybugReader", "open_ladybug_reader", "with_whole_numbers"]

V = TypeVar("V")
_Stamp: TypeAlias = tuple[int, int, int, int]
_LIMITS = QueryLimits()
_PROCESSES = 4
"""At once: as many as the agent runs invocations at the same time; each takes at most 1 GiB of buffers."""
_BATCH_ROWS = 1_000
_SIZES = {"buffer_bytes": 1 << 30, "database_bytes": 1 << 36}
"""Memory of pages at most, taken as it is used; address space of a database, as it is for those that ingestion writes: its default is 8 TiB."""
_OWN_S = 60.0
"""Seconds for a request that runs no query of a caller; a batch takes under a second."""
_GRACE_S = 3.0
"""Seconds that a query may go on after its limit, until the process is ended: the engine looks at its clock between operators."""
_PARAMETER = re.compile(
    r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | //[^\n]* | /\*.*?\*/ | \$(?P<name>\w+)""",
    re.DOTALL | re.VERBOSE,
)
"""A parameter; or what may have a dollar inside and is none: texts, quoted names, comments."""
_TYPES: Sequence[tuple[str, PropertyType]] = (
    (r".*\]", "list"),
    (r"U?INT\d+|SERIAL", "integer"),
    (r"DOUBLE|FLOAT|DECIMAL.*", "number"),
    (r"DATE|TIMESTAMP.*", "date"),
    (r"STRING|UUID", "string"),
    (r"BOOL", "boolean"),
)
"""Patterns of the names of Ladybug's types; others (maps, blobs) have no operator."""


def with_whole_numbers(text: str, parameters: Mapping[str, V]) -> tuple[str, dict[str, V]]:
    """Return a statement with its whole numbers in it, and the other parameters.

    Ladybug 0.22 skips parts of a table whose range a condition rules out, but only where the condition compares with a number that stands
    in the statement: with a parameter it reads the whole table, three times as long on 42,000 nodes. A whole number that is not negative is
    digits alone. All other values stay bound.
    """
    numbers = {name: str(value) for name, value in parameters.items() if type(value) is int and value in range(2**63)}
    written = _PARAMETER.sub(lambda found: numbers.get(found["name"] or "", found[0]), text) if numbers else text
    return written, {name: value for name, value in parameters.items() if name not in numbers}


@contextlib.asynccontextmanager
async def open_ladybug_reader(path: Path) -> AsyncIterator[LadybugReader]:
    """Open a file, and end its processes at the end.

    :raises MissingExtraError: when the package ``ladybug`` is not installed.
    :raises StorageError: when the file is no database that can be read.
    """
    check_ladybug("graphs in Ladybug files")
    reader = LadybugReader(path)
    try:
        await reader.open()
        yield reader
    finally:
        await reader.close()


class LadybugReader:
    """A graph in a file. :func:`open_ladybug_reader` opens it. Another file that takes the place of this one is seen at the next call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._slots = asyncio.Semaphore(_PROCESSES)
        self._idle: list[EngineProcess] = []
        self._stamp: _Stamp | None = None
        self._schema: tuple[_Stamp, GraphSchema] | None = None

    @property
    def dialect(self) -> CypherDialect:
        """That of Ladybug."""
        return "ladybug"

    async def open(self) -> None:
        """Start a process.

        :raises StorageError: when the file is no database that can be read.
        """
        process = await self._take()  # which may replace the list
        self._idle.append(process)

    async def close(self) -> None:
        """End the processes."""
        idle, self._idle = self._idle, []
        for process in idle:
            await process.end()

    async def schema(self) -> GraphSchema:
        """Return the types; they are read anew when the file has changed."""
        stamp = self._file_stamp()
        if self._schema is None or self._schema[0] != stamp:
            self._schema = stamp, await _schema(self)
        return self._schema[1]

    async def census(self) -> GraphSchema:
        """Return the types with what was counted."""
        return await graph_census(self, await self.schema())

    @contextlib.asynccontextmanager
    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = _LIMITS
    ) -> AsyncIterator[RowStream]:
        """Run a query. At most four are open at once; more wait. A call that is cancelled ends its process, and with it the query."""
        written, bound = with_whole_numbers(text, parameters or {})
        request = {"do": "query", "text": written, "parameters": bound, "most": limits.rows, "batch": _BATCH_ROWS}
        async with self._slots:
            process = await self._take()
            part: dict[str, Any] = {"next": True}
            try:
                part = await self._ask(process, {**request, "seconds": limits.seconds}, limits.seconds)

                async def batches(stream: RowStream) -> AsyncIterator[Sequence[tuple[object, ...]]]:
                    nonlocal part
                    while True:
                        if part["rows"]:
                            yield [tuple(row) for row in part["rows"]]
                        if not part["next"]:
                            stream.cut = bool(part["cut"])
                            return
                        part = await self._ask(process, {"do": "next"}, _OWN_S)

                yield RowStream(tuple(part["columns"]), batches)
            finally:
                await self._give_back(process, is_read=not part["next"])

    async def _take(self) -> EngineProcess:
        """Return a process that has the file open as it is now."""
        stamp = self._file_stamp()
        if stamp != self._stamp:
            await self.close()
            self._stamp = stamp
        while self._idle:
            process = self._idle.pop()
            if not process.has_ended:
                return process
        try:
            process = await EngineProcess.start("ladybug")
            await self._ask(process, {"do": "open", "path": str(self._path), **_SIZES}, _OWN_S)
        except (StatementError, StorageError, EngineEndedError) as error:
            problem = error.problem if isinstance(error, StatementError | StorageError) else "the engine has ended"
            remedy = "Check that it is a file that Ladybug 0.22 wrote, complete and readable; else build it again"
            if "lock" in problem.lower():
                problem = "another process holds the database open for writing"
                remedy = "End that process, or read a copy of the file"
            raise StorageError(problem, subject=str(self._path), remedy=remedy) from None
        return process

    async def _give_back(self, process: EngineProcess, *, is_read: bool) -> None:
        """Keep a process for the next query.

        :param is_read: whether it has given all rows, so that no query is open in it.
        """
        if process.has_ended:
            return
        with contextlib.suppress(StatementError, StorageError):  # it has ended: the next call starts another
            if self._file_stamp() == self._stamp:
                if not is_read:
                    await self._ask(process, {"do": "stop"}, _OWN_S)
                self._idle.append(process)
                return
        await process.end()

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

    def _file_stamp(self) -> _Stamp:
        with contextlib.suppress(OSError):
            found = self._path.stat()
            if found.st_size:  # Ladybug takes an empty file for an empty graph
                return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
        raise StorageError(
            "there is no such file, it is empty, or it cannot be read",
            subject=str(self._path),
            remedy="Check the path and its permissions, or build the graph again",
        )


async def _schema(graph: LadybugReader) -> GraphSchema:
    """Read the types: tables, and the types that a property tells apart in one table."""
    nodes: list[NodeType] = []
    relationships: list[RelationshipType] = []
    tables = await read_rows_of(graph, "CALL show_tables() RETURN name, type, comment")
    for name, kind, comment in sorted(tables, key=lambda row: (row[1] != "NODE", row[0])):
        info = f"CALL table_info({quoted_text(name)}) RETURN name, type"
        if kind == "NODE":
            columns = await read_rows_of(graph, f"{info}, `primary key`")
            key = next(column for column, _, is_key in columns if is_key)
            node = NodeType(name=name, mark=TypeMark(label=name), key=key, properties=_properties(columns))
            nodes += await marked_nodes(graph, node)
        elif kind == "REL":
            ends = "RETURN `source table name`, `destination table name`"
            pairs = await read_rows_of(graph, f"CALL show_connection({quoted_text(name)}) {ends}")
            marked = await marked_ends(graph, name, [(source, target) for source, target in pairs], nodes)
            properties = _properties(await read_rows_of(graph, info))
            undirected = comment == UNDIRECTED
            relationships.append(RelationshipType(name=name, ends=marked, properties=properties, undirected=undirected))
    return GraphSchema(nodes=tuple(sorted(nodes, key=lambda node: node.name)), relationships=tuple(relationships))


def _properties(columns: list[list[str]]) -> tuple[PropertyKey, ...]:
    typed = sorted((name, kind) for name, kind, *_ in columns)
    found = [(name, next((type_ for text, type_ in _TYPES if re.fullmatch(text, kind)), None)) for name, kind in typed]
    return tuple(PropertyKey(name=name, type=type_) for name, type_ in found if type_ is not None)
