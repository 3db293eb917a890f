"""Types that a property tells apart among the nodes of one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planners.stores.cypher_names import quoted_name
from planners.stores.graph_schema import NodeType, RelationshipEnds, TypeMark
from planners.stores.read_rows import read_rows_of

if TYPE_CHECKING:
    from planners.stores.readable_graph import ReadableGraph

__all__ = ["marked_ends", "marked_nodes"]


async def marked_nodes(graph: ReadableGraph, node: NodeType, property_name: str) -> list[NodeType]:
    """Return the types of a label.

    :param property_name: that tells them apart; empty, or none of the label's: the label is the type.
    """
    if property_name not in {each.name for each in node.properties}:
        return [node]
    label, name = (quoted_name(text, graph.dialect) for text in (node.mark.label, property_name))
    found = await read_rows_of(graph, f"MATCH (n:{label}) RETURN DISTINCT n.{name}")
    rest = tuple(each for each in node.properties if each.name != property_name)
    marks = [
        TypeMark(label=node.mark.label, property=property_name, value=value)
        for (value,) in found
        if isinstance(value, str)
    ]
    return [replace(node, name=mark.value, mark=mark, properties=rest) for mark in marks]


async def marked_ends(
    graph: ReadableGraph, type_: str, pairs: Sequence[tuple[str, str]], nodes: Sequence[NodeType]
) -> tuple[RelationshipEnds, ...]:
    """Return the pairs of types that relationships connect, from the pairs of their labels."""
    properties = {node.mark.label: node.mark.property for node in nodes}
    found: set[tuple[str, str]] = set()
    for source, target in pairs:
        ends = [properties.get(source, ""), properties.get(target, "")]
        if not any(ends):
            found.add((source, target))
            continue
        names = [quoted_name(text, graph.dialect) for text in (source, type_, target)]
        shown = [
            f"{variable}.{quoted_name(name, graph.dialect)}" if name else "''"
            for variable, name in zip("ab", ends, strict=True)
        ]
        text = f"MATCH (a:{names[0]})-[:{names[1]}]->(b:{names[2]}) RETURN DISTINCT {shown[0]}, {shown[1]}"
        for row in await read_rows_of(graph, text):
            if None not in row:
                found.add((row[0] or source, row[1] or target))
    return tuple(RelationshipEnds(source=source, target=target) for source, target in sorted(found))
