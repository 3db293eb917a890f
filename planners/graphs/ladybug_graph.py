"""The store Ladybug: an embedded database with Cypher, in memory or in one file.

Typed operations are planned on rows kept here and written as their difference; after a statement all rows are read anew. So
the rows are what the database holds: no other process can open its file.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ingest.stores.ladybug_connection import check_ladybug, open_ladybug
from ontology.errors import EgotoolsError, StatementError, StorageError
from planners.graphs.cypher_allow_list import AllowedCypher, allowed_cypher
from planners.graphs.cypher_needs import CypherNames, cypher_names
from planners.graphs.exact_values import exact_rows
from planners.graphs.graph_state import state_of_rows
from planners.graphs.ladybug_results import ladybug_results
from planners.graphs.ladybug_rows import PropertyNames, changed_rows, read_rows, values_of
from planners.graphs.ladybug_statement import column_titles, ladybug_statement
from planners.graphs.ladybug_tables import LadybugTables, Needs
from planners.graphs.operation_needs import operation_needs
from planners.graphs.property_graph import (
    GraphState,
    Language,
    Operation,
    QueryLimits,
    QueryRows,
    ReplaceGraph,
    Statement,
    Value,
)
from planners.graphs.property_rows import MAX_EDGES, MAX_NODES, PropertyRows, apply_typed
from planners.graphs.property_values import checked_properties
from planners.graphs.statement_effect import check_effect

__all__ = ["LadybugGraph"]

_LIMITS = QueryLimits()
_BUFFER_BYTES = 1 << 30
"""Memory of pages at most: 1 GiB, taken as it is used. A type of edges takes 9 MiB, and there are 100 at most; a query that takes
more stops here."""
_DATABASE_BYTES = 1 << 34
"""Address space of one graph: 16 GiB, so that hundreds fit into one process."""
_WRITE_S = 20.0
_RESULT = TypeVar("_RESULT")


class LadybugGraph:
    """A graph in a database of its own; close it at the end.

    Queries see the properties of a graph in columns of one type each (``ladybug_tables``), and paths as Neo4j has them
    (``ladybug_statement``).

    :param path: file of the database; None: it stands in memory.
    :raises MissingExtraError: when the package is not installed.
    :raises StorageError: when the file cannot be opened.
    """

    def __init__(self, path: Path | None = None) -> None:
        check_ladybug("the graph store Ladybug")
        self._path = path
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ladybug")
        with self._errors():
            self._database, self._connection = open_ladybug(
                path, buffer_bytes=_BUFFER_BYTES, database_bytes=_DATABASE_BYTES, threads=1
            )
            self._tables = LadybugTables(self._connection)
            self._rows = read_rows(self._connection, self._tables)
            self._settle()

    @property
    def language(self) -> Language:
        """Cypher."""
        return "cypher"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails."""
        await self._call(lambda: self._apply(operations))

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Read in Cypher, in a transaction that cannot write."""
        return await self._call(lambda: self._query(text, parameters or {}, limits))

    async def state(self) -> GraphState:
        """Return the whole graph."""
        return state_of_rows(self._rows)

    async def close(self) -> None:
        """Close the database; what stood in memory is gone."""
        await self._call(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        self._connection.close()
        self._database.close()

    async def _call(self, work: Callable[[], _RESULT]) -> _RESULT:
        """Run work on the thread of the database; where its caller is cancelled, the engine is interrupted."""
        async with self._lock:
            future = asyncio.get_running_loop().run_in_executor(self._thread, work)
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                self._connection.interrupt()
                with contextlib.suppress(Exception):
                    await future
                raise

    def _apply(self, operations: Sequence[Operation]) -> None:
        with self._errors():
            allowed = {
                at: allowed_cypher(operation.text, write=True)
                for at, operation in enumerate(operations)
                if isinstance(operation, Statement)
            }
            self._prepare(operations, allowed)
            with self._transaction("BEGIN TRANSACTION"):
                written, rows = self._rows, self._rows.copy()
                for at, operation in enumerate(operations):
                    if isinstance(operation, Statement):
                        self._write(written, rows)
                        written = self._run(allowed[at], operation.parameters, rows)
                        rows = written.copy()
                    else:
                        apply_typed(rows, operation)
                self._write(written, rows)
            self._rows = rows

    def _prepare(self, operations: Sequence[Operation], allowed: Mapping[int, AllowedCypher]) -> None:
        """Make the tables and columns that operations name, and move values to wider columns."""
        needs = Needs()
        for at, operation in enumerate(operations):
            if isinstance(operation, Statement):
                parameters = checked_properties(operation.parameters)
                found = cypher_names(allowed[at].tokens, parameters, self._tables).needs
            else:
                found = operation_needs(operation)
            needs.add(found)
        self._ensure(needs)

    def _ensure(self, needs: Needs) -> None:
        moved = self._tables.ensure(needs, values_of(self._rows))
        if moved:
            with self._transaction("BEGIN TRANSACTION"):
                self._write(self._rows, self._rows, moved)

    def _settle(self) -> None:
        """Move values of an opened file to the columns that hold them now: a process that was killed may have left some behind."""
        moved = self._tables.moved_ever() & values_of(self._rows)
        if moved:
            moved |= self._tables.ensure(operation_needs(ReplaceGraph(state=state_of_rows(self._rows))), moved)
            with self._transaction("BEGIN TRANSACTION"):
                self._write(self._rows, self._rows, moved)

    def _write(self, old: PropertyRows, new: PropertyRows, moved: PropertyNames | None = None) -> None:
        for text, parameters in changed_rows(old, new, self._tables, moved or set()):
            self._connection.execute(text, parameters).close()

    def _run(self, allowed: AllowedCypher, parameters: Mapping[str, Value], before: PropertyRows) -> PropertyRows:
        """Run a statement, and return the rows after it; their exact values are written."""
        values = checked_properties(parameters)
        text, _ = self._translated(allowed, values)
        self._execute(text, values, _WRITE_S).close()
        after = read_rows(self._connection, self._tables)
        if len(after.nodes) > MAX_NODES or len(after.edges) > MAX_EDGES:
            raise _fault(f"the graph would have more than {MAX_NODES:,} nodes or {MAX_EDGES:,} edges")
        check_effect({str(key) for key in before.nodes}, {str(key) for key in after.nodes})
        exact = exact_rows(before, after, self._tables, allowed.tokens, values)
        self._write(after, exact)
        return exact

    def _query(self, text: str, parameters: Mapping[str, Value], limits: QueryLimits) -> QueryRows:
        with self._errors():
            allowed = allowed_cypher(text, write=False)
            values = checked_properties(parameters)
            self._ensure(cypher_names(allowed.tokens, values, self._tables).needs)
            translated, names = self._translated(allowed, values)
            with self._transaction("BEGIN TRANSACTION READ ONLY"):
                result = self._execute(translated, values, limits.seconds)
                with contextlib.closing(result):
                    titles = column_titles(names, allowed.text)
                    return ladybug_results(result, titles, self._tables, limits.rows)

    def _translated(self, allowed: AllowedCypher, parameters: Mapping[str, Value]) -> tuple[str, CypherNames]:
        names = cypher_names(allowed.tokens, parameters, self._tables)
        return ladybug_statement(allowed.text, names, self._tables), names

    def _execute(self, text: str, parameters: Mapping[str, Value], seconds: float) -> Any:
        self._connection.set_query_timeout(max(1, int(seconds * 1000)))
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
        try:
            return self._connection.execute(text, values)
        except RuntimeError as error:
            if "Interrupted" in str(error):
                raise _fault(f"it takes longer than {seconds:g} s") from error
            raise
        finally:
            self._connection.set_query_timeout(0)

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin).close()
        try:
            yield
            self._connection.execute("COMMIT").close()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # an error of the engine has ended it already
                self._connection.execute("ROLLBACK").close()
            raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except EgotoolsError:
            raise
        except (RuntimeError, OSError, MemoryError) as error:
            text = str(error).strip() or type(error).__name__
            if isinstance(error, OSError) or text.startswith("IO exception") or "No space left" in text:
                raise StorageError(
                    f"the Ladybug database cannot be used: {text}".rstrip("."),
                    subject=str(self._path or "in memory"),
                    remedy="Check that its folder is writable and has room, and that no other process holds it open",
                ) from error
            raise _fault(text) from error


def _fault(problem: str) -> StatementError:
    return StatementError(
        problem.rstrip(". \n"), subject="Cypher", remedy="Correct the statement; the graph is as before"
    )
