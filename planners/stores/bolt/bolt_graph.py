"""The property graph of a task in a Neo4j, or a server of its kind, over Bolt.

A path of Neo4j is a *trail*: it never passes an edge twice. That of Ladybug is a *walk* and may. So ``-[:KNOWS*1..5]->``
around a cycle finds fewer paths here; what both find with ``DISTINCT`` end nodes within reach of a trail is the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ingest.stores.bolt_connection import BoltAddress, bolt_errors, driver_options, parse_bolt_address
from planners.stores.bolt.bolt_faults import bolt_statement
from planners.stores.bolt.bolt_hold import BoltHold, hold_database
from planners.stores.bolt.bolt_json import bolt_json, joined_labels
from planners.stores.bolt.bolt_rows import BoltRows, bolt_parameters, read_rows, write_difference
from planners.stores.cypher.cypher_allow_list import allowed_cypher
from planners.stores.graph_state import state_of_rows
from planners.stores.property_graph import GraphState, Language, Operation, QueryLimits, QueryRows, Statement, Value
from planners.stores.property_rows import apply_typed
from planners.stores.statement_effect import check_effect

__all__ = ["BoltGraph", "open_bolt_graph"]

_LIMITS = QueryLimits()
_WRITE_S = 30.0
"""Seconds for all operations of one call: chosen as several times what 522 nodes, the paper's largest graph, take at once."""


@contextlib.asynccontextmanager
async def open_bolt_graph(url: str) -> AsyncIterator[BoltGraph]:
    """Open a graph in a database that is empty and that no other task has; it is cleared at the end.

    :param url: ``bolt://user:password@host:port/database``; errors never show the password.
    :raises InvalidArgumentError: when it is no such address.
    :raises StorageError: when the server cannot be reached, or the database is not free.
    """
    place = parse_bolt_address(url, feature="graphs of tasks in Neo4j")
    from neo4j import AsyncGraphDatabase

    # The server's advice on each query (a label that is not there yet) is no news for an operator.
    logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
    with bolt_errors(place):
        async with AsyncGraphDatabase.driver(place.uri, **driver_options(place)) as driver:
            await driver.verify_connectivity()
            async with hold_database(driver, place) as hold:
                yield BoltGraph(driver, place, hold)


class BoltGraph:
    """A graph in a database of its own. :func:`open_bolt_graph` makes it.

    Typed operations are planned on the rows of the graph, and the difference is written; each call is one transaction.
    """

    def __init__(self, driver: Any, place: BoltAddress, hold: BoltHold) -> None:
        self._driver = driver
        self._place = place
        self._hold = hold
        self._lock = asyncio.Lock()
        self._rows: BoltRows | None = None  # as committed last: while the database is held nobody else writes

    def __repr__(self) -> str:
        return f"BoltGraph({self._place.shown!r})"

    @property
    def language(self) -> Language:
        """Cypher."""
        return "cypher"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails. Calls wait for one another."""
        async with self._lock:
            await self._hold.check()
            async with self._transaction("WRITE", _WRITE_S) as transaction:
                before = self._rows or await read_rows(transaction)
                self._rows = None
                after = before.copy()
                for operation in operations:
                    if isinstance(operation, Statement):
                        await write_difference(transaction, before, after)
                        before = await _run_statement(transaction, operation, after)
                        after = before.copy()
                    else:
                        apply_typed(after.rows, operation)
                await write_difference(transaction, before, after)
            self._rows = after

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Read, in a read transaction that is rolled back; the server stops it at the limit of time."""
        allowed = allowed_cypher(text, write=False)
        values = bolt_parameters(parameters or {})
        async with self._transaction("READ", limits.seconds) as transaction:
            result = await transaction.run(allowed.text, values)
            found = [record.values() for record in await result.fetch(limits.rows + 1)]
            rows = QueryRows(
                columns=tuple(result.keys()),
                rows=tuple(tuple(_json(value) for value in row) for row in found[: limits.rows]),
                cut=len(found) > limits.rows,
            )
            await transaction.rollback()
        return rows

    async def state(self) -> GraphState:
        """Return the whole graph."""
        async with self._lock, self._transaction("READ", _WRITE_S) as transaction:  # nodes and edges of one moment
            self._rows = await read_rows(transaction)
            return state_of_rows(self._rows.rows)

    @contextlib.asynccontextmanager
    async def _transaction(self, mode: str, seconds: float) -> AsyncIterator[Any]:
        """Run a transaction: committed at the end, rolled back by an error, ended by the server after so many seconds."""
        async with (
            bolt_statement(self._place, seconds),
            self._driver.session(database=self._place.database, default_access_mode=mode) as session,
            await session.begin_transaction(timeout=seconds) as transaction,
        ):
            yield transaction


async def _run_statement(transaction: Any, statement: Statement, standing: BoltRows) -> BoltRows:
    allowed = allowed_cypher(statement.text, write=True)
    await (await transaction.run(allowed.text, bolt_parameters(statement.parameters))).consume()
    read = await read_rows(transaction)
    check_effect(standing.node_ids(), read.node_ids())
    return read


def _json(value: Any) -> object:
    return bolt_json(value, _entity_json)


def _entity_json(entity: Any) -> dict[str, object]:
    from neo4j.graph import Node

    return {"label": joined_labels(entity)} if isinstance(entity, Node) else {"type": entity.type}
