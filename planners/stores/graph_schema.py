"""The seam of graphs that are only read, their schema, and the census that counts what stands in them.

A *type* is what people mean by it. Most graphs have a label for each; some give every node one label and keep its type in a
property. ``TypeMark`` says which, so that whoever reads a schema sees types alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from ontology.errors import NotFoundError
from ontology.json_values import canonical_text
from planners.stores.property_graph import QueryLimits, Scalar, Value
from planners.stores.statements import quoted_name

__all__ = [
    "TYPE_PROPERTIES",
    "UNDIRECTED",
    "CypherDialect",
    "Degrees",
    "GraphSchema",
    "NodeType",
    "PropertyKey",
    "PropertyType",
    "ReadableGraph",
    "RelationshipEnds",
    "RelationshipType",
    "RowStream",
    "TypeMark",
    "graph_census",
    "marked_ends",
    "marked_nodes",
    "read_rows_of",
]

CypherDialect: TypeAlias = Literal["ladybug", "bolt"]
"""Which Cypher: that of Ladybug, whose paths are walks, or that of Neo4j, whose paths are trails."""
PropertyType: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "list"]
UNDIRECTED = "undirected"
"""The comment on a table of relationships that have no direction."""
TYPE_PROPERTIES: Mapping[str, str] = {"EgotoolsNode": "type"}
"""Label → the property that tells its types apart: that of the graphs that ingestion writes."""
_OWN_LIMITS = QueryLimits(rows=1_000_000, seconds=300.0)
"""Of queries about types, which give few rows; the time is for graphs tenfold the largest of ours, whose census takes seconds."""
_SAMPLE_ROWS = 200
"""Rows that samples are taken from: the first ones, which takes no scan."""
_SAMPLES = 20
"""Values at most; a property that has no more is shown whole. Chosen as more than months, quarters and statuses have."""
_SAMPLE_CHARACTERS = 80
"""Of a value; longer ones, sentences and documents, are no samples. Property with a longer one among its first rows are text: their
different values are not counted, which would hold all of them in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyKey:
    """A property of a type.

    :param count: nodes or relationships that have a value.
    :param distinct: different values; None where they were not counted.
    :param least: the smallest value of numbers, dates and strings; None where there is none.
    :param greatest: the largest, likewise.
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
    """How the nodes of a type are known.

    :param label: of the engine.
    :param property: that tells the types of one label apart; empty where the label is the type.
    :param value: of that property.
    """

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
    """A type of relationships; its name is that of the engine.

    :param undirected: whether they have no direction: which end is the source then says nothing.
    """

    name: str
    ends: tuple[RelationshipEnds, ...]
    count: int = 0
    properties: tuple[PropertyKey, ...] = ()
    undirected: bool = False


_T = TypeVar("_T", NodeType, RelationshipType)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSchema:
    """All types of a graph, sorted by name."""

    nodes: tuple[NodeType, ...]
    relationships: tuple[RelationshipType, ...]

    def node(self, name: str) -> NodeType:
        """Return a node type.

        :raises NotFoundError: when there is none of this name.
        """
        return _named(self.nodes, name, "node type")

    def relationship(self, name: str) -> RelationshipType:
        """Return a relationship type.

        :raises NotFoundError: when there is none of this name.
        """
        return _named(self.relationships, name, "relationship type")

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


def _named(types: Sequence[_T], name: str, what: str) -> _T:
    for each in types:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in types[:40])
    raise NotFoundError(f"the graph has no such {what}", subject=name, remedy=f"Use one of {known}")


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


async def marked_nodes(graph: ReadableGraph, node: NodeType, property_name: str) -> list[NodeType]:
    """Return the types of a label.

    :param property_name: that tells them apart; empty, or none of the label's: the label is the type.
    """
    if property_name not in {each.name for each in node.properties}:
        return [node]
    label, name = (quoted_name(text, graph.dialect) for text in (node.mark.label, property_name))
    found = await read_rows_of(graph, f"MATCH (n:{label}) RETURN DISTINCT n.{name}")
    rest = tuple(each for each in node.properties if each.name != property_name)
    return [
        replace(node, name=value, mark=replace(node.mark, property=property_name, value=value), properties=rest)
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


async def graph_census(graph: ReadableGraph, schema: GraphSchema) -> GraphSchema:
    """Return a schema with what was counted, in the Cypher that both dialects share.

    The types of one label take one query over all its nodes; a type of relationships one for its properties and two for degrees.

    :raises StatementError: when a query takes too long.
    """
    census = _Census(graph, schema)
    nodes: dict[str, NodeType] = {}
    for label in dict.fromkeys(node.mark.label for node in schema.nodes):
        nodes.update({node.name: node for node in await census.nodes(label)})
    relationships = tuple([await census.relationship(each) for each in schema.relationships])
    return GraphSchema(nodes=tuple(nodes[node.name] for node in schema.nodes), relationships=relationships)


class _Census:
    def __init__(self, graph: ReadableGraph, schema: GraphSchema) -> None:
        self._graph = graph
        self._marks = {node.name: node.mark for node in schema.nodes}
        self._types = schema.nodes
        self._untyped: set[str] = set()  # labels with nodes that have no type

    def _name(self, name: str) -> str:
        return quoted_name(name, self._graph.dialect)

    async def nodes(self, label: str) -> list[NodeType]:
        """Count the nodes of the types of one label."""
        match = f"MATCH (n:{self._name(label)})"
        types = [node for node in self._types if node.mark.label == label]
        group = f"n.{self._name(types[0].mark.property)}" if types[0].mark.property else ""
        of_type = {
            node.name: (f"{match} WHERE {group} = $p0", {"p0": node.mark.value}) if group else (match, {})
            for node in types
        }
        samples = {node.name: await self._samples(*of_type[node.name], "n", node.properties) for node in types}
        counts = await self._counts(match, group, "n", types[0].properties, _long_texts(samples.values()))
        if "None" in counts:
            self._untyped.add(label)
        counted = []
        for node in types:
            count, found = counts.get(node.mark.value, (0, {}))
            own = samples[node.name]
            properties = [_counted(each, found.get(each.name), own[each.name]) for each in node.properties]
            whole = await self._few_values(*of_type[node.name], "n", properties)
            counted.append(replace(node, count=count, properties=whole))
        return counted

    async def relationship(self, type_: RelationshipType) -> RelationshipType:
        """Count the relationships of a type."""
        match = f"MATCH ()-[r:{self._name(type_.name)}]->()"
        ends = await self._ends(type_)
        if not type_.properties:
            return replace(type_, ends=ends, count=sum(each.count for each in ends))
        samples = await self._samples(match, {}, "r", type_.properties)
        counts = await self._counts(match, "", "r", type_.properties, _long_texts([samples]))
        count, found = counts.get("", (0, {}))
        properties = [_counted(each, found.get(each.name), samples[each.name]) for each in type_.properties]
        whole = await self._few_values(match, {}, "r", properties)
        return replace(type_, ends=ends, count=count, properties=whole)

    async def _samples(
        self, match: str, parameters: Mapping[str, Value], variable: str, properties: Sequence[PropertyKey]
    ) -> dict[str, list[Any]]:
        """Return the values of the first rows by property."""
        if not properties:
            return {}
        shown = ", ".join(f"{variable}.{self._name(each.name)}" for each in properties)
        rows = await read_rows_of(self._graph, f"{match} RETURN {shown} LIMIT {_SAMPLE_ROWS}", parameters)
        return {each.name: [row[at] for row in rows if row[at] is not None] for at, each in enumerate(properties)}

    async def _counts(
        self, match: str, group: str, variable: str, properties: Sequence[PropertyKey], long: set[str]
    ) -> dict[str, tuple[int, dict[str, list[Any]]]]:
        """Return, by group, the count of rows and count, different values, least and greatest of each property."""
        shown = [group or "''", "count(*)"]
        for each in properties:
            name = f"{variable}.{self._name(each.name)}"
            is_counted = each.type != "list" and each.name not in long
            is_ranged = is_counted and each.type != "boolean"
            shown += [f"count({name})", f"count(DISTINCT {name})" if is_counted else "-1"]
            shown += [f"min({name})", f"max({name})"] if is_ranged else ["''", "''"]
        aliased = ", ".join(f"{text} AS c{at}" for at, text in enumerate(shown))
        found = {}
        for key, count, *rest in await read_rows_of(self._graph, f"{match} RETURN {aliased}"):
            found[str(key)] = count, {each.name: rest[4 * at : 4 * at + 4] for at, each in enumerate(properties)}
        return found

    async def _few_values(
        self, match: str, parameters: Mapping[str, Value], variable: str, properties: Sequence[PropertyKey]
    ) -> tuple[PropertyKey, ...]:
        """Complete the samples of properties that have few different values: one more query, where the first rows lack some."""
        lacking = [
            each for each in properties if each.distinct is not None and len(each.samples) < each.distinct <= _SAMPLES
        ]
        if not lacking:
            return tuple(properties)
        shown = ", ".join(f"collect(DISTINCT {variable}.{self._name(each.name)})" for each in lacking)
        (values,) = await read_rows_of(self._graph, f"{match} RETURN {shown}", parameters)
        whole = {each.name: _sorted_samples(found) for each, found in zip(lacking, values, strict=True)}
        return tuple(replace(each, samples=whole.get(each.name, each.samples)) for each in properties)

    async def _ends(self, type_: RelationshipType) -> tuple[RelationshipEnds, ...]:
        """Count the relationships between each pair of types, and their degrees."""
        by_labels: dict[tuple[str, str], list[RelationshipEnds]] = defaultdict(list)
        for each in type_.ends:
            by_labels[self._marks[each.source].label, self._marks[each.target].label].append(each)
        counted = []
        for (source, target), pairs in by_labels.items():
            match = f"MATCH (a:{self._name(source)})-[:{self._name(type_.name)}]->(b:{self._name(target)})"
            alone = len(pairs) == 1 and self._untyped.isdisjoint((source, target))
            marks = [self._marks[name] for name in (pairs[0].source, pairs[0].target)]
            kinds = [
                f"{end}.{self._name(mark.property)}" if mark.property and not alone else "''"
                for end, mark in zip("ab", marks, strict=True)
            ]
            out, in_ = [await self._degrees(match, kinds, end) for end in "ab"]
            for pair in pairs:
                key = ("", "") if alone else (self._marks[pair.source].value, self._marks[pair.target].value)
                outgoing, incoming = out.get(key, []), in_.get(key, [])
                count = sum(degree * nodes for degree, nodes in outgoing)
                degrees = _degrees_of(outgoing), _degrees_of(incoming)
                counted.append(replace(pair, count=count, outgoing=degrees[0], incoming=degrees[1]))
        return tuple(sorted(counted, key=lambda each: (each.source, each.target)))

    async def _degrees(
        self, match: str, kinds: Sequence[str], end: str
    ) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """Return, by types of the ends, degrees and how many nodes at one end have each."""
        grouped = f"WITH {kinds[0]} AS s, {kinds[1]} AS t, id({end}) AS i, count(*) AS d RETURN s, t, d, count(*) AS n"
        found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for source, target, degree, nodes in await read_rows_of(self._graph, f"{match} {grouped}"):
            found[str(source), str(target)].append((degree, nodes))
        return found


def _long_texts(samples: Any) -> set[str]:
    """Return the properties that have a long value."""
    return {name for by_name in samples for name, values in by_name.items() if any(map(_is_long, values))}


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > _SAMPLE_CHARACTERS


def _counted(each: PropertyKey, found: list[Any] | None, values: list[Any]) -> PropertyKey:
    """Return a property with its statistics: count, different values, least and greatest."""
    count, distinct, *ends = found or (0, 0, None, None)
    is_ranged = each.type not in ("list", "boolean") and distinct > 0
    least, greatest = (
        value if is_ranged and isinstance(value, int | float | str) and not _is_long(value) else None for value in ends
    )
    samples = _sorted_samples(values) if each.type != "list" else ()
    different = distinct if distinct >= 0 else None
    return replace(each, count=count, distinct=different, least=least, greatest=greatest, samples=samples)


def _sorted_samples(values: Sequence[Any]) -> tuple[Scalar, ...]:
    """Return different values in their order, twenty at most, the first ones."""
    short = (value for value in values if isinstance(value, str | int | float) and not _is_long(value))
    return tuple(sorted(list(dict.fromkeys(short))[:_SAMPLES], key=lambda value: (isinstance(value, str), value)))


def _degrees_of(histogram: Sequence[tuple[int, int]]) -> Degrees | None:
    """Return the degrees of a histogram: degree, nodes that have it."""
    nodes = sum(count for _, count in histogram)
    if not nodes:
        return None
    ordered = sorted(histogram)
    passed = accumulate(count for _, count in ordered)
    median = next(degree for (degree, _), up_to in zip(ordered, passed, strict=True) if 2 * up_to >= nodes)
    return Degrees(nodes=nodes, median=median, greatest=ordered[-1][0])
