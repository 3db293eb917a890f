"""Parts of the graph as results: nodes by their ids, the relationships among them, and both within the limits of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from planners.graphseek.dialects.cypher_text import Compiled, CypherText, Dialect
from planners.graphseek.operators.graph_query import fetch_rows
from planners.graphseek.operators.neighbour_reach import Reach, steps_of
from planners.graphseek.operators.node_naming import NodeReader, node_column, without_nulls
from planners.graphseek.operators.node_selection import Selection, match_selection
from planners.graphseek.operators.operator import OperatorContext
from planners.graphseek.results.result import ResultColumn, ResultEdge, ResultNode
from planners.stores.graph_schema import GraphSchema, RelationshipType

__all__ = ["MOST_EDGES", "MOST_NODES", "edges_among", "nodes_of"]

MOST_NODES = 2_000
"""Of a graph: four times the largest of the paper (522), and what a page draws."""
MOST_EDGES = 5_000
"""Of a graph: more than two for each node."""


def _nodes_query(selection: Selection, schema: GraphSchema, dialect: Dialect, *, most: int) -> Compiled:
    """Return the query of the nodes of a selection, as values."""
    text = CypherText(schema, dialect)
    match_selection(text, "n0", selection)
    text.returns((node_column(),), ("n0",))
    text.add(f"LIMIT {text.parameter(most)}")
    return text.compiled()


async def nodes_of(context: OperatorContext, selection: Selection, *, most: int) -> tuple[list[ResultNode], bool]:
    """Return the nodes of a selection, and whether there are more."""
    found: dict[str, ResultNode] = {}
    reader = NodeReader(context.schema, context.catalog)
    cut = False
    for part in _parts(context, selection):
        compiled = _nodes_query(part, context.schema, context.dialect, most=most + 1)
        rows, more = await fetch_rows(context, compiled, most=most)
        found |= {node.id: node for node in (reader.node(row[0]) for row in rows)}
        cut = cut or more
    return list(found.values())[:most], cut or len(found) > most


def _edges_query(
    ids: Sequence[str], types: Sequence[RelationshipType], schema: GraphSchema, dialect: Dialect
) -> Compiled:
    """Return the query of the relationships among nodes: one part for each that :meth:`Dialect.parts_of_ids` gives."""
    text = CypherText(schema, dialect)
    columns = [ResultColumn(name=name, type="string") for name in ("source", "type", "target", "properties")]
    for nth, sources in enumerate(dialect.parts_of_ids(schema, ids)):
        if nth:
            text.add("UNION ALL")
        begin = dialect.choose(text, "n0", None, sources.ids)
        steps = steps_of(text, "(n0)", "(n1)", Reach(types=tuple(types)))
        text.add(f"{begin} {steps.between(f'e0{steps.types}')}")
        text.where([text.one_of_ids("n1", schema.nodes, ids)])
        text.add(f"WITH n0, n1, e0 WHERE {dialect.identity('n1')} IS NOT NULL")
        source, target = text.node_id("n0", sources.types), text.node_id("n1", schema.nodes)
        text.returns(columns, (source, dialect.relationship_type("e0"), target, "properties(e0)"))
        text.add(f"LIMIT {text.parameter(MOST_EDGES + 1)}")
    return text.compiled()


async def edges_among(
    context: OperatorContext, ids: Sequence[str], types: Sequence[RelationshipType] = ()
) -> tuple[list[ResultEdge], bool]:
    """Return the relationships among nodes, and whether there are more.

    :param types: of relationships; empty: all.
    """
    if not (context.schema.relationships and ids):
        return [], False
    compiled = _edges_query(ids, types, context.schema, context.dialect)
    rows, cut = await fetch_rows(context, compiled, most=MOST_EDGES)
    return [
        ResultEdge(
            type=str(type_),
            source=str(source),
            target=str(target),
            properties=without_nulls(cast(Mapping[str, object], properties or {})),
        )
        for source, type_, target, properties in rows
    ], cut


def _parts(context: OperatorContext, selection: Selection) -> list[Selection]:
    """Return a selection of a result in parts that are looked up fast."""
    if selection.ids is None:
        return [selection]
    return [
        Selection(type=selection.type, types=part.types, ids=part.ids, shown=selection.shown)
        for part in context.dialect.parts_of_ids(context.schema, selection.ids)
    ]
