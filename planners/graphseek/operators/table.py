"""Operators on results that are there: rows read, filtered, grouped, joined and merged in SQL, graphs as tables; and those that show a result
to the person who asked. None asks the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ontology.errors import InvalidArgumentError
from planners.graphseek.operators.graph_query import as_cell, column_of, table_of
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
from planners.graphseek.operators.pattern import (
    NUMERIC,
    Aggregation,
    column_place,
    node_column,
    parse_aggregations,
    parse_filters,
    stored,
)
from planners.graphseek.results import (
    Cell,
    GraphPart,
    Presentation,
    Result,
    ResultColumn,
    TableQuery,
    fits,
    shown_row,
    shown_text,
)
from planners.stores.graph_schema import NodeType, PropertyKey, PropertyType, TypeMark

Rows = tuple[list[ResultColumn], list[tuple[Cell, ...]]]
_AGGREGATED = {"type": "string", "description": "name of a column; * counts rows"}
_TESTS: dict[str, str] = {
    **{name: f"{{0}} {sql} ?" for name, sql in COMPARED.items()},
    "contains": "contains(fold({0}), fold(?))",
    "starts_with": "starts_with(fold({0}), fold(?))",
    "ends_with": "ends_with(fold({0}), fold(?))",
    "is_null": "{0} IS NULL",
    "is_not_null": "{0} IS NOT NULL",
}
_NO_EQUAL_FLOAT = (
    "No number equals the one that is asked for: it may be rounded. Order by it, or compare with >= and <=."
)
_KEPT = {
    "union": "true",
    "intersection": "count(DISTINCT place) OVER (PARTITION BY {key}) = {count}",
    "difference": "max(place) OVER (PARTITION BY {key}) = 0",
}
_CELLS = (400, 120, 40, 12)  # characters of a cell that is read, the first that lets one row fit


@operator(
    "handle* filters group_by aggregations order_by descending limit columns",
    group="retrieval",
    handle=lambda forms: forms.handle("t"),
    filters={"type": "array", "description": "all must hold", "items": filter_schema(COLUMN)},
    group_by=COLUMNS,
    aggregations={"type": "array", "items": aggregation_schema(_AGGREGATED)},
    order_by={**COLUMN, "description": "name of a column, also of an aggregation: count, sum_price, max_price"},
)
async def filter_(arguments: Arguments, context: OperatorContext) -> Result:
    """Select rows of a table that is a result already: by conditions on columns, grouped and aggregated (COUNT, COUNT_DISTINCT,
    SUM, AVG, MIN, MAX), ordered, limited; or only some of its columns. It does not ask the graph."""
    table = stored(context, arguments["handle"], "table")
    filters = parse_filters(arguments.get("filters", ()), (_owner(table),))
    tests = []
    for each in filters:
        cell = f"c{column_place(table, each.key.name)}"
        is_list = each.operator == "in"
        tests.append(
            f"{cell} IN ({', '.join('?' * len(each.values))})" if is_list else _TESTS[each.operator].format(cell)
        )
    values = [value for each in filters for value in each.values]
    rounded = any(
        each.operator == "=" and float(value) % 1
        for each in filters
        for value in each.values
        if each.key.type == "number"
    )
    outputs, grouped = _outputs(table, arguments)
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    group = f" GROUP BY {', '.join(grouped)}" if grouped else ""
    selected = ", ".join(sql for _, sql in outputs)
    query = TableQuery(
        columns=tuple(column for column, _ in outputs),
        text=f'SELECT {selected} FROM "{table.handle}"{where}{group}{_order(table, arguments, outputs, grouped)}',
        of=(table.handle,),
        parameters=tuple(values),
    )
    shown = " and ".join(each.shown for each in filters)
    groups = arguments.get("group_by")
    title = table.handle + (f" where {shown}" if shown else "") + (f" by {', '.join(groups)}" if groups else "")
    try:
        result = await context.results.keep_query(query, title=title, most=arguments.get("limit", MOST_ROWS))
    except InvalidArgumentError as error:
        raise OperatorFault("too large", f"{error.problem}", "Aggregate fewer rows") from error
    if not result.size and rounded:
        raise OperatorFault("empty", f"No row of {table.handle} fulfils the conditions", _NO_EQUAL_FLOAT)
    return result


def _outputs(table: Result, arguments: Arguments) -> tuple[list[tuple[ResultColumn, str]], list[str]]:
    """Return what is selected, each a column and its SQL, and what rows are grouped by."""
    groups, aggregations = arguments.get("group_by", ()), arguments.get("aggregations", ())
    wanted = arguments.get("columns")
    if not groups and not aggregations:
        places = [column_place(table, each) for each in wanted] if wanted else range(len(table.columns))
        return [(table.columns[at], f"c{at}") for at in places], []
    places = [column_place(table, each) for each in groups]
    outputs = [(table.columns[at], f"c{at}") for at in places]
    outputs += [_aggregate(table, each) for each in parse_aggregations(aggregations, (_owner(table),))]
    return [_named(outputs, each) for each in wanted] if wanted else outputs, [f"c{at}" for at in places]


def _aggregate(table: Result, each: Aggregation) -> tuple[ResultColumn, str]:
    if each.key is None:
        if each.kind != "COUNT":
            raise OperatorFault("arguments", f"{each.kind} needs a column, not *", "Name a column, or take COUNT")
        return each.column, "COUNT(*)"
    column = table.columns[at := column_place(table, each.key.name)]
    distinct = "DISTINCT " if each.kind == "COUNT_DISTINCT" else ""
    sql = f"{each.kind.removesuffix('_DISTINCT')}({distinct}c{at})"
    sql += "::BIGINT" if each.kind == "SUM" and column.type == "integer" else ""
    return (replace(column, name=each.column.name) if each.kind in ("MIN", "MAX") else each.column), sql


def _owner(table: Result) -> NodeType:
    """Return a table as a type whose properties are its columns, so that its arguments are checked as those of the graph are."""
    types = {each.name: "string" if each.type == "node" else each.type for each in table.columns}
    keys = tuple(PropertyKey(name=name, type=cast(PropertyType, kind)) for name, kind in types.items())
    return NodeType(name=table.handle, mark=TypeMark(label=""), properties=keys)


def _named(outputs: Sequence[tuple[ResultColumn, str]], name: str) -> tuple[ResultColumn, str]:
    names = [column.name for column, _ in outputs]
    if name not in names:
        raise OperatorFault("unknown name", f"The grouped rows have no column {name}", nearest_hint(name, names))
    return outputs[names.index(name)]


def _order(
    table: Result, arguments: Arguments, outputs: Sequence[tuple[ResultColumn, str]], grouped: Sequence[str]
) -> str:
    """Return the order: empty cells last, equal ones as they stand in the table."""
    if not grouped and arguments.get("aggregations"):
        return ""
    tie, name = "MIN(rowid)" if grouped else "rowid", arguments.get("order_by")
    if not name:
        return f" ORDER BY {tie}"
    known = grouped or any(column.name == name for column, _ in outputs)
    by = _named(outputs, name)[1] if known else f"c{column_place(table, name)}"
    return f" ORDER BY {by} {'DESC' if arguments.get('descending') else 'ASC'} NULLS LAST, {tie}"


@operator(
    "left* right* left_on* right_on* how",
    group="retrieval",
    left=lambda forms: forms.handle("t"),
    right=lambda forms: forms.handle("t"),
    left_on=COLUMN,
    right_on=COLUMN,
    how=choice("inner", "left", "anti"),
)
async def join(arguments: Arguments, context: OperatorContext) -> Result:
    """Put rows of two tables side by side where left_on equals right_on: inner keeps pairs, left also keeps left rows without a
    partner, anti keeps only left rows without one. Columns of the right table that have a name of the left one become name_2."""
    left, right = (stored(context, arguments[side], "table") for side in ("left", "right"))
    a, b = column_place(left, arguments["left_on"]), column_place(right, arguments["right_on"])
    one, other, how = left.columns[a], right.columns[b], arguments.get("how", "inner")
    if _family(one) != _family(other):
        fitting = ", ".join(each.name for each in right.columns if _family(each) == _family(one))
        problem = (
            f"{one.name} of {left.handle} is of type {one.type}, {other.name} of {right.handle} of type {other.type}"
        )
        raise OperatorFault("arguments", problem, f"Columns of {right.handle} that fit {one.name}: {fitting or 'none'}")
    taken = [at for at in range(len(right.columns)) if at != b and how != "anti"]
    if how == "anti":
        partners = f'SELECT c{b} FROM "{right.handle}" WHERE c{b} IS NOT NULL'
        text = f'SELECT * FROM "{left.handle}" WHERE c{a} IS NULL OR c{a} NOT IN ({partners}) ORDER BY rowid'
    else:  # only left rows up to the limit are joined: all pairs of two large tables would be sorted first
        counts = f'SELECT c{b} AS value, count(*) AS n FROM "{right.handle}" GROUP BY c{b}'
        lefts = (
            f"SELECT l.*, l.rowid AS place, sum(coalesce(n, 0)) OVER (ORDER BY l.rowid) - coalesce(n, 0) AS before "
            f'FROM "{left.handle}" AS l LEFT JOIN ({counts}) ON c{a} = value'
        )
        cells = [f"l.c{at}" for at in range(len(left.columns))] + [f"r.c{at}" for at in taken]
        text = (
            f"SELECT {', '.join(cells)} FROM ({lefts}) AS l {'LEFT' if how == 'left' else 'INNER'} JOIN "
            f'"{right.handle}" AS r ON l.c{a} = r.c{b} WHERE before <= {MOST_ROWS} ORDER BY place, r.rowid'
        )
    query = TableQuery(
        columns=(*left.columns, *(right.columns[at] for at in taken)), text=text, of=(left.handle, right.handle)
    )
    title = f"{how} join of {left.handle} and {right.handle} on {arguments['left_on']} = {arguments['right_on']}"
    return await context.results.keep_query(query, title=title, most=MOST_ROWS)


def _family(column: ResultColumn) -> str:
    """What it can be compared with: integers and numbers are one."""
    return "number" if column.type in NUMERIC else column.type


@operator(
    "handles* how*",
    group="retrieval",
    handles=lambda forms: {"type": "array", "items": forms.handle("t"), "minItems": 2, "maxItems": 10},
    how=choice(*_KEPT),
)
async def merge(arguments: Arguments, context: OperatorContext) -> Result:
    """Union, intersection or difference (the first without the others) of tables. Tables of nodes are compared by the node, other
    tables by the columns that all have; each row stands once, as in the first table that has it."""
    results = [stored(context, each, "table") for each in arguments["handles"]]
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
    query = TableQuery(
        columns=tuple(columns),
        text=(
            f"SELECT {', '.join(names)} FROM ({' UNION ALL '.join(parts)}) QUALIFY "
            f"row_number() OVER (PARTITION BY {key} ORDER BY place, nth) = 1 AND "
            f"{_KEPT[how].format(key=key, count=len(results))} ORDER BY place, nth"
        ),
        of=tuple(each.handle for each in results),
    )
    return await context.results.keep_query(query, title=title, most=MOST_ROWS, notes=notes)


@operator(
    "handle* offset limit columns",
    group="retrieval",
    handle=lambda forms: forms.handle("tg"),
    offset=integer(0),
    limit=integer(1, 50),
)
async def read(arguments: Arguments, context: OperatorContext) -> Result:
    """Read rows of a result that is there: at most 50 from an offset (0 is the first), some columns or all. Take it when a summary
    shows too few rows or cuts a text. Of a graph it reads the nodes."""
    found = table = stored(context, arguments["handle"], "table", "graph")
    offset, limit = arguments.get("offset", 0), arguments.get("limit", 20)
    if offset >= found.size:
        hint = "Offsets count from 0" if found.size else "Ask for something else"
        raise OperatorFault("empty", f"{found.handle} has {found.size} rows, and none from {offset} on", hint)
    if found.kind == "graph":
        columns, all_rows = _node_rows(await context.results.graph(found.handle))
        table, rows = replace(found, columns=tuple(columns)), all_rows[offset : offset + limit]
    else:
        rows = await context.results.rows(found.handle, offset=offset, limit=limit)
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
                return replace(found, summary=text)
    return replace(found, summary=f"{table.handle}: no row fits.")


@operator(
    "handle* what* type",
    group="retrieval",
    handle=lambda forms: forms.handle("g"),
    what=choice("nodes", "relationships"),
)
async def to_table(arguments: Arguments, context: OperatorContext) -> Result:
    """Turn a graph that is a result into a table: of its nodes, with their type and properties, or of its relationships, with the
    nodes at their ends; all, or those of one type."""
    handle, what, kind = arguments["handle"], arguments["what"], arguments.get("type", "")
    stored(context, handle, "graph")
    part = await context.results.graph(handle)
    members: Sequence[Any] = part.nodes if what == "nodes" else part.edges
    known = sorted({each.type for each in members})
    if kind and kind not in known:
        raise OperatorFault("unknown name", f"{handle} has no {what} of type {kind}", nearest_hint(kind, known))
    columns, rows = (_node_rows if what == "nodes" else _edge_rows)(part, kind)
    title = f"{kind or 'all'} {what} of {handle}"
    return await context.results.keep_table(table_of(columns, rows), title=title, most=MOST_ROWS)


def _node_rows(part: GraphPart, kind: str = "") -> Rows:
    """Return the nodes of a graph as columns and rows: the node, its type where there are several, its properties."""
    nodes = [each for each in part.nodes if not kind or each.type == kind]
    types = {each.type for each in nodes}
    if len(types) == 1:
        column = node_column(types.pop(), {name for each in nodes for name in each.properties})
        return _with_properties([column], [(each.id,) for each in nodes], nodes)
    columns = [node_column(), ResultColumn(name="type", type="string")]
    return _with_properties(columns, [(each.id, each.type) for each in nodes], nodes)


def _edge_rows(part: GraphPart, kind: str) -> Rows:
    types = {each.id: each.type for each in part.nodes}
    edges = [each for each in part.edges if not kind or each.type == kind]
    columns = []
    for name, ends in (("source", [each.source for each in edges]), ("target", [each.target for each in edges])):
        found = {types.get(each, "") for each in ends}
        columns.append(ResultColumn(name=name, type="node", node_type=found.pop() if len(found) == 1 else ""))
    columns.append(ResultColumn(name="type", type="string"))
    return _with_properties(columns, [(each.source, each.target, each.type) for each in edges], edges)


def _with_properties(columns: list[ResultColumn], heads: Sequence[tuple[str, ...]], members: Sequence[Any]) -> Rows:
    names = list(dict.fromkeys(name for each in members for name in each.properties))
    rows = [
        (*head, *(as_cell(each.properties.get(name)) for name in names))
        for head, each in zip(heads, members, strict=True)
    ]
    values = [[row[at] for row in rows] for at in range(len(columns), len(columns) + len(names))]
    return [*columns, *(column_of(name, found) for name, found in zip(names, values, strict=True))], rows


_NUMBERS = {"bar": ("y",), "line": ("y",), "scatter": ("x", "y"), "histogram": ("x",)}  # which must be numbers


@operator("handle* columns title", group="presentation", handle=lambda forms: forms.handle("t"))
async def table(arguments: Arguments, context: OperatorContext) -> Result:
    """Show a table that is a result to the person: all its columns, or some in this order."""
    found = stored(context, arguments["handle"], "table")
    columns = tuple(found.columns[column_place(found, each)].name for each in arguments.get("columns", ()))
    options = {"columns": columns} if columns else {}
    shown = Presentation(kind="table", of=found.handle, title=arguments.get("title", ""), options=options)
    return await context.results.keep_presentation(shown)


@operator("handle* title", group="presentation", handle=lambda forms: forms.handle("g"))
async def graph(arguments: Arguments, context: OperatorContext) -> Result:
    """Draw a graph that is a result (of paths or subgraph) for the person."""
    found = stored(context, arguments["handle"], "table", "graph")
    if found.kind == "table":
        raise OperatorFault(
            "arguments", f"{found.handle} is a table", "Take subgraph with max_hops 0 first, or show it with table"
        )
    shown = Presentation(kind="graph", of=found.handle, title=arguments.get("title", ""))
    return await context.results.keep_presentation(shown)


@operator(
    "handle* kind* x* y title",
    group="presentation",
    handle=lambda forms: forms.handle("t"),
    kind=choice(*_NUMBERS),
    x=COLUMN,
    y=COLUMN,
)
async def chart(arguments: Arguments, context: OperatorContext) -> Result:
    """Draw a chart of a table that is a result: bar, line or scatter of y over x, or a histogram of x. y is a column of numbers."""
    found, kind = stored(context, arguments["handle"], "table"), arguments["kind"]
    named = {axis: arguments[axis] for axis in ("x", "y") if arguments.get(axis)}
    numeric = [each.name for each in found.columns if each.type in NUMERIC]
    hint = f"Columns of numbers are: {', '.join(numeric) or 'none'}"
    for axis in _NUMBERS[kind]:
        if axis not in named:
            raise OperatorFault("arguments", f"A {kind} chart needs {axis}", hint)
        if found.columns[column_place(found, named[axis])].type not in NUMERIC:
            raise OperatorFault("arguments", f"{named[axis]} is no column of numbers", hint)
    column_place(found, named["x"])
    options = {"x": named["x"]} if kind == "histogram" else named
    shown = Presentation(kind=kind, of=found.handle, title=arguments.get("title", ""), options=options)
    return await context.results.keep_presentation(shown)
