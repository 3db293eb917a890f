"""The seam of graphs that are only read, their schema, and the census that counts what stands in them.

A *type* is what people mean by it. Most graphs have a label for each; some give every node one label and keep its type in a
property. ``TypeMark`` says which, so that whoever reads a schema sees types alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeAlias

from ontology.errors import NotFoundError
from ontology.json_values import canonical_text
from planners.stores.property_graph import QueryLimits, Scalar, Value
from planners.stores.statements import quoted_name

__all__ = [
    "TYPE_PROPERTIES", "CypherDialect", "Degrees", "GraphSchema", "NodeType", "PropertyKey", "PropertyType", "ReadableGraph",
    "RelationshipEnds", "RelationshipType", "RowStream", "TypeMark", "graph_census", "marked_ends", "marked_nodes", "read_rows_of",
]  # fmt: skip

CypherDialect: TypeAlias = Literal["ladybug", "bolt"]
"""Which Cypher: that of Ladybug, whose paths are walks, or that of Neo4j, whose paths are trails."""
PropertyType: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "list"]
TYPE_PROPERTIES: Mapping[str, str] = {"EgotoolsNode": "type"}
"""Label → the property that tells its types apart: that of the graphs that ingestion writes."""
_OWN_LIMITS = QueryLimits(rows=1_000_000, seconds=300.0)
"""Of queries about types, which give few rows, on graphs tenfold the largest of ours."""
_SAMPLE_ROWS, _SAMPLES = 200, 20
"""First rows that samples are taken from, and values at most; a property that has no more is shown whole."""
_SAMPLE_CHARACTERS = 80
"""Of a value; longer ones are no samples. A property with one among its first rows is text: counting its different values would hold all
in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyKey:
    """A property of a type.

    :param count: nodes or relationships that have a value.
    :param distinct: different values; None where they were not counted.
    :param least: the smallest value of numbers, dates and strings; None where there is none; ``greatest`` likewise.
    :param samples: some values, sorted: all of them where they are few.
    """

    name: str
    type: PropertyType
    count: int = 0
    distinct: int | None = None
    least: Scalar | None = None
    greatest: Scalar | None = None
    samples: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMark:
    """How nodes of a type are known: a label of the engine, and the property that tells its types apart; empty where the label is the type."""

    label: str
    property: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """A type of nodes.

    :param key: the property that identifies a node among those of its mark's label; empty where the engine's own identity must do.
    """

    name: str
    mark: TypeMark
    key: str = ""
    count: int = 0
    properties: tuple[PropertyKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """How many relationships the nodes of one end have; ``nodes`` have any."""

    nodes: int
    median: int
    greatest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipEnds:
    """One pair of node types, by name, that a type of relationships connects."""

    source: str
    target: str
    count: int = 0
    outgoing: Degrees | None = None
    incoming: Degrees | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipType:
    """A type of relationships, by its name in the engine."""

    name: str
    ends: tuple[RelationshipEnds, ...]
    count: int = 0
    properties: tuple[PropertyKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSchema:
    """All types of a graph, sorted by name."""

    nodes: tuple[NodeType, ...]
    relationships: tuple[RelationshipType, ...]

    def node(self, name: str) -> NodeType:
        """Return a node type.

        :raises NotFoundError: when there is none of this name.
        """
        if found := next((each for each in self.nodes if each.name == name), None):
            return found
        raise _unknown("node type", name, self.nodes)

    def relationship(self, name: str) -> RelationshipType:
        """Return a relationship type.

        :raises NotFoundError: when there is none of this name.
        """
        if found := next((each for each in self.relationships if each.name == name), None):
            return found
        raise _unknown("relationship type", name, self.relationships)

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of names, marks, keys and types of values; counts and samples do not change it."""
        nodes = [
            [n.name, n.mark.label, n.mark.property, n.mark.value, n.key, [[p.name, p.type] for p in n.properties]]
            for n in self.nodes
        ]
        relationships = [
            [r.name, [[e.source, e.target] for e in r.ends], [[p.name, p.type] for p in r.properties]]
            for r in self.relationships
        ]
        return hashlib.sha256(canonical_text([nodes, relationships]).encode()).hexdigest()


def _unknown(what: str, name: str, types: Sequence[NodeType | RelationshipType]) -> NotFoundError:
    known = ", ".join(each.name for each in types[:40])
    return NotFoundError(f"the graph has no such {what}", subject=name, remedy=f"Use one of {known}")


class RowStream:
    """The rows of a query, as the engine gives them.

    :ivar cut: after the last batch: whether there were more rows than the limit.
    """

    def __init__(
        self, columns: tuple[str, ...], batches: Callable[[RowStream], AsyncIterator[Sequence[tuple[object, ...]]]]
    ) -> None:
        self.columns = columns
        self.cut = False
        self._batches = batches

    def batches(self) -> AsyncIterator[Sequence[tuple[object, ...]]]:
        """Yield batches of rows, once; values are JSON values. Memory is that of one batch.

        A node as a value is ``{"id": …, "label": …, "properties": {…}}``, a relationship ``{"type", "source", "target", "properties"}``
        with ids of its ends, a path ``{"nodes": […], "edges": […]}``.

        :raises StatementError: when the query fails or takes too long.
        :raises StorageError: when the engine ends or cannot be reached.
        """
        return self._batches(self)


class ReadableGraph(Protocol):
    """One graph, of any size, that belongs to somebody else. It is never written, whatever a query says. Concurrent calls are allowed.

    Each method raises StorageError when the engine cannot be reached, is locked, or failed.
    """

    @property
    def dialect(self) -> CypherDialect:
        """Which Cypher it is asked in."""
        ...

    async def schema(self) -> GraphSchema:
        """Return the types as the engine has them now, without counts: cheap enough to ask at the beginning of each question."""
        ...

    async def census(self) -> GraphSchema:
        """Return the types with counts, ranges, samples and degrees: one query for each type."""
        ...

    def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = ...
    ) -> AbstractAsyncContextManager[RowStream]:
        """Run a query in a transaction that cannot write. What a model wrote passes ``allowed_cypher`` first: it is the caller's duty.

        :raises StatementError: when the query is refused or fails.
        """
        ...


async def read_rows_of(
    graph: ReadableGraph, text: str, parameters: Mapping[str, Value | None] | None = None
) -> list[list[Any]]:
    """Return all rows of a query that the project itself asks.

    :raises StatementError: when it fails or takes too long.
    """
    async with graph.read(text, parameters, _OWN_LIMITS) as stream:
        return [list(row) async for batch in stream.batches() for row in batch]


async def marked_nodes(graph: ReadableGraph, node: NodeType) -> list[NodeType]:
    """Return the types of a label: those that a property tells apart (:data:`TYPE_PROPERTIES`), else the label itself."""
    name = TYPE_PROPERTIES.get(node.mark.label, "")
    if name not in {each.name for each in node.properties}:
        return [node]
    label, quoted = (quoted_name(text, graph.dialect) for text in (node.mark.label, name))
    found = await read_rows_of(graph, f"MATCH (n:{label}) RETURN DISTINCT n.{quoted}")
    rest = tuple(each for each in node.properties if each.name != name)
    return [
        replace(node, name=value, mark=replace(node.mark, property=name, value=value), properties=rest)
        for (value,) in found
        if isinstance(value, str)
    ]


async def marked_ends(
    graph: ReadableGraph, type_: str, pairs: Sequence[tuple[str, str]], nodes: Sequence[NodeType]
) -> tuple[RelationshipEnds, ...]:
    """Return the pairs of types that relationships connect, from the pairs of their labels."""
    properties = {node.mark.label: node.mark.property for node in nodes}
    found: set[tuple[str, str]] = set()
    for source, target in pairs:
        marks = (("a", properties.get(source, "")), ("b", properties.get(target, "")))
        if not any(mark for _, mark in marks):
            found.add((source, target))
            continue
        names = [quoted_name(text, graph.dialect) for text in (source, type_, target)]
        shown = ", ".join(f"{end}.{quoted_name(mark, graph.dialect)}" if mark else "''" for end, mark in marks)
        text = f"MATCH (a:{names[0]})-[:{names[1]}]->(b:{names[2]}) RETURN DISTINCT {shown}"
        rows = await read_rows_of(graph, text)
        found |= {(row[0] or source, row[1] or target) for row in rows if None not in row}
    return tuple(RelationshipEnds(source=source, target=target) for source, target in sorted(found))


# --- The census -----------------------------------------------------------------------------------------------------------------------


async def graph_census(graph: ReadableGraph, schema: GraphSchema) -> GraphSchema:
    """Return a schema with what was counted, in the Cypher that both dialects share.

    :raises StatementError: when a query takes too long.
    """
    nodes = [await _counted_node(graph, each) for each in schema.nodes]
    relationships = [await _counted_relationship(graph, each, schema) for each in schema.relationships]
    return GraphSchema(nodes=tuple(nodes), relationships=tuple(relationships))


def _of_type(graph: ReadableGraph, variable: str, mark: TypeMark) -> tuple[str, dict[str, str]]:
    """Return the condition that a node is of a type, and its parameters."""
    if not mark.property:
        return "true", {}
    return f"{variable}.{quoted_name(mark.property, graph.dialect)} = ${variable}", {variable: mark.value}


async def _counted_node(graph: ReadableGraph, type_: NodeType) -> NodeType:
    condition, parameters = _of_type(graph, "n", type_.mark)
    match = f"MATCH (n:{quoted_name(type_.mark.label, graph.dialect)}) WHERE {condition}"
    count, properties = await _counted_properties(graph, match, parameters, "n", type_.properties)
    return replace(type_, count=count, properties=properties)


async def _counted_relationship(graph: ReadableGraph, type_: RelationshipType, schema: GraphSchema) -> RelationshipType:
    """Count the relationships of a type, of each pair of its ends, and their degrees."""
    name = quoted_name(type_.name, graph.dialect)
    ends: list[RelationshipEnds] = []
    for pair in type_.ends:
        marks = schema.node(pair.source).mark, schema.node(pair.target).mark
        source, target = (quoted_name(mark.label, graph.dialect) for mark in marks)
        (of_a, parameters), (of_b, more) = (_of_type(graph, end, mark) for end, mark in zip("ab", marks, strict=True))
        match = f"MATCH (a:{source})-[:{name}]->(b:{target}) WHERE {of_a} AND {of_b}"
        grouped = [f"{match} WITH id({end}) AS i, count(*) AS d RETURN d, count(*) AS n" for end in "ab"]
        outgoing, incoming = [await read_rows_of(graph, text, {**parameters, **more}) for text in grouped]
        count = sum(degree * nodes for degree, nodes in outgoing)
        ends.append(replace(pair, count=count, outgoing=_degrees_of(outgoing), incoming=_degrees_of(incoming)))
    count, properties = sum(each.count for each in ends), type_.properties
    if properties:
        count, properties = await _counted_properties(graph, f"MATCH ()-[r:{name}]->()", {}, "r", properties)
    return replace(type_, ends=tuple(ends), count=count, properties=properties)


async def _counted_properties(
    graph: ReadableGraph, match: str, parameters: Mapping[str, str], variable: str, keys: Sequence[PropertyKey]
) -> tuple[int, tuple[PropertyKey, ...]]:
    """Return how many there are, and their properties with statistics."""
    names = [f"{variable}.{quoted_name(each.name, graph.dialect)}" for each in keys]
    text = f"{match} RETURN {', '.join(names) or '1'} LIMIT {_SAMPLE_ROWS}"
    columns = list(zip(*await read_rows_of(graph, text, parameters), strict=True)) or [()] * len(keys)
    shown = ["count(*)"]
    for each, name, values in zip(keys, names, columns, strict=False):
        is_counted = each.type != "list" and not any(map(_is_long, values))
        shown += [f"count({name})", f"count(DISTINCT {name})" if is_counted else "-1"]
        shown += [f"min({name})", f"max({name})"] if is_counted and each.type != "boolean" else ["null", "null"]
    aliased = ", ".join(f"{text} AS c{at}" for at, text in enumerate(shown))
    ((count, *rest),) = await read_rows_of(graph, f"{match} RETURN {aliased}", parameters)
    counted: list[PropertyKey] = []
    for at, (each, name) in enumerate(zip(keys, names, strict=True)):
        own, distinct, *ends = rest[4 * at : 4 * at + 4]
        least, greatest = (None if _is_long(end) or not isinstance(end, str | int | float) else end for end in ends)
        samples = _sorted_samples(columns[at]) if each.type != "list" else ()
        if len(samples) < distinct <= _SAMPLES:  # the first rows lack some
            text = f"{match} RETURN collect(DISTINCT {name})"
            samples = _sorted_samples((await read_rows_of(graph, text, parameters))[0][0])
        different = None if distinct < 0 else distinct
        given = replace(each, count=own, distinct=different, samples=samples)
        counted.append(replace(given, least=least, greatest=greatest))
    return count, tuple(counted)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > _SAMPLE_CHARACTERS


def _sorted_samples(values: Sequence[Any]) -> tuple[Scalar, ...]:
    """Return different values in their order, twenty at most, the first ones."""
    short = (value for value in values if isinstance(value, str | int | float) and not _is_long(value))
    return tuple(sorted(list(dict.fromkeys(short))[:_SAMPLES], key=lambda value: (isinstance(value, str), value)))


def _degrees_of(histogram: list[list[int]]) -> Degrees | None:
    """Return the degrees of a histogram: degree, nodes that have it."""
    nodes = sum(count for _, count in histogram)
    if not nodes:
        return None
    ordered = sorted(histogram)
    passed = accumulate(count for _, count in ordered)
    median = next(degree for (degree, _), up_to in zip(ordered, passed, strict=True) if 2 * up_to >= nodes)
    return Degrees(nodes=nodes, median=median, greatest=ordered[-1][0])
