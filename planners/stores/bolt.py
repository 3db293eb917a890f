"""Graphs in a Neo4j, or a server of its kind, over Bolt: the graph of a task, which is written, and a database that is only read.

A path of Neo4j is a *trail*: it never passes an edge twice. That of Ladybug is a *walk* and may. So ``-[:KNOWS*1..5]->``
around a cycle finds fewer paths here; what both find with ``DISTINCT`` end nodes within reach of a trail is the same.

Queries of a model see a whole database, so a task needs one for itself: it must be empty when it is opened, and is cleared at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ingest.neo4j import BoltAddress, bolt_errors, driver_options, parse_bolt_address, shown_error
from ontology.errors import StatementError, StorageError
from planners.stores import graph_schema as schemas
from planners.stores import property_graph as graphs
from planners.stores.graph_schema import CypherDialect, GraphSchema, read_rows_of
from planners.stores.property_graph import Operation, PropertyRows, QueryLimits, QueryRows, Value
from planners.stores.statements import allowed_cypher, quoted_name

_LIMITS = QueryLimits()
# Seconds for all operations of one call: several times what 522 nodes, the paper's largest graph, take at once; chosen
_WRITE_S = 30.0
_GRACE_S = 5.0  # seconds after the server's own limit: Neo4j looks for transactions that are late every two seconds
# Classes of Neo4j's error codes that a statement causes, and that its writer can correct; found in its list of codes
_OF_STATEMENTS = frozenset({"Statement", "Schema", "Transaction", "Procedure"})


@contextlib.asynccontextmanager
async def _opened_driver(url: str, feature: str) -> AsyncIterator[tuple[Any, BoltAddress]]:
    place = parse_bolt_address(url, feature=feature)
    from neo4j import AsyncGraphDatabase

    # The server's advice on each query (a label that is not there yet) is no news for an operator.
    logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
    with bolt_errors(place):
        driver = AsyncGraphDatabase.driver(place.uri, **driver_options(place))
    async with driver:
        with bolt_errors(place):
            await driver.verify_connectivity()
        yield driver, place


@contextlib.asynccontextmanager
async def _transaction(driver: Any, place: BoltAddress, mode: str, seconds: float) -> AsyncIterator[Any]:
    """Run a transaction: committed at the end, rolled back by an error, ended by the server after so many seconds,
    whose answer is awaited a little longer. An error that a statement causes, or a time that is over, is a
    StatementError, each other error of the driver a StorageError."""
    from neo4j.exceptions import Neo4jError

    problem, remedy = f"the statement takes longer than {seconds:g} s", "Ask for less, or join fewer patterns"
    with bolt_errors(place):
        try:
            async with (
                asyncio.timeout(seconds + _GRACE_S),
                driver.session(database=place.database, default_access_mode=mode) as session,
                await session.begin_transaction(timeout=seconds) as transaction,
            ):
                yield transaction
            return
        except TimeoutError:
            pass
        except Neo4jError as error:
            code = str(error.code)
            if "TimedOut" not in code and "Terminated" not in code:
                if _OF_STATEMENTS.isdisjoint(code.split(".")) and "OutOfMemory" not in code:
                    raise
                problem = shown_error(ValueError(error.message or code), place)
                remedy = "Correct the statement; the graph is as before"
    raise StatementError(problem, subject="Cypher", remedy=remedy) from None


def _json(value: Any, *, with_ids: bool = False) -> Any:
    """Return a value of the driver as a JSON value, times as ISO 8601 and what is no JSON value as text; ``with_ids``
    says whether nodes and relationships have identities."""
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node | Relationship):
        properties = _json(dict(value), with_ids=with_ids)
        if isinstance(value, Node):
            told = {"id": value.element_id} if with_ids else {}
            return {**told, "label": ":".join(sorted(value.labels)), "properties": properties}
        ends = zip(("source", "target"), value.nodes, strict=True)
        told = {name: node.element_id if node is not None else "" for name, node in ends} if with_ids else {}
        return {"type": value.type, **told, "properties": properties}
    if isinstance(value, Path):
        parts = {"nodes": value.nodes, "edges": value.relationships}
        return {name: [_json(each, with_ids=with_ids) for each in found] for name, found in parts.items()}
    if type(value).__module__.startswith("neo4j."):  # a time, a duration, a point; some of these are tuples too
        return str(value.iso_format()) if hasattr(value, "iso_format") else str(value)
    if isinstance(value, Mapping):
        return {str(name): _json(member, with_ids=with_ids) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_json(member, with_ids=with_ids) for member in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    is_finite = not isinstance(value, float) or abs(value) < float("inf")
    return value if value is None or (isinstance(value, str | bool | int | float) and is_finite) else str(value)


async def _rows(
    driver: Any,
    place: BoltAddress,
    text: str,
    parameters: Mapping[str, Any],
    limits: QueryLimits,
    with_ids: bool = False,
) -> QueryRows:
    """Read, in a read transaction that is rolled back."""
    async with _transaction(driver, place, "READ", limits.seconds) as transaction:
        result = await transaction.run(text, parameters)
        found = await result.fetch(limits.rows + 1)
        await transaction.rollback()
    rows = tuple(tuple(_json(value, with_ids=with_ids) for value in each.values()) for each in found[: limits.rows])
    return QueryRows(columns=tuple(result.keys()), rows=rows, cut=len(found) > limits.rows)


# --- The graph of a task --------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def open_bolt_graph(url: str) -> AsyncIterator[BoltGraph]:
    """Open a graph in a database that is empty, for one task at a time; it is cleared at the end. The address is
    ``bolt://user:password@host:port/database``; errors never show the password. Raises MissingExtraError without the
    driver, StorageError when the server cannot be reached, or the database is not empty."""
    async with _opened_driver(url, "graphs of tasks in Neo4j") as (driver, place):
        graph = BoltGraph(driver, place)
        await graph.apply(())  # the check that it is empty
        try:
            yield graph
        finally:
            with contextlib.suppress(StorageError, StatementError):  # a dead server keeps it
                await graph.apply([graphs.ReplaceGraph()])


class BoltGraph(graphs.RowsGraph):
    """A graph in a database of its own. :func:`open_bolt_graph` makes it. Operations change its rows, and the
    difference is written; each call is one transaction."""

    language: graphs.Language = "cypher"

    def __init__(self, driver: Any, place: BoltAddress) -> None:
        super().__init__()
        self._driver = driver
        self._place = place
        self._lock = asyncio.Lock()
        self._ids: dict[int, str] = {}

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails. Calls wait for one another."""
        async with self._lock:
            after, ids, left = graphs.apply_typed(self.rows, operations), dict(self._ids), len(self.rows.nodes)
            async with _transaction(self._driver, self._place, "WRITE", _WRITE_S) as transaction:
                (standing,) = await (await transaction.run("MATCH (n) RETURN count(n)")).single()
                if standing != left:  # a task neither takes nor clears what is another's
                    raise StorageError(
                        f"the database has {standing} nodes, and this task has left {left}",
                        subject=self._place.shown,
                        remedy="Name a database for this task alone, which is empty when it begins; what a task that was killed has left, delete",
                    )
                await _write_difference(transaction, self.rows, after, ids)
            self.rows, self._ids = after, {key: ids[key] for key in (*after.nodes, *after.edges)}

    async def query(self, text: str, limits: QueryLimits = _LIMITS) -> QueryRows:
        """Read, in a read transaction that is rolled back; the server stops it at the limit of time."""
        return await _rows(self._driver, self._place, allowed_cypher(text), {}, limits)


async def _write_difference(transaction: Any, old: PropertyRows, new: PropertyRows, ids: dict[int, str]) -> None:
    """Write what differs; ``ids`` is key → ``elementId`` of what stands there, and that of new rows is added."""

    async def run(text: str, **parameters: Any) -> None:
        await (await transaction.run(text, parameters)).consume()

    if gone := old.edges.keys() - new.edges.keys():
        await run("MATCH ()-[r]->() WHERE elementId(r) IN $ids DELETE r", ids=[ids[key] for key in gone])
    if gone := old.nodes.keys() - new.nodes.keys():
        await run("MATCH (n) WHERE elementId(n) IN $ids DETACH DELETE n", ids=[ids[key] for key in gone])
    changed = [key for key in new.nodes.keys() & old.nodes.keys() if old.nodes[key] is not new.nodes[key]]
    if changed:
        text = "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.id SET n = row.properties"
        await run(text, rows=[{"id": ids[key], "properties": _lists(new.nodes[key].properties)} for key in changed])
    await _insert(transaction, new.nodes, new.nodes.keys() - old.nodes.keys(), ids, "CREATE (x:{})")
    ends = "MATCH (a) WHERE elementId(a) = row.source MATCH (b) WHERE elementId(b) = row.target CREATE (a)-[x:{}]->(b)"
    await _insert(transaction, new.edges, new.edges.keys() - old.edges.keys(), ids, ends)


async def _insert(
    transaction: Any,
    rows: Mapping[int, graphs.NodeRow | graphs.EdgeRow],
    new: set[int],
    ids: dict[int, str],
    create: str,
) -> None:
    by_name: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key in sorted(new):
        row = rows[key]
        ends = {"source": ids[row.source], "target": ids[row.target]} if isinstance(row, graphs.EdgeRow) else {}
        by_name[row[0]].append({"key": key, **ends, "properties": _lists(row.properties)})
    for name, given in by_name.items():
        made = create.format(quoted_name(name, "bolt"))
        text = f"UNWIND $rows AS row {made} SET x = row.properties RETURN row.key, elementId(x)"
        async for key, identity in await transaction.run(text, {"rows": given}):
            ids[key] = identity


def _lists(properties: Mapping[str, Value]) -> dict[str, Any]:
    """Return values as the driver takes them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}


# --- A database that is only read -----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def open_bolt_reader(url: str) -> AsyncIterator[BoltReader]:
    """Open a database that exists: it is somebody's, and nothing is marked or held. The address is
    ``bolt://user:password@host:port/database``; errors never show the password. Raises MissingExtraError without the
    driver, StorageError when the server cannot be reached."""
    async with _opened_driver(url, "graphs in Neo4j") as (driver, place):
        yield BoltReader(driver, place)


class BoltReader:
    """A graph behind Bolt that is only read. :func:`open_bolt_reader` opens it."""

    dialect: CypherDialect = "bolt"

    def __init__(self, driver: Any, place: BoltAddress) -> None:
        self._driver = driver
        self._place = place
        self._schema: GraphSchema | None = None

    async def schema(self) -> GraphSchema:
        """Return the types; the server goes through the whole graph for them."""
        self._schema = self._schema or await _schema(self)
        return self._schema

    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Run a query in a read transaction, which the server ends at the limit of time."""
        given = parameters or {}
        values = {**dict.fromkeys(given), **_lists(graphs.checked_properties(given))}
        return await _rows(self._driver, self._place, text, values, limits, with_ids=True)


_COLUMNS = "propertyName AS b, propertyTypes AS c RETURN a, b, c"
_NODES = f"CALL db.schema.nodeTypeProperties() YIELD nodeLabels AS a, {_COLUMNS}"
_RELATIONSHIPS = f"CALL db.schema.relTypeProperties() YIELD relType AS a, {_COLUMNS}"
_PAIRS = "MATCH (a)-[r]->(b) UNWIND labels(a) AS s UNWIND labels(b) AS t RETURN DISTINCT type(r), s, t"
_KEYS = (
    "SHOW CONSTRAINTS YIELD type, labelsOrTypes, properties WHERE type IN ['UNIQUENESS', 'NODE_KEY'] "
    "RETURN labelsOrTypes[0], properties"
)
# Names of types that Neo4j's own procedures give, without ``Array``; others have no operator
_TYPES: Mapping[str, schemas.PropertyType] = {
    **{"String": "string", "Long": "integer", "Double": "number", "Boolean": "boolean"},
    **dict.fromkeys(("Date", "DateTime", "LocalDateTime"), "date"),
}


async def _schema(graph: BoltReader) -> GraphSchema:
    of_nodes, of_relationships = [defaultdict[str, Any](lambda: defaultdict(set)) for _ in range(2)]
    for labels, name, types in await read_rows_of(graph, _NODES):
        for label in labels:
            of_nodes[label][name or ""] |= set(types or ())
    for type_, name, types in await read_rows_of(graph, _RELATIONSHIPS):
        of_relationships[type_[2:-1].replace("``", "`")][name or ""] |= set(types or ())
    keys: dict[str, str] = {}
    with contextlib.suppress(StatementError):  # the user may not see constraints
        rows = sorted(await read_rows_of(graph, _KEYS), key=tuple, reverse=True)
        keys = {label: properties[0] for label, properties in rows if len(properties) == 1}
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for type_, source, target in await read_rows_of(graph, _PAIRS):
        pairs[type_].append((source, target))
    return GraphSchema(
        nodes=tuple(
            schemas.NodeType(name=label, key=keys.get(label, ""), properties=_properties(found))
            for label, found in sorted(of_nodes.items())
        ),
        relationships=tuple(
            schemas.RelationshipType(
                name=type_,
                ends=tuple(schemas.RelationshipEnds(source=source, target=target) for source, target in sorted(found)),
                properties=_properties(of_relationships.get(type_, {})),
            )
            for type_, found in sorted(pairs.items())
        ),
    )


def _properties(found: Mapping[str, set[str]]) -> tuple[schemas.PropertyKey, ...]:
    """Return the properties with types of operators; those of others (points, durations) are left out. Of several types
    of values the one that holds them all counts."""
    typed: list[schemas.PropertyKey] = []
    for name, types in sorted(found.items()):
        kinds: set[schemas.PropertyType | None] = {
            "list" if each.endswith("Array") else _TYPES.get(each) for each in types
        }
        several: schemas.PropertyType = "number" if kinds == {"integer", "number"} else "string"
        kind = kinds.pop() if len(kinds) == 1 else None if None in kinds else several
        if name and kind is not None:
            typed.append(schemas.PropertyKey(name=name, type=kind))
    return tuple(typed)
