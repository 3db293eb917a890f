"""Neighbours within so many hops: which relationships are followed, which types they lead to, and the clauses that match them.

A node is no neighbour of itself. What is reached in several ways counts once, at the least number of its hops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from planners.graphseek.dialects.cypher_text import CypherText, Steps
from planners.graphseek.operators.node_selection import (
    Selection,
    node_type,
    parse_selection,
    relationship_types,
    selection_conditions,
)
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.property_filter import Filter, filter_conditions, parse_filters
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType

__all__ = [
    "MOST_HOPS",
    "Direction",
    "End",
    "Reach",
    "end_conditions",
    "match_reach",
    "parse_end",
    "parse_neighbours",
    "parse_reach",
    "reversed_direction",
    "steps_of",
    "write_least_hops",
]

MOST_HOPS = 6
Direction: TypeAlias = Literal["out", "in", "both"]
_ARROWS = {"out": "->", "in": "<-", "both": "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far, and along what.

    :param types: of relationships; empty: all.
    :param filters: that each relationship on the way satisfies.
    """

    types: tuple[RelationshipType, ...] = ()
    direction: Direction = "out"
    hops: int = 1
    filters: tuple[Filter, ...] = ()

    @property
    def shown(self) -> str:
        """Return the words for it in the title of a result."""
        names = "/".join(each.name for each in self.types) or "any relationship"
        hops = f" within {self.hops} hops" if self.hops > 1 else ""
        return f"{names} ({self.direction}){hops}"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Which of the nodes that are reached are meant.

    :param type: None: several types.
    :param types: those that can be reached, of which it is.
    :param filters: on their properties.
    :param is_narrowed: whether ``types`` was asked for, so that the query has to say it.
    """

    type: NodeType | None
    types: tuple[NodeType, ...]
    filters: tuple[Filter, ...] = ()
    is_narrowed: bool = False

    @property
    def shown(self) -> str:
        """Return the words for it in the title of a result."""
        return "/".join(each.name for each in self.types[:4]) + (" and others" if len(self.types) > 4 else "")


def parse_reach(
    arguments: Mapping[str, Any], schema: GraphSchema, *, hops: int = 1, direction: Direction = "out"
) -> Reach:
    """Return what arguments say of relationships; those without a direction are followed in both.

    :param hops: the default; ``direction`` likewise.
    :raises OperatorFault: for an unknown name, or a number of hops that is out of range.
    """
    most = arguments.get("max_hops", hops)
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_HOPS:
        problem = f"max_hops is {most!r}"
        raise OperatorFault("arguments", problem, f"Use 1 to {MOST_HOPS}; go on from the result for more")
    if not schema.relationships:
        raise OperatorFault("empty", "the graph has no relationships", "Use get_nodes or find")
    types = relationship_types(schema, arguments.get("relationship_types") or ())
    filters = parse_filters(arguments.get("relationship_filters") or (), types or schema.relationships)
    chosen = arguments.get("direction", direction)
    if chosen not in _ARROWS:
        raise OperatorFault("arguments", f"{chosen!r} is no direction", "Use out, in or both")
    if all(each.undirected for each in types or schema.relationships):
        chosen = "both"
    return Reach(types=types, direction=chosen, hops=most, filters=filters)


def parse_end(
    schema: GraphSchema,
    start: Selection,
    reach: Reach,
    names: Sequence[str] = (),
    filters: Sequence[Mapping[str, Any]] = (),
) -> End:
    """Return which ends are meant; the schema may say that there can be none.

    :param names: of their types; empty: all that can be reached.
    :raises OperatorFault: for an unknown name, or when the relationships lead from the start to no such type.
    """
    wanted = tuple(node_type(schema, name) for name in dict.fromkeys(names))
    possible = _reached_types(schema, start.types, reach)
    types = tuple(each for each in possible if not wanted or each in wanted)
    if not types:
        raise _unreachable(schema, start, reach, wanted, possible)
    only = types[0] if len(types) == 1 else None
    return End(type=only, types=types, filters=parse_filters(filters, types), is_narrowed=bool(wanted))


def parse_neighbours(arguments: Mapping[str, Any], schema: GraphSchema) -> tuple[Selection, Reach, End]:
    """Return what arguments say of starts, and of their neighbours: ``neighbour_type`` and ``neighbour_filters``.

    :raises OperatorFault: as :func:`parse_selection`, :func:`parse_reach` and :func:`parse_end` do.
    """
    start = parse_selection(arguments["start"], schema)
    reach = parse_reach(arguments, schema)
    names = [arguments["neighbour_type"]] if arguments.get("neighbour_type") else []
    return start, reach, parse_end(schema, start, reach, names, arguments.get("neighbour_filters") or ())


def _reached_types(schema: GraphSchema, starts: Sequence[NodeType], reach: Reach) -> tuple[NodeType, ...]:
    """Return the types that can be reached by 1 to so many hops, as the schema has its ends; all where it does not know them."""
    followed = reach.types or schema.relationships
    if any(not each.ends for each in followed):
        return schema.nodes
    pairs = {(end.source, end.target) for each in followed for end in each.ends}
    if reach.direction != "out":
        turned = {(target, source) for source, target in pairs}
        pairs = turned if reach.direction == "in" else pairs | turned
    at, found = {each.name for each in starts}, set[str]()
    for _ in range(reach.hops):
        at = {target for source, target in pairs if source in at}
        found |= at
    return tuple(each for each in schema.nodes if each.name in found)


def reversed_direction(reach: Reach) -> Reach:
    """Return the same along the other direction."""
    return replace(reach, direction="in" if reach.direction == "out" else "out")


def steps_of(text: CypherText, start: str, end: str, reach: Reach) -> Steps:
    """Return the pattern between two nodes."""
    types = "|".join(text.name(each.name) for each in reach.types)
    return Steps(
        start=start,
        end=end,
        types=f":{types}" if types else "",
        arrow=_ARROWS[reach.direction],
        hops=reach.hops,
        conditions=filter_conditions(text, "r0", reach.filters) if reach.hops > 1 else (),
    )


def match_reach(text: CypherText, start: Selection, reach: Reach, end: End, *, keep_starts: bool = False) -> str:
    """Write the clauses that match each start ``n0``, each end ``n1``, and between them the relationship ``e0`` where it is one hop.

    :param keep_starts: whether starts without an end stand in the rows, with null for ``n1``; for one hop.
    :returns: the expression of the number of hops.
    """
    begin = "MATCH"
    conditions: list[str] = []
    if start.ids is not None:
        begin = text.dialect.choose(text, "n0", start.type, start.ids)
    elif keep_starts:
        text.add(f"MATCH {text.node('n0', start.types)}")
        text.where(selection_conditions(text, "n0", start))
    else:
        conditions = selection_conditions(text, "n0", start)
    is_open = start.ids is None and not keep_starts
    steps = steps_of(text, text.node("n0", start.types) if is_open else "(n0)", text.node("n1", end.types), reach)
    if reach.hops > 1:
        pattern, held, hops = text.dialect.reach(steps)
    else:
        pattern, held, hops = steps.between(f"e0{steps.types}"), filter_conditions(text, "e0", reach.filters), "1"
    begin = "OPTIONAL MATCH" if keep_starts else begin
    text.add(f"{begin} {pattern}")
    conditions += [*_differ(text, start, end), *held, *end_conditions(text, end)]
    text.where(conditions)
    if begin != "MATCH" and not keep_starts:
        text.add(f"WITH n0, n1, e0 WHERE {text.dialect.identity('n1')} IS NOT NULL")
    return hops


def write_least_hops(text: CypherText, reach: Reach, hops: str) -> None:
    """Write that each end stands once, with the least number of its hops as ``h0``.

    :param hops: what :func:`match_reach` returned.
    """
    text.add(f"WITH n1, min({hops}) AS h0" if reach.hops > 1 else "WITH DISTINCT n1, 1 AS h0")


def _differ(text: CypherText, start: Selection, end: End) -> list[str]:
    """A node is no neighbour of itself; nodes of different labels differ anyway."""
    labels = {each.mark.label for each in start.types} & {each.mark.label for each in end.types}
    return [f"{text.dialect.identity('n0')} <> {text.dialect.identity('n1')}"] if labels else []


def end_conditions(text: CypherText, end: End) -> list[str]:
    """Return what holds for ``n1``, beside its label."""
    of_type = text.of_type("n1", end.type)
    if end.type is None and end.is_narrowed and any(each.mark.property for each in end.types):
        of_type = text.one_of_types("n1", end.types)
    return [*of_type, *filter_conditions(text, "n1", end.filters)]


def _unreachable(
    schema: GraphSchema,
    start: Selection,
    reach: Reach,
    wanted: Sequence[NodeType],
    possible: Sequence[NodeType],
) -> OperatorFault:
    """Say what the relationships lead to, and whether the other direction leads there."""
    said = " or ".join(each.name for each in wanted) or "anything"
    problem = f"{reach.shown} leads from {start.shown} to no {said}" if wanted else f"{reach.shown} leads nowhere"
    other = reversed_direction(reach) if reach.direction != "both" else None
    if other and [e for e in _reached_types(schema, start.types, other) if not wanted or e in wanted]:
        return OperatorFault("empty", problem, f"The other direction leads there: use direction {other.direction}")
    if possible:
        return OperatorFault("empty", problem, f"It leads to {', '.join(each.name for each in possible[:12])}")
    fitting = [
        f"{each.name} ({end.source} to {end.target})"
        for each in schema.relationships
        for end in each.ends
        if {end.source, end.target} & {e.name for e in start.types}
    ]
    hint = f"Relationships of it: {', '.join(fitting[:12])}" if fitting else "It has no relationships"
    return OperatorFault("empty", problem, hint)
