"""Groups of nodes with aggregations: the end of a query that has matched what is grouped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery
from planners.graphseek.operators.node_selection import Selection
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.table_arguments import nearest_hint
from planners.graphseek.operators.value_aggregation import Aggregation, aggregation_text
from planners.graphseek.results.result import ResultColumn

__all__ = ["GroupColumn", "write_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupColumn:
    """A column that groups have in common, and its expression."""

    column: ResultColumn
    value: str


def write_groups(
    text: CypherText,
    groups: Sequence[GroupColumn],
    aggregations: Sequence[Aggregation],
    variable: str,
    arguments: Mapping[str, Any],
    *,
    title: str,
    start: Selection,
    carried: str = "",
) -> TableQuery:
    """Write the groups, in the order that arguments ask for, and where they ask for none, in that of the groups.

    :param variable: what is aggregated.
    :param arguments: ``order_by``, ``descending`` and ``limit``.
    :param start: what is grouped, or what it is reached from.
    :param carried: the variable of a node that groups belong to, one each; its id is the first column, and breaks ties.
    :raises OperatorFault: when there is no such column to order by.
    """
    sums = [f"a{at}" for at in range(len(aggregations))]
    keys = [group.value for group in groups] if carried else [f"g{at}" for at in range(len(groups))]
    named = [carried] if carried else [f"{group.value} AS {key}" for group, key in zip(groups, keys, strict=True)]
    named += [
        f"{aggregation_text(text, variable, each)} AS {name}" for each, name in zip(aggregations, sums, strict=True)
    ]
    text.add(f"WITH {', '.join(named)}")
    columns = (*(group.column for group in groups), *(each.column for each in aggregations))
    values = [*keys, *sums]
    names = text.returns(columns, values)
    order = names[:1] if carried else [f"{key} IS NULL, {key}" for key in keys]
    if name := arguments.get("order_by"):
        value = values[_place(columns, str(name))]
        order = [f"{value} IS NULL, {value}{' DESC' if arguments.get('descending') else ''}", *order]
    if order:
        text.add(f"ORDER BY {', '.join(order)}")
    most = arguments.get("limit", DEFAULT_ROWS)
    text.add(f"LIMIT {text.parameter(most + 1)}")
    return TableQuery(compiled=text.compiled(), columns=columns, title=title, start=start, most=most)


def _place(columns: Sequence[ResultColumn], name: str) -> int:
    names = [each.name for each in columns]
    if name not in names:
        raise OperatorFault("unknown name", f"there is no column {name[:60]} to order by", nearest_hint(name, names))
    return names.index(name)
