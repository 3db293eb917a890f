"""What stands in a graph: counts, ranges, samples and degrees of each type, asked in the Cypher that both dialects share.

A type of nodes takes one query over all its nodes, those of one label one query together; a type of relationships one for its properties
and two for degrees. Samples come from the first rows, which takes no scan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from planners.stores.cypher_names import quoted_name
from planners.stores.graph_schema import (
    Degrees,
    GraphSchema,
    NodeType,
    PropertyKey,
    RelationshipEnds,
    RelationshipType,
)
from planners.stores.property_graph import Scalar, Value
from planners.stores.read_rows import read_rows_of

if TYPE_CHECKING:
    from planners.stores.readable_graph import ReadableGraph

__all__ = ["TYPE_PROPERTIES", "graph_census"]

TYPE_PROPERTIES: Mapping[str, str] = {"EgotoolsNode": "type"}
"""Label → the property that tells its types apart: that of the graphs that ingestion writes."""
_SAMPLE_ROWS = 200
"""Rows that samples are taken from."""
_SAMPLES = 20
"""Values at most; a property that has no more is shown whole. Chosen as more than months, quarters and statuses have."""
_SAMPLE_CHARACTERS = 80
"""Of a value; longer ones, sentences and documents, are no samples. Property with a longer one among its first rows are text: their
different values are not counted, which would hold all of them in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """Rows of which properties are counted.

    :param match: ``MATCH …``, up to WHERE.
    :param variable: that has the properties.
    """

    match: str
    variable: str
    parameters: Mapping[str, Value]


async def graph_census(graph: ReadableGraph, schema: GraphSchema) -> GraphSchema:
    """Return a schema with what was counted.

    :raises StatementError: when a query takes too long.
    :raises StorageError: when the engine cannot be reached.
    """
    counter = _Counter(graph, schema)
    nodes = [await counter.nodes(label) for label in dict.fromkeys(node.mark.label for node in schema.nodes)]
    relationships = [await counter.relationship(each) for each in schema.relationships]
    counted = {node.name: node for label in nodes for node in label}
    return GraphSchema(nodes=tuple(counted[node.name] for node in schema.nodes), relationships=tuple(relationships))


class _Counter:
    def __init__(self, graph: ReadableGraph, schema: GraphSchema) -> None:
        self._graph = graph
        self._schema = schema
        self._untyped: set[str] = set()  # labels with nodes that have no type

    async def nodes(self, label: str) -> list[NodeType]:
        """Count the nodes of the types of one label."""
        types = [node for node in self._schema.nodes if node.mark.label == label]
        mark = types[0].mark.property
        samples: dict[str, dict[str, list[Any]]] = {}
        for node in types:
            samples[node.mark.value] = await self._samples(self._of_type(node), node.properties)
        group = f"n.{self._name(mark)}" if mark else ""
        pattern = _Pattern(match=f"MATCH (n:{self._name(label)})", variable="n", parameters={})
        long = _long_texts(samples.values())
        rows = await self._statistics(pattern, group, types[0].properties, long)
        if "None" in rows:
            self._untyped.add(label)
        counted = []
        for node in types:
            count, found = rows.get(node.mark.value, (0, {}))
            properties = [
                _counted(each, found.get(each.name), samples[node.mark.value][each.name]) for each in node.properties
            ]
            whole = await self._few_values(self._of_type(node), properties)
            counted.append(replace(node, count=count, properties=whole))
        return counted

    async def relationship(self, type_: RelationshipType) -> RelationshipType:
        """Count the relationships of a type."""
        match = f"MATCH ()-[r:{self._name(type_.name)}]->()"
        pattern = _Pattern(match=match, variable="r", parameters={})
        ends = await self._ends(type_)
        if not type_.properties:
            return replace(type_, ends=ends, count=sum(each.count for each in ends))
        samples = await self._samples(pattern, type_.properties)
        rows = await self._statistics(pattern, "", type_.properties, _long_texts([samples]))
        count, found = rows.get("", (0, {}))
        properties = [_counted(each, found.get(each.name), samples[each.name]) for each in type_.properties]
        return replace(type_, ends=ends, count=count, properties=await self._few_values(pattern, properties))

    async def _samples(self, pattern: _Pattern, properties: Sequence[PropertyKey]) -> dict[str, list[Any]]:
        """Return the values of the first rows by property."""
        if not properties:
            return {}
        shown = ", ".join(f"{pattern.variable}.{self._name(each.name)}" for each in properties)
        text = f"{pattern.match} RETURN {shown} LIMIT {_SAMPLE_ROWS}"
        rows = await read_rows_of(self._graph, text, pattern.parameters)
        return {each.name: [row[at] for row in rows if row[at] is not None] for at, each in enumerate(properties)}

    async def _statistics(
        self, pattern: _Pattern, group: str, properties: Sequence[PropertyKey], long: set[str]
    ) -> dict[str, tuple[int, dict[str, list[Any]]]]:
        """Return, by group, the count of rows and count, different values, least and greatest of each property."""
        shown = [*([group] if group else []), "count(*)"]
        for each in properties:
            name = f"{pattern.variable}.{self._name(each.name)}"
            ranged = each.type not in ("list", "boolean") and each.name not in long
            distinct = f"count(DISTINCT {name})" if each.type != "list" and each.name not in long else "-1"
            shown += [f"count({name})", distinct, *([f"min({name})", f"max({name})"] if ranged else ["''", "''"])]
        aliased = ", ".join(f"{text} AS c{at}" for at, text in enumerate(shown))
        found = {}
        for row in await read_rows_of(self._graph, f"{pattern.match} RETURN {aliased}"):
            key, count, *rest = row if group else ["", *row]
            by_name = {each.name: rest[4 * at : 4 * at + 4] for at, each in enumerate(properties)}
            found[str(key)] = (count, by_name)
        return found

    async def _few_values(self, pattern: _Pattern, properties: Sequence[PropertyKey]) -> tuple[PropertyKey, ...]:
        """Complete the samples of properties that have few different values: one more query, where the first rows lack some."""
        lacking = [
            each for each in properties if each.distinct is not None and len(each.samples) < each.distinct <= _SAMPLES
        ]
        if not lacking:
            return tuple(properties)
        shown = ", ".join(f"collect(DISTINCT {pattern.variable}.{self._name(each.name)})" for each in lacking)
        (values,) = await read_rows_of(self._graph, f"{pattern.match} RETURN {shown}", pattern.parameters)
        whole = {each.name: _sorted_samples(found) for each, found in zip(lacking, values, strict=True)}
        return tuple(replace(each, samples=whole.get(each.name, each.samples)) for each in properties)

    async def _ends(self, type_: RelationshipType) -> tuple[RelationshipEnds, ...]:
        """Count the relationships between each pair of types, and their degrees."""
        marks = {node.name: node.mark for node in self._schema.nodes}
        by_labels: dict[tuple[str, str], list[RelationshipEnds]] = defaultdict(list)
        for each in type_.ends:
            by_labels[marks[each.source].label, marks[each.target].label].append(each)
        counted = []
        for (source, target), pairs in by_labels.items():
            match = f"MATCH (a:{self._name(source)})-[:{self._name(type_.name)}]->(b:{self._name(target)})"
            alone = len(pairs) == 1 and self._untyped.isdisjoint((source, target))
            kinds = [
                f"{variable}.{self._name(mark)}" if (mark := marks[name].property) and not alone else "''"
                for variable, name in (("a", pairs[0].source), ("b", pairs[0].target))
            ]
            out, in_ = [await self._degrees(match, kinds, variable) for variable in "ab"]
            for pair in pairs:
                key = ("", "") if alone else (marks[pair.source].value, marks[pair.target].value)
                count = sum(degree * nodes for degree, nodes in out.get(key, []))
                counted.append(
                    replace(
                        pair,
                        count=count,
                        outgoing=_degrees_of(out.get(key, [])),
                        incoming=_degrees_of(in_.get(key, [])),
                    )
                )
        return tuple(sorted(counted, key=lambda each: (each.source, each.target)))

    async def _degrees(
        self, match: str, kinds: Sequence[str], variable: str
    ) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """Return, by types of the ends, degrees and how many nodes at one end have each."""
        text = (
            f"{match} WITH {kinds[0]} AS s, {kinds[1]} AS t, id({variable}) AS i, count(*) AS d "
            "RETURN s, t, d, count(*) AS n"
        )
        found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for source, target, degree, nodes in await read_rows_of(self._graph, text):
            found[str(source), str(target)].append((degree, nodes))
        return found

    def _of_type(self, node: NodeType) -> _Pattern:
        match, mark = f"MATCH (n:{self._name(node.mark.label)})", node.mark.property
        if not mark:
            return _Pattern(match=match, variable="n", parameters={})
        return _Pattern(
            match=f"{match} WHERE n.{self._name(mark)} = $p0", variable="n", parameters={"p0": node.mark.value}
        )

    def _name(self, name: str) -> str:
        return quoted_name(name, self._graph.dialect)


def _long_texts(samples: Any) -> set[str]:
    """Return the properties that have a long value."""
    return {
        name
        for by_name in samples
        for name, values in by_name.items()
        if any(isinstance(value, str) and len(value) > _SAMPLE_CHARACTERS for value in values)
    }


def _counted(each: PropertyKey, found: list[Any] | None, values: list[Any]) -> PropertyKey:
    """Return a property with its statistics: count, different values, least and greatest."""
    count, distinct, least, greatest = found or (0, 0, None, None)
    ranged = each.type not in ("list", "boolean") and distinct > 0
    return replace(
        each,
        count=count,
        distinct=distinct if distinct >= 0 else None,
        least=_bound(least) if ranged else None,
        greatest=_bound(greatest) if ranged else None,
        samples=_sorted_samples(values) if each.type != "list" else (),
    )


def _bound(value: Any) -> Scalar | None:
    return (
        value
        if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _SAMPLE_CHARACTERS)
        else None
    )


def _sorted_samples(values: Sequence[Any]) -> tuple[Scalar, ...]:
    """Return different values in their order, twenty at most, the first ones."""
    short = (value for value in values if not isinstance(value, str) or len(value) <= _SAMPLE_CHARACTERS)
    kept = list(dict.fromkeys(value for value in short if isinstance(value, str | int | float)))[:_SAMPLES]
    return tuple(sorted(kept, key=lambda value: (isinstance(value, str), value)))


def _degrees_of(histogram: Sequence[tuple[int, int]]) -> Degrees | None:
    """Return the degrees of a histogram: degree, nodes that have it."""
    nodes = sum(count for _, count in histogram)
    if not nodes:
        return None
    ordered = sorted(histogram)
    passed = accumulate(count for _, count in ordered)
    median = next(degree for (degree, _), up_to in zip(ordered, passed, strict=True) if 2 * up_to >= nodes)
    return Degrees(nodes=nodes, median=median, greatest=ordered[-1][0])
