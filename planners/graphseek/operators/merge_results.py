"""``merge``: union, intersection or difference of tables or of graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ontology.json_object import canonical_text
from planners.graphseek.operators.graph_parts import MOST_EDGES, MOST_NODES
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import (
    MOST_ROWS,
    column_place,
    column_sql,
    stored,
    type_family,
)
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import GraphPart, Result, ResultColumn, ResultEdge
from planners.graphseek.results.table_filling import TableQuery

__all__ = ["OPERATOR"]

_KEPT = {"union": "", "intersection": " HAVING COUNT(DISTINCT place) = {count}", "difference": " HAVING SUM(place) = 0"}


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    results = [stored(context, each, "table", "graph") for each in arguments["handles"]]
    how, title = arguments["how"], f"{arguments['how']} of {', '.join(arguments['handles'])}"
    kinds = {each.kind for each in results}
    if len(kinds) > 1:
        raise OperatorFault("arguments", "Tables and graphs cannot be merged", "Take to_table of the graphs first")
    if kinds == {"table"}:
        columns = _common(results)
        kept = {each.name for each in columns}
        left_out = [each.name for each in results[0].columns if each.name not in kept]
        notes = [f"Not all tables have {', '.join(left_out)}, which are left out."] if left_out else []
        return await context.results.keep_query(_query(results, columns, how), title=title, most=MOST_ROWS, notes=notes)
    part = _merged([await context.results.graph(each.handle) for each in results], how)
    cut = len(part.nodes) > MOST_NODES or len(part.edges) > MOST_EDGES
    return await context.results.keep_graph(_cut(part) if cut else part, title=title, cut=cut)


def _common(tables: Sequence[Result]) -> list[ResultColumn]:
    """Return the columns of the first table that all have."""
    shapes = [{(each.name, type_family(each)) for each in table.columns} for table in tables]
    common = [each for each in tables[0].columns if all((each.name, type_family(each)) in shape for shape in shapes)]
    numbers = {each.name for table in tables for each in table.columns if each.type == "number"}
    common = [replace(each, type="number") if each.name in numbers else each for each in common]
    if not common:
        others = ", ".join(each.name for each in tables[1].columns)
        raise OperatorFault(
            "arguments",
            "The tables have no column in common",
            f"Join them on a column; {tables[1].handle} has {others}",
        )
    return common


def _query(tables: Sequence[Result], columns: Sequence[ResultColumn], how: str) -> TableQuery:
    names = [f"k{at}" for at in range(len(columns))]
    parts = []
    for place, table in enumerate(tables):
        cells = [
            f"{column_sql(column_place(table, each.name))} AS {name}" for each, name in zip(columns, names, strict=True)
        ]
        parts.append(
            f'SELECT {", ".join(cells)}, {place} AS place, {place << 40} + rowid AS rank FROM "{table.handle}"'
        )
    nodes = [name for each, name in zip(columns, names, strict=True) if each.type == "node"]
    key = ", ".join(nodes[:1] or names)
    kept = _KEPT[how].format(count=len(tables))
    first = f"SELECT *, MIN(rank) AS first FROM ({' UNION ALL '.join(parts)}) GROUP BY {key}{kept}"  # the row of the least rank
    return TableQuery(
        columns=tuple(columns),
        text=f"SELECT {', '.join(names)} FROM ({first}) ORDER BY first",
        of=tuple(each.handle for each in tables),
    )


def _merged(parts: Sequence[GraphPart], how: str) -> GraphPart:
    """Return the merged graph: nodes by id, relationships by ends, type and properties; of equal parallel ones the first, the second …"""
    nodes = {each.id: each for part in reversed(parts) for each in part.nodes}
    edge_maps = [_keyed(part.edges) for part in parts]
    edges = {key: edge for keyed in reversed(edge_maps) for key, edge in keyed.items()}
    kept_nodes = _combined([dict.fromkeys(each.id for each in part.nodes) for part in parts], how)
    kept_edges = (edges[key] for key in _combined(edge_maps, how))
    known = set(kept_nodes) if how == "difference" else set(nodes)
    return GraphPart(
        nodes=tuple(nodes[each] for each in kept_nodes),
        edges=tuple(each for each in kept_edges if each.source in known and each.target in known),
    )


def _combined(keyed: Sequence[Mapping[str, Any]], how: str) -> list[str]:
    """Return the keys that stay, in the order of the parts."""
    if how == "union":
        return list(dict.fromkeys(key for each in keyed for key in each))
    first, *others = keyed
    if how == "intersection":
        return [key for key in first if all(key in each for each in others)]
    return [key for key in first if not any(key in each for each in others)]


def _keyed(edges: Sequence[ResultEdge]) -> dict[str, ResultEdge]:
    counts: Counter[str] = Counter()
    keyed = {}
    for edge in edges:
        key = canonical_text([edge.type, edge.source, edge.target, dict(edge.properties)])
        keyed[f"{counts[key]} {key}"] = edge
        counts[key] += 1
    return keyed


def _cut(part: GraphPart) -> GraphPart:
    nodes = part.nodes[:MOST_NODES]
    known = {each.id for each in nodes}
    edges = [each for each in part.edges if each.source in known and each.target in known]
    return GraphPart(nodes=nodes, edges=tuple(edges[:MOST_EDGES]))


OPERATOR: Operator = TypedOperator(
    name="merge",
    group="retrieval",
    description=(
        "Union, intersection or difference (the first without the others) of tables or of graphs. Tables of nodes are compared by the "
        "node, other tables by the columns that all have; each row stands once, as in the first table that has it."
    ),
    forms=lambda forms: {
        "handles": {"type": "array", "items": forms.handle("tg"), "minItems": 2, "maxItems": 10},
        "how": {"type": "string", "enum": list(_KEPT)},
    },
    required=("handles", "how"),
    runs=_run,
)
