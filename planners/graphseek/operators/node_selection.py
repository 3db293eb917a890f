"""Selections of nodes: by type and filters, or those of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.operator import OperatorContext, OperatorFault
from planners.graphseek.operators.property_filter import Filter, filter_conditions, parse_filters
from planners.graphseek.operators.table_arguments import nearest_hint, stored
from planners.graphseek.results.result import ResultColumn
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType

__all__ = [
    "Selection",
    "match_selection",
    "node_type",
    "parse_selection",
    "relationship_types",
    "resolve_selection",
    "selection_conditions",
]

_MOST_IDS = 10_000
"""Of a result that a query starts from: the default limit of a table. Looking up 10,000 keys takes 0.2 s in Ladybug."""
_PAGE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Nodes.

    :param type: None: of any type.
    :param types: that its nodes may be of.
    :param ids: of a result; None: all that the type and the filters say.
    :param shown: as titles show it.
    """

    type: NodeType | None
    types: tuple[NodeType, ...]
    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] | None = None
    shown: str


def node_type(schema: GraphSchema, name: str) -> NodeType:
    """Return a type of nodes.

    :raises OperatorFault: with the nearest name where there is none.
    """
    for each in schema.nodes:
        if each.name == name:
            return each
    hint = nearest_hint(name, [each.name for each in schema.nodes])
    raise OperatorFault("unknown name", f"the graph has no node type {name[:60]}", hint)


def relationship_types(schema: GraphSchema, names: Sequence[str]) -> tuple[RelationshipType, ...]:
    """Return types of relationships.

    :raises OperatorFault: with the nearest name where there is none.
    """
    known = {each.name: each for each in schema.relationships}
    for name in names:
        if name not in known:
            hint = nearest_hint(str(name), list(known))
            raise OperatorFault("unknown name", f"the graph has no relationship type {str(name)[:60]}", hint)
    return tuple(known[name] for name in dict.fromkeys(names))


async def resolve_selection(raw: Mapping[str, Any], context: OperatorContext) -> dict[str, Any]:
    """Return a selection whose handle is replaced by the ids of its nodes, so that compiling needs no results.

    :raises OperatorFault: when the handle names none, has no nodes, or too many.
    """
    if "handle" not in raw:
        return dict(raw)
    found = stored(context, raw["handle"], "table", "graph")
    type_ = str(raw.get("type", ""))
    if found.kind == "graph":
        part = await context.results.graph(found.handle)
        ids = [each.id for each in part.nodes if type_ in ("", each.type)]
    else:
        at = _node_column(found.handle, found.columns, raw.get("column"))
        type_ = type_ or found.columns[at].node_type
        ids = []
        for offset in range(0, min(found.size, _MOST_IDS + 1), _PAGE):
            rows = await context.results.rows(found.handle, offset=offset, limit=_PAGE)
            ids += [str(row[at]) for row in rows if row[at] is not None]
    distinct = list(dict.fromkeys(ids))
    if not distinct:
        said = f" of type {type_}" if type_ else ""
        raise OperatorFault("empty", f"{found.handle} has no nodes{said}", "Start from another result, or from a type")
    if len(distinct) > _MOST_IDS:
        hint = "Say its type and filters instead of the handle, or make a smaller result"
        raise OperatorFault("too large", f"{found.handle} has more than {_MOST_IDS:,} nodes", hint)
    types = {each.name for part in context.dialect.parts_of_ids(context.schema, distinct) for each in part.types}
    known = [each.name for each in context.schema.nodes]
    named = [each for each in known if each in types] if len(types) < len(known) else []
    type_ = type_ or (named[0] if len(named) == 1 else "")
    return {"ids": distinct, "type": type_, "types": named, "shown": found.handle}


def parse_selection(raw: Mapping[str, Any], schema: GraphSchema) -> Selection:
    """Return a selection that was resolved.

    :raises OperatorFault: for what the schema does not know.
    """
    if "ids" in raw:
        type_ = node_type(schema, raw["type"]) if raw.get("type") else None
        types = (type_,) if type_ else tuple(node_type(schema, each) for each in raw.get("types", ())) or schema.nodes
        return Selection(type=type_, types=types, ids=tuple(raw["ids"]), shown=raw.get("shown", "the nodes"))
    if "type" not in raw:
        raise OperatorFault("arguments", "a selection has neither a type nor a handle", "Give one of them")
    type_ = node_type(schema, str(raw["type"]))
    filters = parse_filters(raw.get("filters", ()), (type_,))
    shown = " and ".join(each.shown for each in filters)
    shown = f"{type_.name} with {shown}" if filters else type_.name
    return Selection(type=type_, types=(type_,), filters=filters, shown=shown)


def match_selection(text: CypherText, variable: str, selection: Selection) -> None:
    """Write the clauses that match the nodes of a selection."""
    if selection.ids is not None:
        text.dialect.choose(text, variable, selection.type, selection.ids)
        return
    text.add(f"MATCH {text.node(variable, selection.types)}")
    text.where(selection_conditions(text, variable, selection))


def selection_conditions(text: CypherText, variable: str, selection: Selection) -> list[str]:
    """Return what holds for the nodes of a selection, beside their label."""
    return [*text.of_type(variable, selection.type), *filter_conditions(text, variable, selection.filters)]


def _node_column(handle: str, columns: Sequence[ResultColumn], name: str | None) -> int:
    places = [at for at, column in enumerate(columns) if column.type == "node"]
    if name:
        names = [each.name for each in columns]
        if name not in names:
            raise OperatorFault("unknown name", f"{handle} has no column {name[:60]}", nearest_hint(name, names))
        if names.index(name) in places:
            return names.index(name)
        raise OperatorFault("arguments", f"the column {name} of {handle} has no nodes", _columns(columns, places))
    if len(places) == 1:
        return places[0]
    many = "several columns" if places else "no column"
    raise OperatorFault("arguments", f"{handle} has {many} of nodes", _columns(columns, places))


def _columns(columns: Sequence[ResultColumn], places: Sequence[int]) -> str:
    if not places:
        return "Start from a type and filters, or from another result"
    return f"Name one with column: {', '.join(columns[at].name for at in places)}"
