"""Operators on results that are there: rows read, filtered, grouped, joined and merged in SQL, graphs as tables, and what a person is to see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from ontology.errors import InvalidArgumentError
from planners.graphseek.operators.operator import (
    COLUMN,
    COLUMNS,
    COMPARED,
    MOST_ROWS,
    Arguments,
    OperatorContext,
    OperatorFault,
    aggregation_schema,
    choice,
    filter_schema,
    integer,
    nearest_hint,
    operator,
)
from planners.graphseek.operators.pattern import NUMERIC, column_place, parse_aggregations, parse_filters, stored
from planners.graphseek.results import Result, ResultColumn, TableQuery, fits, shown_row, shown_text
from planners.stores.graph_schema import NodeType, PropertyKey, PropertyType

_AGGREGATED = {"type": "string", "description": "name of a column; * counts rows"}
_TESTS: dict[str, str] = {
    **{name: f"{{0}} {sql} ?" for name, sql in COMPARED.items()},
    "contains": "contains(fold({0}), fold(?))",
    "starts_with": "starts_with(fold({0}), fold(?))",
    "ends_with": "ends_with(fold({0}), fold(?))",
    "is_null": "{0} IS NULL",
    "is_not_null": "{0} IS NOT NULL",
}
_ROUNDED = "No number equals the one that is asked for: it may be rounded. Order by it, or compare with >= and <=."
_KEPT = {
    "union": "true",
    "intersection": "count(DISTINCT place) OVER (PARTITION BY {key}) = {count}",
    "difference": "max(place) OVER (PARTITION BY {key}) = 0",
}
_CELLS = (400, 120, 40, 12)  # characters of a cell that is read, the first that lets one row fit


@operator(
    "handle* filters group_by aggregations order_by descending limit columns",
    handle=lambda forms: forms.handle(),
    filters={"type": "array", "description": "all must hold", "items": filter_schema(COLUMN)},
    group_by=COLUMNS,
    aggregations={"type": "array", "items": aggregation_schema(_AGGREGATED)},
    order_by={**COLUMN, "description": "name of a column, also of an aggregation: count, sum_price, max_price"},
)
async def filter_(arguments: Arguments, context: OperatorContext) -> Result:
    """Select rows of a table that is a result already: by conditions on columns, grouped and aggregated (COUNT, COUNT_DISTINCT,
    SUM, AVG, MIN, MAX), ordered, limited; or only some of its columns. It does not ask the graph."""
    table = stored(context, arguments["handle"])
    filters = parse_filters(arguments.get("filters", ()), (_as_type(table),))
    tests = []
    for each in filters:
        cell = f"c{column_place(table, each.key.name)}"
        many = f"{cell} IN ({', '.join('?' * len(each.values))})"
        tests.append(many if each.operator == "in" else _TESTS[each.operator].format(cell))
    outputs, grouped = _outputs(table, arguments)
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    group = f" GROUP BY {', '.join(grouped)}" if grouped else ""
    order, by = "", arguments.get("order_by")
    if grouped or not arguments.get("aggregations"):  # empty cells last, equal ones as they stand in the table
        tie = "MIN(rowid)" if grouped else "rowid"
        order = f" ORDER BY {tie}"
        if by:
            known = grouped or any(column.name == by for column, _ in outputs)
            cell = _named(outputs, by)[1] if known else f"c{column_place(table, by)}"
            order = f" ORDER BY {cell} {'DESC' if arguments.get('descending') else 'ASC'} NULLS LAST, {tie}"
    query = TableQuery(
        columns=tuple(column for column, _ in outputs),
        text=f'SELECT {", ".join(sql for _, sql in outputs)} FROM "{table.handle}"{where}{group}{order}',
        parameters=tuple(value for each in filters for value in each.values),
    )
    shown = " and ".join(each.shown for each in filters)
    groups = arguments.get("group_by")
    title = table.handle + (f" where {shown}" if shown else "") + (f" by {', '.join(groups)}" if groups else "")
    try:
        result = await context.results.keep_query(query, title=title, most=arguments.get("limit", MOST_ROWS))
    except InvalidArgumentError as error:
        raise OperatorFault("too large", f"{error.problem}", "Aggregate fewer rows") from error
    if not result.size and any(each.may_be_rounded for each in filters):
        raise OperatorFault("empty", f"No row of {table.handle} fulfils the conditions", _ROUNDED)
    return result


def _outputs(table: Result, arguments: Arguments) -> tuple[list[tuple[ResultColumn, str]], list[str]]:
    """What is selected, each a column and its SQL, and what rows are grouped by."""
    groups, aggregations = arguments.get("group_by", ()), arguments.get("aggregations", ())
    wanted = arguments.get("columns")
    if not groups and not aggregations:
        places = [column_place(table, each) for each in wanted] if wanted else range(len(table.columns))
        return [(table.columns[at], f"c{at}") for at in places], []
    places = [column_place(table, each) for each in groups]
    outputs = [(table.columns[at], f"c{at}") for at in places]
    for each in parse_aggregations(aggregations, (_as_type(table),)):
        if each.key is None:
            outputs.append((each.column, "COUNT(*)"))
            continue
        column = table.columns[at := column_place(table, each.key.name)]
        sql = f"{each.kind.removesuffix('_DISTINCT')}({'DISTINCT ' if each.kind == 'COUNT_DISTINCT' else ''}c{at})"
        sql += "::BIGINT" if each.kind == "SUM" and column.type == "integer" else ""
        outputs.append((replace(column, name=each.column.name) if each.kind in ("MIN", "MAX") else each.column, sql))
    return [_named(outputs, each) for each in wanted] if wanted else outputs, [f"c{at}" for at in places]


def _as_type(table: Result) -> NodeType:
    """A table as a type whose properties are its columns, so that its arguments are checked as those of the graph are."""
    types = {each.name: "string" if each.type == "node" else each.type for each in table.columns}
    keys = tuple(PropertyKey(name=name, type=cast(PropertyType, kind)) for name, kind in types.items())
    return NodeType(name=table.handle, properties=keys)


def _named(outputs: Sequence[tuple[ResultColumn, str]], name: str) -> tuple[ResultColumn, str]:
    names = [column.name for column, _ in outputs]
    if name not in names:
        raise OperatorFault("unknown name", f"The grouped rows have no column {name}", nearest_hint(name, names))
    return outputs[names.index(name)]


def _family(column: ResultColumn) -> str:
    """What it can be compared with: integers and numbers are one."""
    return "number" if column.type in NUMERIC else column.type


@operator(
    "handles* how*",
    handles=lambda forms: {"type": "array", "items": forms.handle(), "minItems": 2, "maxItems": 10},
    how=choice(*_KEPT),
)
async def merge(arguments: Arguments, context: OperatorContext) -> Result:
    """Union, intersection or difference (the first without the others) of tables. Tables of nodes are compared by the node, other
    tables by the columns that all have; each row stands once, as in the first table that has it."""
    results = [stored(context, each) for each in arguments["handles"]]
    how, title = arguments["how"], f"{arguments['how']} of {', '.join(arguments['handles'])}"
    shapes = [{(each.name, _family(each)) for each in table.columns} for table in results]
    columns = [each for each in results[0].columns if all((each.name, _family(each)) in shape for shape in shapes)]
    if not columns:
        others = ", ".join(each.name for each in results[1].columns)
        hint = f"Join them on a column; {results[1].handle} has {others}"
        raise OperatorFault("arguments", "The tables have no column in common", hint)
    numbers = {each.name for table in results for each in table.columns if each.type == "number"}
    columns = [replace(each, type="number") if each.name in numbers else each for each in columns]
    left_out = [each.name for each in results[0].columns if each.name not in {column.name for column in columns}]
    notes = [f"Not all tables have {', '.join(left_out)}, which are left out."] if left_out else []
    names = [f"k{at}" for at in range(len(columns))]
    parts = []
    for place, table in enumerate(results):
        cells = [f"c{column_place(table, each.name)} AS {name}" for each, name in zip(columns, names, strict=True)]
        parts.append(f'SELECT {", ".join(cells)}, {place} AS place, rowid AS nth FROM "{table.handle}"')
    nodes_first = [name for each, name in zip(columns, names, strict=True) if each.type == "node"]
    key = ", ".join(nodes_first[:1] or names)
    text = (
        f"SELECT {', '.join(names)} FROM ({' UNION ALL '.join(parts)}) QUALIFY "
        f"row_number() OVER (PARTITION BY {key} ORDER BY place, nth) = 1 AND "
        f"{_KEPT[how].format(key=key, count=len(results))} ORDER BY place, nth"
    )
    query = TableQuery(columns=tuple(columns), text=text)
    return await context.results.keep_query(query, title=title, most=MOST_ROWS, notes=notes)


@operator("handle* offset limit columns", handle=lambda forms: forms.handle(), offset=integer(0), limit=integer(1, 50))
async def read(arguments: Arguments, context: OperatorContext) -> Result:
    """Read rows of a table that is there: at most 50 from an offset (0 is the first), some columns or all. Take it when a summary
    shows too few rows or cuts a text."""
    table = stored(context, arguments["handle"])
    offset, limit = arguments.get("offset", 0), arguments.get("limit", 20)
    if offset >= table.size:
        hint = "Offsets count from 0" if table.size else "Ask for something else"
        raise OperatorFault("empty", f"{table.handle} has {table.size} rows, and none from {offset} on", hint)
    rows = await context.results.rows(table.handle, offset=offset, limit=limit)
    places = [column_place(table, each) for each in arguments.get("columns", ())]
    if not places:
        places = [at for at, each in enumerate(table.columns) if each.type != "node"] or list(range(len(table.columns)))
    for most in range(len(places), 0, -1):
        names = " | ".join(shown_text(table.columns[at].name, 60) for at in places[:most])
        for cell, count in ((cell, count) for cell in _CELLS for count in range(len(rows), 0, -1)):
            end = offset + count
            lines = [f"{table.handle}: rows {offset + 1} to {end} of {table.size} ({names}):"]
            lines += [shown_row(row, places[:most], cell) for row in rows[:count]]
            lines += [f"the next row has offset {end}"] if end < table.size else []
            if fits(text := "\n".join(lines)):
                return replace(table, summary=text)
    return replace(table, summary=f"{table.handle}: no row fits.")


@operator("handle*", handle=lambda forms: forms.handle())
async def show(arguments: Arguments, context: OperatorContext) -> Result:
    """Show a result to the person who asked: a table with its rows, relationships as a drawing. Results that the answer names are
    shown without it."""
    found = stored(context, arguments["handle"])
    return replace(found, kind="presentation", summary=f"{found.handle} is shown.")
