"""``filter``: rows of a table that fulfil conditions, grouped, aggregated, ordered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import (
    COLUMN,
    COLUMNS,
    MOST_ROWS,
    column_place,
    column_places,
    column_sql,
    is_numeric,
    nearest_hint,
    stored,
)
from planners.graphseek.operators.table_filters import FILTERS, condition, on_equal_float, shown_filters
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.operators.value_aggregation import aggregation_schema
from planners.graphseek.results.result import Result, ResultColumn
from planners.graphseek.results.table_filling import TableQuery

__all__ = ["OPERATOR"]

_NO_EQUAL_FLOAT = (
    "No number equals the one that is asked for: it may be rounded. Order by it, or compare with >= and <=."
)
_AGGREGATES = {
    "COUNT": "COUNT({cell})",
    "COUNT_DISTINCT": "COUNT(DISTINCT {cell})",
    "SUM": "SUM({cell})",
    "AVG": "AVG({cell})",
    "MIN": "MIN({cell})",
    "MAX": "MAX({cell})",
}
_AGGREGATIONS = {
    "type": "array",
    "items": aggregation_schema({"type": "string", "description": "name of a column; * counts rows"}),
}


@dataclass(frozen=True, slots=True)
class _Output:
    column: ResultColumn
    sql: str


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    table = stored(context, arguments["handle"], "table")
    filters = arguments.get("filters", ())
    where, values = condition(table, filters)
    outputs, grouped = _outputs(table, arguments)
    group = f" GROUP BY {', '.join(grouped)}" if grouped else ""
    order = _order(table, arguments, outputs, grouped)
    selected = ", ".join(each.sql for each in outputs)
    query = TableQuery(
        columns=tuple(each.column for each in outputs),
        text=f'SELECT {selected} FROM "{table.handle}"{where}{group}{order}',
        of=(table.handle,),
        parameters=tuple(values),
    )
    limit = arguments.get("limit", MOST_ROWS)
    try:
        result = await context.results.keep_query(query, title=_title(table, arguments), most=limit)
    except InvalidArgumentError as error:
        raise OperatorFault("too large", f"{error.problem}", "Aggregate fewer rows") from error
    if not result.size and on_equal_float(table, filters):
        raise OperatorFault("empty", f"No row of {table.handle} fulfils the conditions", _NO_EQUAL_FLOAT)
    return result


def _outputs(table: Result, arguments: Mapping[str, Any]) -> tuple[list[_Output], list[str]]:
    """Return what is selected, and the columns that rows are grouped by."""
    groups, aggregations = arguments.get("group_by", ()), arguments.get("aggregations", ())
    if not groups and not aggregations:
        places = column_places(table, arguments.get("columns"))
        return [_Output(table.columns[at], column_sql(at)) for at in places], []
    places = [column_place(table, each) for each in groups]
    outputs = [_Output(table.columns[at], column_sql(at)) for at in places]
    outputs += [_aggregate(table, each["grouping_type"], each.get("property", "*")) for each in aggregations]
    if wanted := arguments.get("columns"):
        outputs = [_named(outputs, each) for each in wanted]
    return outputs, [column_sql(at) for at in places]


def _aggregate(table: Result, kind: str, name: str) -> _Output:
    if name == "*":
        if kind != "COUNT":
            raise OperatorFault("arguments", f"{kind} needs a column, not *", "Name a column, or take COUNT")
        return _Output(ResultColumn(name="count", type="integer"), "COUNT(*)")
    at = column_place(table, name)
    column = table.columns[at]
    if kind in ("SUM", "AVG") and not is_numeric(column):
        numeric = [each.name for each in table.columns if is_numeric(each)]
        raise OperatorFault("arguments", f"{kind} of {name}, which is no number", f"Numbers are: {', '.join(numeric)}")
    sql = _AGGREGATES[kind].format(cell=column_sql(at))
    named = f"{kind.lower()}_{name}"
    if kind.startswith("COUNT"):
        return _Output(ResultColumn(name=named, type="integer"), sql)
    if kind == "AVG":
        return _Output(ResultColumn(name=named, type="number"), sql)
    return _Output(ResultColumn(name=named, type=column.type, node_type=column.node_type), sql)


def _named(outputs: Sequence[_Output], name: str) -> _Output:
    for each in outputs:
        if each.column.name == name:
            return each
    hint = nearest_hint(name, [each.column.name for each in outputs])
    raise OperatorFault("unknown name", f"The grouped rows have no column {name}", hint)


def _order(table: Result, arguments: Mapping[str, Any], outputs: Sequence[_Output], grouped: Sequence[str]) -> str:
    """Return the order: empty cells last, equal ones as they stand in the table."""
    if not grouped and arguments.get("aggregations"):
        return ""
    tie = "MIN(rowid)" if grouped else "rowid"
    name = arguments.get("order_by")
    if not name:
        return f" ORDER BY {tie}"
    known = grouped or any(each.column.name == name for each in outputs)
    by = _named(outputs, name).sql if known else column_sql(column_place(table, name))
    return f" ORDER BY {by} IS NULL, {by}{' DESC' if arguments.get('descending') else ''}, {tie}"


def _title(table: Result, arguments: Mapping[str, Any]) -> str:
    filters, groups = arguments.get("filters"), arguments.get("group_by")
    where = f" where {shown_filters(filters)}" if filters else ""
    return f"{table.handle}{where}{' by ' + ', '.join(groups) if groups else ''}"


OPERATOR: Operator = TypedOperator(
    name="filter",
    group="retrieval",
    description=(
        "Select rows of a table that is a result already: by conditions on columns, grouped and aggregated (COUNT, COUNT_DISTINCT, "
        "SUM, AVG, MIN, MAX), ordered, limited; or only some of its columns. It does not ask the graph."
    ),
    forms=lambda forms: {
        "handle": forms.handle("t"),
        "filters": FILTERS,
        "group_by": COLUMNS,
        "aggregations": _AGGREGATIONS,
        "order_by": {**COLUMN, "description": "name of a column, also of an aggregation: count, sum_price, max_price"},
        "descending": {"type": "boolean"},
        "limit": forms.limit(),
        "columns": COLUMNS,
    },
    required=("handle",),
    runs=_run,
)
