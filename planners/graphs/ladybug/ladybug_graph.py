"""The store Ladybug: an embedded database with Cypher, in memory or in one file.

Typed operations are planned on rows kept here and written as their difference; after a statement all rows are read anew. So
the rows are what the database holds: no other process can open its file. The engine runs in a process of its own: where it
crashes or is ended, the next call starts it again and gives it the rows, the last good state.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from ingest.stores.ladybug_connection import check_ladybug
from planners.graphs.cypher.cypher_allow_list import AllowedCypher, allowed_cypher
from planners.graphs.graph_state import state_of_rows
from planners.graphs.ladybug.cypher_maps import with_like_maps
from planners.graphs.ladybug.cypher_needs import CypherNames, cypher_names
from planners.graphs.ladybug.exact_values import exact_rows
from planners.graphs.ladybug.ladybug_process import LadybugProcess, WrittenCypher, ladybug_fault
from planners.graphs.ladybug.ladybug_results import ladybug_results
from planners.graphs.ladybug.ladybug_rows import changed_rows, read_rows, values_of
from planners.graphs.ladybug.ladybug_statement import column_titles, ladybug_statement
from planners.graphs.ladybug.ladybug_tables import LadybugTables, Needs
from planners.graphs.ladybug.operation_needs import operation_needs
from planners.graphs.property_graph import (
    GraphEdge,
    GraphNode,
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
_WRITE_S = 20.0
_BEGIN: WrittenCypher = ("BEGIN TRANSACTION", {})
_COMMIT: WrittenCypher = ("COMMIT", {})


class LadybugGraph:
    """A graph in a database of its own; close it at the end.

    Queries see the properties of a graph in columns of one type each (``ladybug_tables``), and paths as Neo4j has them
    (``ladybug_statement``). The first call opens the database, and raises StorageError where that fails.

    :param path: file of the database; None: it stands in memory.
    :raises MissingExtraError: when the package is not installed.
    """

    def __init__(self, path: Path | None = None) -> None:
        check_ladybug("the graph store Ladybug")
        self._path = path
        self._lock = asyncio.Lock()
        self._engine: LadybugProcess | None = None
        self._tables = LadybugTables()
        self._rows: PropertyRows | None = None

    @property
    def language(self) -> Language:
        """Cypher."""
        return "cypher"

    async def open(self) -> None:
        """Open the database now, so that what is wrong with it is known.

        :raises StorageError: when the file cannot be opened.
        """
        async with self._opened():
            pass

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails."""
        async with self._opened() as (engine, rows):
            await self._apply(engine, rows, operations)

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Read in Cypher, in a transaction that cannot write."""
        values = checked_properties(parameters or {})
        allowed = with_like_maps(allowed_cypher(text, write=False), values)
        async with self._opened() as (engine, rows):
            await self._ensure(engine, rows, cypher_names(allowed.tokens, values, self._tables).needs)
            translated, names = self._translated(allowed, values)
            found = await engine.query(translated, values, limits.rows, limits.seconds)
            return ladybug_results(found, column_titles(names, allowed.text), self._tables)

    async def state(self) -> GraphState:
        """Return the whole graph."""
        if self._rows is None:
            await self.open()
        return state_of_rows(self._rows or PropertyRows())

    async def close(self) -> None:
        """Close the database; what stood in memory is gone."""
        async with self._lock:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.close()

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[LadybugProcess, PropertyRows]]:
        """Wait for other calls, and give a process that runs with the rows that it holds."""
        async with self._lock:
            if self._engine is None or self._engine.has_ended or self._rows is None:
                await self._start()
            if self._engine is None or self._rows is None:
                raise ladybug_fault("the engine did not start")
            yield self._engine, self._rows

    async def _start(self) -> None:
        """Start a process, and give it the last good state where it has another."""
        engine = await LadybugProcess.open(self._path)
        good = self._rows
        try:
            self._tables = await LadybugTables.load(engine)
            await engine.write(self._tables.definitions())
            found = await read_rows(engine, self._tables)
            await self._settle(engine, found)
            self._rows = found
            if good is not None and _written(found) != _written(good):
                await self._apply(engine, found, [ReplaceGraph(state=_plain_state(good))])
        except BaseException:
            self._rows = good
            await engine.end()
            raise
        self._engine = engine

    async def _apply(self, engine: LadybugProcess, before: PropertyRows, operations: Sequence[Operation]) -> None:
        allowed = {
            at: with_like_maps(allowed_cypher(operation.text, write=True), checked_properties(operation.parameters))
            for at, operation in enumerate(operations)
            if isinstance(operation, Statement)
        }
        await self._prepare(engine, before, operations, allowed)
        try:
            written, rows, pending = before, before.copy(), [_BEGIN]
            for at, operation in enumerate(operations):
                if isinstance(operation, Statement):
                    await engine.write([*pending, *self._changes(written, rows)])
                    written, pending = await self._run(engine, allowed[at], operation.parameters, rows), []
                    rows = written.copy()
                else:
                    apply_typed(rows, operation)
            await engine.write([*pending, *self._changes(written, rows), _COMMIT])
        except BaseException:
            await engine.roll_back()
            raise
        self._rows = rows

    async def _prepare(
        self,
        engine: LadybugProcess,
        rows: PropertyRows,
        operations: Sequence[Operation],
        allowed: Mapping[int, AllowedCypher],
    ) -> None:
        """Make the tables and columns that operations name, and move values to wider columns."""
        needs = Needs()
        for at, operation in enumerate(operations):
            if isinstance(operation, Statement):
                parameters = checked_properties(operation.parameters)
                found = cypher_names(allowed[at].tokens, parameters, self._tables).needs
            else:
                found = operation_needs(operation)
            needs.add(found)
        await self._ensure(engine, rows, needs)

    async def _ensure(self, engine: LadybugProcess, rows: PropertyRows, needs: Needs) -> None:
        try:
            moved = self._tables.ensure(needs, values_of(rows))
            texts = [*self._tables.definitions()]
            if moved:
                texts += [_BEGIN, *changed_rows(rows, rows, self._tables, moved), _COMMIT]
            await engine.write(texts)
        except BaseException:
            await engine.end()  # what it has made of these tables is not known: the next one starts without
            raise

    async def _settle(self, engine: LadybugProcess, rows: PropertyRows) -> None:
        """Move values of an opened file to the columns that hold them now: a process that was killed may have left some behind."""
        moved = self._tables.moved_ever() & values_of(rows)
        if moved:
            moved |= self._tables.ensure(operation_needs(ReplaceGraph(state=_plain_state(rows))), moved)
            changes = changed_rows(rows, rows, self._tables, moved)
            await engine.write([*self._tables.definitions(), _BEGIN, *changes, _COMMIT])

    def _changes(self, old: PropertyRows, new: PropertyRows) -> list[WrittenCypher]:
        return list(changed_rows(old, new, self._tables, set()))

    async def _run(
        self, engine: LadybugProcess, allowed: AllowedCypher, parameters: Mapping[str, Value], before: PropertyRows
    ) -> PropertyRows:
        """Run a statement, and return the rows after it; their exact values are written."""
        values = checked_properties(parameters)
        text, _ = self._translated(allowed, values)
        await engine.run(text, values, _WRITE_S)
        after = await read_rows(engine, self._tables)
        if len(after.nodes) > MAX_NODES or len(after.edges) > MAX_EDGES:
            raise ladybug_fault(f"the graph would have more than {MAX_NODES:,} nodes or {MAX_EDGES:,} edges")
        check_effect({str(key) for key in before.nodes}, {str(key) for key in after.nodes})
        exact = exact_rows(before, after, self._tables, allowed.tokens, values)
        await engine.write(self._changes(after, exact))
        return exact

    def _translated(self, allowed: AllowedCypher, parameters: Mapping[str, Value]) -> tuple[str, CypherNames]:
        names = cypher_names(allowed.tokens, parameters, self._tables)
        return ladybug_statement(allowed.text, names, self._tables), names


def _written(rows: PropertyRows) -> tuple[dict[int, str], dict[int, str]]:
    """Return rows such that 1, 1.0 and true differ."""
    nodes = {key: repr((row.label, sorted(row.properties.items()))) for key, row in rows.nodes.items()}
    edges = {
        key: repr((row.type, row.source, row.target, sorted(row.properties.items()))) for key, row in rows.edges.items()
    }
    return nodes, edges


def _plain_state(rows: PropertyRows) -> GraphState:
    """Return a state in the order of the keys, which is less work than the canonical one."""
    nodes = [GraphNode(id=f"n{key}", label=row.label, properties=row.properties) for key, row in rows.nodes.items()]
    edges = [
        GraphEdge(type=row.type, source=f"n{row.source}", target=f"n{row.target}", properties=row.properties)
        for row in rows.edges.values()
    ]
    return GraphState(nodes=tuple(nodes), edges=tuple(edges))
