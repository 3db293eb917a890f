"""Why a query gave nothing, where that can be said: another spelling, the other direction, a number that was rounded.

It costs one query at most, and only when there are no rows (part of the paper's self-correction, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.graph_query import Explain, TableQuery, fetch_rows
from planners.graphseek.operators.neighbour_reach import End, Reach, match_reach, parse_end, reversed_direction
from planners.graphseek.operators.node_selection import Selection
from planners.graphseek.operators.operator import OperatorContext, OperatorFault
from planners.graphseek.operators.property_filter import Filter
from planners.graphseek.operators.text_nearness import NEAR, near_names, nearness
from planners.stores.graph_schema import NodeType

__all__ = ["explain_empty"]

_TEXTS = ("=", "contains", "starts_with", "ends_with")
_CANDIDATES = 200
_SHOWN = 3


def explain_empty(context: OperatorContext, query: TableQuery) -> Explain:
    """Return what raises a fault with a hint, where there is one; otherwise that there is nothing is the answer."""

    async def explain() -> None:
        start, reach, end = query.start, query.reach, query.end
        filters = [*start.filters, *(end.filters if end else ()), *(reach.filters if reach else ())]
        _check_rounded(filters)
        text = CypherText(context.schema, context.dialect)
        other = _write_reversed(text, start, reach, end)
        spelled = _spelled(start, end)
        if spelled:
            if other:
                text.add("UNION ALL")
            _write_near(text, *spelled)
        if not (other or spelled):
            return
        rows, _ = await fetch_rows(context, text.compiled(), most=_CANDIDATES + 1)
        found = [(str(what), str(value)) for what, value in rows]
        if other and (number := next((int(value) for what, value in found if what == "reversed"), 0)):
            hint = f"The other direction gives {number:,}: use direction {other.direction}"
            raise OperatorFault("empty", f"{reach.shown if reach else ''} gives nothing from {start.shown}", hint)
        if spelled:
            _check_spelling(spelled[1], [value for what, value in found if what == "near"])

    return explain


def _check_rounded(filters: Sequence[Filter]) -> None:
    for each in filters:
        value = each.values[0] if each.values else None
        if each.operator == "=" and isinstance(value, float) and not value.is_integer():
            name = each.key.name
            hint = f"It may be rounded: order by {name} with a limit, or filter {name} with >= and <= around it"
            raise OperatorFault("empty", f"nothing has {name} equal to {value!r}", hint)


def _write_reversed(text: CypherText, start: Selection, reach: Reach | None, end: End | None) -> Reach | None:
    """Write the count of what the other direction gives; None: there is none, or the schema says that it leads nowhere."""
    if reach is None or end is None or reach.direction == "both":
        return None
    other = reversed_direction(reach)
    try:
        there = parse_end(text.schema, start, other, [each.name for each in end.types] if end.is_narrowed else ())
    except OperatorFault:
        return None
    if not {each.key for each in end.filters} <= {key for type_ in there.types for key in type_.properties}:
        return None
    meant = End(type=there.type, types=there.types, filters=end.filters, is_narrowed=there.is_narrowed)
    match_reach(text, start, other, meant)
    count = text.dialect.as_text(f"count(DISTINCT {text.dialect.identity('n1')})")
    text.add(f"RETURN {text.parameter('reversed')} AS `what`, {count} AS `value`")
    return other


def _spelled(start: Selection, end: End | None) -> tuple[NodeType, Filter] | None:
    """Return the first filter on a text, and the type that has it."""
    owners = [(start.type, start.filters), *([(end.type, end.filters)] if end else ())]
    for type_, filters in owners:
        for each in filters:
            if type_ and each.key.type == "string" and each.operator in _TEXTS and str(each.values[0]).strip():
                return type_, each
    return None


def _write_near(text: CypherText, type_: NodeType, each: Filter) -> None:
    value = text.property("n0", each.key.name)
    condition, rank = near_names(text, value, str(each.values[0]))
    text.add(f"MATCH {text.node('n0', (type_,))}")
    text.where([*text.of_type("n0", type_), condition])
    text.add(f"WITH DISTINCT {value} AS g0, {rank} AS h0 ORDER BY h0 DESC, g0 LIMIT {text.parameter(_CANDIDATES)}")
    text.add(f"RETURN {text.parameter('near')} AS `what`, g0 AS `value`")


def _check_spelling(each: Filter, names: Sequence[str]) -> None:
    wanted = str(each.values[0])
    if wanted in names:
        return
    near = sorted((-nearness(wanted, name), name) for name in names)
    shown = [f"{name!r}" for score, name in near[:_SHOWN] if -score >= NEAR]
    if shown:
        problem = f"no {each.key.name} {each.operator} {wanted!r}"
        raise OperatorFault("empty", problem, f"There is {', '.join(shown)}")
