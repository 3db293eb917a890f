"""A graph in a Neo4j, or a server of its kind, that is only read: the database is somebody's, and nothing is marked or held."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ingest.stores.bolt_connection import BoltAddress, bolt_errors, driver_options, parse_bolt_address
from ontology.errors import StorageError
from planners.stores.bolt.bolt_faults import bolt_statement
from planners.stores.bolt.bolt_json import bolt_json, joined_labels
from planners.stores.bolt.bolt_rows import bolt_parameters
from planners.stores.bolt.bolt_schema import bolt_schema, bolt_shape
from planners.stores.graph_census import TYPE_PROPERTIES, graph_census
from planners.stores.graph_schema import GraphSchema
from planners.stores.property_graph import QueryLimits, Value
from planners.stores.readable_graph import CypherDialect

__all__ = ["open_bolt_reader"]

_LIMITS = QueryLimits()
_BATCH_ROWS = 1_000
"""That the server sends at once, and of a batch: some 100 KiB of ordinary rows."""
_SCHEMA_S = 60.0
"""Seconds that a schema stands while nothing is added: a server goes through the whole graph for it."""


@contextlib.asynccontextmanager
async def open_bolt_reader(url: str) -> AsyncIterator[BoltReader]:
    """Open a database that exists.

    :param url: ``bolt://user:password@host:port/database``; errors never show the password.
    :raises InvalidArgumentError: when it is no such address.
    :raises MissingExtraError: when the driver is not installed.
    :raises StorageError: when the server cannot be reached.
    """
    place = parse_bolt_address(url, feature="graphs in Neo4j")
    from neo4j import AsyncGraphDatabase

    # The server's advice on each query (a label that is not there) is no news for an operator.
    logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
    with bolt_errors(place):
        driver = AsyncGraphDatabase.driver(place.uri, **driver_options(place))
    async with driver:
        with bolt_errors(place):
            await driver.verify_connectivity()
        yield BoltReader(driver, place)


class BoltReader:
    """A graph behind Bolt. :func:`open_bolt_reader` opens it."""

    def __init__(self, driver: Any, place: BoltAddress) -> None:
        self._driver = driver
        self._place = place
        self._schema: tuple[float, tuple[object, ...], GraphSchema] | None = None

    def __repr__(self) -> str:
        return f"BoltReader({self._place.shown!r})"

    @property
    def dialect(self) -> CypherDialect:
        """That of Neo4j."""
        return "bolt"

    async def schema(self) -> GraphSchema:
        """Return the types; they are read anew when the server has counted something new, and once a minute."""
        shape = await bolt_shape(self)
        if self._schema is None or self._schema[1] != shape or time.monotonic() - self._schema[0] > _SCHEMA_S:
            self._schema = time.monotonic(), shape, await bolt_schema(self, TYPE_PROPERTIES)
        return self._schema[2]

    async def census(self) -> GraphSchema:
        """Return the types with what was counted."""
        return await graph_census(self, await self.schema())

    @contextlib.asynccontextmanager
    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = _LIMITS
    ) -> AsyncIterator[BoltStream]:
        """Run a query in a read transaction, which the server ends at the limit of time; reading the rows is part of it."""
        given = parameters or {}
        values = {**dict.fromkeys(given), **bolt_parameters(given)}
        session = self._driver.session(
            database=self._place.database, default_access_mode="READ", fetch_size=_BATCH_ROWS
        )
        try:
            async with bolt_statement(self._place, limits.seconds):
                transaction = await session.begin_transaction(timeout=limits.seconds)
                result = await transaction.run(text, values)
            yield BoltStream(result, limits, self._place)
        finally:
            with contextlib.suppress(StorageError), bolt_errors(self._place):  # of a server that is unavailable
                await session.close()


class BoltStream:
    """The rows of a query."""

    def __init__(self, result: Any, limits: QueryLimits, place: BoltAddress) -> None:
        self._result = result
        self._limits = limits
        self._place = place
        self._cut = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._result.keys())

    @property
    def cut(self) -> bool:
        """After the last batch: whether there were more rows than the limit."""
        return self._cut

    async def batches(self) -> AsyncIterator[Sequence[tuple[object, ...]]]:
        """Yield batches of rows, once."""
        left = self._limits.rows
        while True:
            async with bolt_statement(self._place, self._limits.seconds):
                found = await self._result.fetch(min(_BATCH_ROWS, left + 1))
            rows = [tuple(_json(value) for value in record.values()) for record in found[:left]]
            if rows:
                yield rows
            self._cut = len(found) > left
            left -= len(rows)
            if self._cut or not found:
                return


def _json(value: Any) -> object:
    return bolt_json(value, _entity_json)


def _entity_json(entity: Any) -> dict[str, object]:
    """Return the members of a node, with its id, or of a relationship, with those of its ends."""
    from neo4j.graph import Node

    if isinstance(entity, Node):
        return {"id": entity.element_id, "label": joined_labels(entity)}
    source, target = (node.element_id if node is not None else "" for node in (entity.start_node, entity.end_node))
    return {"type": entity.type, "source": source, "target": target}
