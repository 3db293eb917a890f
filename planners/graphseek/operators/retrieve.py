"""Operators that retrieve nodes: by their properties, their names, their time; and the last resort, a query in Cypher."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from planners.graphseek.catalog.catalog import TIME_ROLES, Role, SemanticCatalog
from planners.graphseek.dialects.cypher_text import Compiled, CypherText
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery
from planners.graphseek.operators.operator import (
    Arguments,
    OperatorContext,
    OperatorFault,
    choice,
    integer,
    operator,
)
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.cypher.cypher_allow_list import allowed_cypher
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType
from planners.stores.property_graph import QueryLimits, Scalar

TimeValues: TypeAlias = tuple[PropertyKey, tuple[Scalar, ...]]
"""A property, and the values that are meant; of a date, its first day and the first day after."""
_FOUND_COLUMNS = (
    ResultColumn(name="node", type="node"),
    ResultColumn(name="type", type="string"),
    ResultColumn(name="name", type="string"),
    ResultColumn(name="score", type="number"),
)
_FOUND = 10
_MOST_FOUND = 1_000
_CANDIDATES = 2_000
"""Of each property, whose nearness is computed: 20 ms for all of them."""
_CYPHER_ROWS = 10_000  # they are read into memory, because their types are not known before
_SAID = {"planned": "plan", "scheduled": "plan", "actually": "actual", "current": "actual", "currently": "actual"}
"""What people say of plans and of what happened: the words of the paper's 15 questions on its EV graph."""
_TIMES = {"year": (1, 9998), "quarter": (1, 4), "month": (1, 12)}


def compile_get_nodes(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of nodes, or of groups of them (listing 2 of the paper)."""
    nodes = pattern.parse_nodes({"type": arguments["node_type"], "filters": arguments.get("filters")}, text.schema)
    (type_,) = nodes.types
    order, most = arguments.get("order_by"), arguments.get("limit", DEFAULT_ROWS)

    def named(argument: str) -> list[PropertyKey]:
        return [pattern.property_of((type_,), name) for name in dict.fromkeys(arguments.get(argument) or ())]

    if arguments.get("group_by") or arguments.get("aggregations"):
        pattern.match_nodes(text, "n0", nodes)
        keys = named("group_by")
        groups = [(column, text.property("n0", column.name)) for column in pattern.columns_of(keys)]
        aggregations = pattern.parse_aggregations(arguments.get("aggregations") or (), (type_,)) or (pattern.COUNT,)
        title = f"{nodes.shown} by {', '.join(key.name for key in keys)}" if keys else nodes.shown
        return graph_query.write_groups(text, groups, aggregations, "n0", arguments, title=title, start=nodes)
    valued = [pattern.Filter(key=pattern.property_of((type_,), order), operator="is_not_null")] if order else []
    pattern.match_nodes(text, "n0", replace(nodes, filters=(*nodes.filters, *valued)))
    keys = named("properties") or list(type_.properties)
    columns = (pattern.node_column(type_.name, [key.name for key in keys]), *pattern.columns_of(keys))
    values = [text.node_id("n0", (type_,)), *(text.property("n0", key.name) for key in keys)]
    names = text.returns(columns, values)
    if order:
        text.add(f"ORDER BY {text.property('n0', order)}{' DESC' if arguments.get('descending') else ''}, {names[0]}")
    text.limit(most)
    notes = (f"Nodes without {order} are left out.",) if order else ()
    return TableQuery(text.compiled(), columns, nodes.shown, most, nodes, notes=notes)


@operator(
    "node_type* filters properties group_by aggregations order_by descending limit",
    compile=compile_get_nodes,
    properties=lambda forms: {"type": "array", "items": forms.property},
    group_by=lambda forms: {"type": "array", "items": forms.property},
    order_by={"type": "string", "description": "a property, or the column of an aggregation: sum_price"},
)
async def get_nodes(arguments: Arguments, context: OperatorContext) -> Result:
    """List nodes of one type that satisfy filters on their own properties, or count, sum and average them, whole or in groups
    (group_by). For the highest or the latest, order_by with descending and a limit. It does not look at relationships."""
    query = await graph_query.compiled_for(compile_get_nodes, arguments, context)
    if not arguments.get("aggregations") or arguments.get("group_by"):
        return await graph_query.keep_query(context, query)
    rows, _ = await graph_query.fetch_rows(context, query.compiled, most=1)
    cells = [tuple(graph_query.as_cell(value) for value in row) for row in rows]
    if not any(cell for row in cells for cell in row):
        await graph_query.explain_empty(context, query)
    return await graph_query.keep_rows(context, query, cells)


def compile_find(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of candidates: ids, types and names."""
    wanted = str(arguments["text"])
    match, most = arguments.get("match", "exact"), arguments.get("limit", _FOUND)
    candidates = most + 1 if match == "exact" else _CANDIDATES
    types = (
        (pattern.node_type(text.schema, arguments["node_type"]),) if arguments.get("node_type") else text.schema.nodes
    )
    is_first = True
    for type_ in types:
        names = pattern.naming_properties(type_, catalog)
        for key in (each for each in type_.properties if each.name in names and each.type in ("string", "integer")):
            value = text.property("n0", key.name)
            name = text.as_text(value) if key.type == "integer" else value
            condition = _name_condition(text, key, value, name, wanted, match)
            if condition is None:
                continue
            if not is_first:
                text.add("UNION ALL")
            is_first = False
            text.add(f"MATCH {text.node('n0', (type_,))}")
            text.where([*text.of_type("n0", type_), condition])
            if match == "fuzzy":
                text.add(f"WITH n0, {graph_query.near_names(text, name, wanted)[1]} AS h0")
                text.add(f"ORDER BY h0 DESC LIMIT {text.parameter(candidates)}")
            text.returns(_FOUND_COLUMNS[:3], (text.node_id("n0", (type_,)), text.parameter(type_.name), name))
            text.add(f"LIMIT {text.parameter(candidates)}")
    if is_first:
        raise OperatorFault("arguments", "these types have no property that names them", "Use get_nodes with filters")
    start = pattern.Nodes(types=types, shown=f"{match} {wanted[:60]!r}")
    return TableQuery(text.compiled(), _FOUND_COLUMNS, start.shown, most, start)


def _name_condition(text: CypherText, key: PropertyKey, value: str, name: str, wanted: str, match: str) -> str | None:
    """Return what a name must satisfy; None: no value of the property can."""
    if match == "exact" and key.type == "integer":
        is_one = wanted.isascii() and wanted.isdigit() and len(wanted) < len(str(2**63))
        return f"{value} = {text.parameter(int(wanted))}" if is_one else None
    if match == "exact":
        return f"{value} = {text.parameter(wanted)}"
    if match == "prefix":
        return f"lower({name}) STARTS WITH lower({text.parameter(wanted)})"
    return graph_query.near_names(text, name, wanted)[0]


@operator(
    "text* match* node_type limit",
    returns=_FOUND_COLUMNS,
    compile=compile_find,
    text={"type": "string", "minLength": 1},
    match=choice("exact", "prefix", "fuzzy"),
    limit=integer(1, _MOST_FOUND),
)
async def find(arguments: Arguments, context: OperatorContext) -> Result:
    """Find nodes by their name or key, of one type or of any: exact, prefix (names that begin with a text) or fuzzy (parts, other
    case, typing errors). Take it first when a question names a thing and its type or spelling is not sure."""
    wanted, match = str(arguments["text"]), arguments.get("match", "exact")
    if not wanted.strip():
        raise OperatorFault("arguments", "the text is empty", "Give a name, a part of it, or a key")
    query, rows = await _found(arguments, context)
    if not rows and match != "fuzzy":
        _, near = await _found({**arguments, "match": "fuzzy"}, context)
        if near:
            shown = ", ".join(repr(name) for name in list(dict.fromkeys(row[2] for row in near))[:3])
            raise OperatorFault("empty", f"nothing is called {wanted[:60]!r}", f"There is {shown}")
    return await graph_query.keep_rows(context, query, rows)


async def _found(
    arguments: Arguments, context: OperatorContext
) -> tuple[TableQuery, list[tuple[str, str, str, float]]]:
    """Return each node once, with the name that is nearest, the nearest first."""
    query = await graph_query.compiled_for(compile_find, arguments, context)
    rows, _ = await graph_query.fetch_rows(context, query.compiled, most=_CANDIDATES * 20)
    least = graph_query.NEAR if arguments.get("match", "exact") == "fuzzy" else -1
    best: dict[str, tuple[str, str, str, float]] = {}
    for id_, type_, name in (map(str, row) for row in rows):
        score = graph_query.nearness(str(arguments["text"]), name)
        if score >= least and (id_ not in best or best[id_][3] < score):
            best[id_] = (id_, type_, name, score)
    return query, sorted(best.values(), key=lambda row: (-row[3], row[2], row[0]))


def compile_time_slice(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes of a time.

    Which properties say when, the catalog knows: those of the type itself; else those of a type beside it that is nothing but a time
    (a month); else those of its relationships; else those of any type beside it.
    """
    from planners.graphseek.operators.slice import return_nodes

    asked = _asked_time(arguments)
    nodes = pattern.parse_nodes({"type": arguments["node_type"], "filters": arguments.get("filters")}, text.schema)
    (type_,) = nodes.types
    own, beside = _time_place(asked, type_, arguments.get("via") or (), text.schema, catalog)
    conditions = pattern.node_conditions(text, "n1", nodes)
    if beside is None:
        text.add(f"MATCH {text.node('n1', (type_,))}")
        text.where([*conditions, *_time_conditions(text, "n1", own, type_, catalog)])
        notes: tuple[str, ...] = ()
    else:
        types, neighbour, owner, values = beside
        reach = pattern.Reach(types=types, direction="both")
        begin = text.node("n0", (neighbour,) if neighbour else ())
        steps = pattern.steps_of(text, begin, text.node("n1", (type_,)), reach)
        text.add(f"MATCH {steps.between(f'e0{steps.types}')}")
        conditions += text.of_type("n0", neighbour)
        text.where([*conditions, *_time_conditions(text, "n0" if neighbour else "e0", values, owner, catalog)])
        text.add("WITH DISTINCT n1")
        of = neighbour.name if neighbour else "the relationships"
        notes = (f"Time is that of {of}, by {', '.join(each.name for each in types)}.",)
    columns = return_nodes(text, pattern.Nodes(types=(type_,), shown=""))
    most = arguments.get("limit", DEFAULT_ROWS)
    text.limit(most)
    named = [f"{name} {value}" for name in _TIMES if (value := asked[name]) is not None]
    shown = ", ".join([*named, *([asked["plan_or_actual"]] if asked["plan_or_actual"] is not None else [])])
    return TableQuery(text.compiled(), columns, f"{nodes.shown} of {shown}", most, nodes, notes=notes)


def _asked_time(arguments: Arguments) -> dict[str, Any]:
    asked = {name: arguments.get(name) for name in (*_TIMES, "plan_or_actual")}
    if all(value is None for value in asked.values()):
        hint = "Give year, quarter, month or plan_or_actual; use get_nodes for all"
        raise OperatorFault("arguments", "no time is given", hint)
    for name, (least, most) in _TIMES.items():
        if (value := asked[name]) is not None and not least <= value <= most:
            raise OperatorFault("arguments", f"{name} is {value}", f"Use {least} to {most}")
    return asked


Beside: TypeAlias = tuple[tuple[RelationshipType, ...], NodeType | None, pattern.Owner, list[TimeValues]]
"""Relationships, and what says when: the type of nodes that they lead to, or, where that is None, they."""


def _time_place(
    asked: dict[str, Any], type_: NodeType, via: Sequence[str], schema: GraphSchema, catalog: SemanticCatalog
) -> tuple[list[TimeValues], Beside | None]:
    """Return what says when: properties of the type, or what is beside it.

    :raises OperatorFault: when the catalog knows none.
    """
    own = _times_on(asked, type_, catalog)
    if own is not None and not via:
        return own, None
    found = list(
        _beside(asked, type_, pattern.relationship_types(schema, via) or schema.relationships, schema, catalog)
    )
    if found:
        chosen = min(found, key=lambda each: _rank(each, catalog))
        alike = [each[0][0] for each in found if _alike(each) == _alike(chosen)]
        return [], (tuple(dict.fromkeys(alike)), *chosen[1:])
    if own is not None:
        return own, None
    hint = "Filter a property with get_nodes, or relationships with relationship_filters of traverse"
    named = ", ".join(
        f"{name} {value}".removeprefix("plan_or_actual ") for name, value in asked.items() if value is not None
    )
    raise OperatorFault("arguments", f"no property of {type_.name} or beside it says {named}", hint)


def _alike(beside: Beside) -> tuple[NodeType | None, list[str]]:
    """What those have in common that stand in one query."""
    return beside[1], [key.name for key, _ in beside[3]]


def _rank(beside: Beside, catalog: SemanticCatalog) -> int:
    """How far something is from a mere point of time: a calendar month is one, then come relationships, then other types."""
    roles, plain = pattern.roles_of_owner(beside[2], catalog), ("key", "name", *TIME_ROLES, "plan or actual")
    if beside[1] is None:
        return 1
    return 0 if all(roles.get(each.name) in plain for each in beside[2].properties) else 2


def _beside(
    asked: dict[str, Any],
    type_: NodeType,
    via: Sequence[RelationshipType],
    schema: GraphSchema,
    catalog: SemanticCatalog,
) -> Iterator[Beside]:
    for each in via:
        names = {end.target for end in each.ends if end.source == type_.name}
        names |= {end.source for end in each.ends if end.target == type_.name}
        neighbours = [node for node in schema.nodes if node.name in names or not each.ends]
        for neighbour in neighbours:
            if (values := _times_on(asked, neighbour, catalog)) is not None:
                yield (each,), neighbour, neighbour, values
        if neighbours and (values := _times_on(asked, each, catalog)) is not None:
            yield (each,), None, each, values


def _times_on(asked: dict[str, Any], owner: pattern.Owner, catalog: SemanticCatalog) -> list[TimeValues] | None:
    """Return properties of a type and the values that are meant; None: its properties do not say all that is asked."""
    found: list[TimeValues] = []
    if asked["plan_or_actual"] is not None:
        plan = _with_role(owner, catalog, "plan or actual")
        if plan is None:
            return None
        found.append((plan, plan_values(plan, asked["plan_or_actual"], owner, catalog)))
    periods: list[TimeValues] = []
    roles: tuple[Role, ...] = ("year", "quarter", "month")
    for role in roles:
        if asked[role] is None:
            continue
        key, said = _with_role(owner, catalog, role), role
        numbers: Sequence[int] = [asked[role]]
        if key is None and role == "quarter":  # a quarter is three months
            numbers, key, said = _months(asked[role]), _with_role(owner, catalog, "month"), "month"
        if key is None:
            date = _date_of(asked, owner, catalog)
            return None if date is None else [*found, date]
        values = [value for number in numbers for value in _time_texts(key, said, number, asked["year"])]
        periods.append((key, tuple(values)))
    return found + periods


def _date_of(asked: dict[str, Any], owner: pattern.Owner, catalog: SemanticCatalog) -> TimeValues | None:
    key, year = _with_role(owner, catalog, "date"), asked["year"]
    if key is None or year is None:
        return None
    months = _months(asked["quarter"]) if asked["quarter"] is not None else range(1, 13)
    first, last = months[0], months[-1]
    if asked["month"] is not None:
        first, last = max(first, asked["month"]), min(last, asked["month"])
    return key, (f"{year:04d}-{first:02d}-01", f"{year + last // 12:04d}-{last % 12 + 1:02d}-01")


def _months(quarter: int) -> range:
    return range(3 * quarter - 2, 3 * quarter + 1)


def _with_role(owner: pattern.Owner, catalog: SemanticCatalog, role: Role) -> PropertyKey | None:
    names = pattern.properties_with_role(owner, catalog, role)
    return next((each for each in owner.properties if each.name in names[:1]), None)


def _time_texts(key: PropertyKey, role: str, number: int, year: int | None) -> list[Scalar]:
    """Return how a property may write a number of a year, quarter or month."""
    if key.type != "string":
        return [number]
    if role == "quarter":
        return [f"{number}", f"q{number}", *([f"{year}-q{number}", f"q{number} {year}"] if year else [])]
    if role == "month":
        names = [calendar.month_name[number].lower(), calendar.month_abbr[number].lower()]
        return [f"{number}", f"{number:02d}", *names, *([f"{year}-{number:02d}"] if year else [])]
    return [f"{number}"]


def _time_conditions(
    text: CypherText, variable: str, values: Sequence[TimeValues], owner: pattern.Owner, catalog: SemanticCatalog
) -> list[str]:
    dates, found = pattern.properties_with_role(owner, catalog, "date"), []
    for key, meant in values:
        name = text.property(variable, key.name)
        if key.name in dates:
            first, after = (text.parameter(each) for each in meant)
            cast = ("date({})" if key.type == "date" else "{}").format
            found += [f"{name} >= {cast(first)}", f"{name} < {cast(after)}"]
        else:
            found.append(f"{f'lower({name})' if key.type == 'string' else name} IN {text.parameter(meant)}")
    return found


def plan_values(key: PropertyKey, said: str, owner: pattern.Owner, catalog: SemanticCatalog) -> tuple[Scalar, ...]:
    """Return the values of a property of plan or actual that a word means, in lower case."""
    given = said.strip().lower()
    word = _SAID.get(given, given)
    described, stem = pattern.described_by(owner, catalog), word.removesuffix("s")
    words = described.properties[key.name].values if described and key.name in described.properties else {}
    meant = [words[each].lower() for each in (given, word, stem) if each in words]
    if key.type == "boolean":
        return ((meant[0] == "true") if meant else stem == "plan",)
    return tuple(dict.fromkeys([*meant, word, stem, f"{stem}s"]))


@operator(
    "node_type* filters year quarter month plan_or_actual via limit",
    compile=compile_time_slice,
    year={"type": "integer"},
    quarter=integer(1, 4),
    month=integer(1, 12),
)
async def time_slice(arguments: Arguments, context: OperatorContext) -> Result:
    """List the nodes of a type in a year, quarter or month, or those that are planned or actual: produced in 2023, assembled in Q2.
    It knows which property says when, of the type itself or of a node of time beside it; via names the relationships to that."""
    return await graph_query.run_compiled(compile_time_slice, arguments, context)


@operator("text*", group="agent", text={"type": "string", "minLength": 1})
async def cypher(arguments: Arguments, context: OperatorContext) -> Result:
    """Runs one Cypher query that only reads, for what no other operator can ask. Types and properties are those of the schema.
    Return properties under names, not whole nodes: RETURN s.name AS site, count(*) AS processes."""
    text = allowed_cypher(arguments["text"], write=False).text
    context.ran(Compiled(text=text))
    limits = QueryLimits(rows=_CYPHER_ROWS, seconds=context.seconds)
    async with context.graph.read(text, None, limits) as stream:
        rows = [tuple(row) async for batch in stream.batches() for row in batch]
        names, cut = stream.columns, stream.cut
    if not rows:
        raise OperatorFault("empty", "the query gave no rows", "Check names, directions and values")
    notes = (f"There are more than {_CYPHER_ROWS} rows.",) if cut else ()
    table = graph_query.table_of(*graph_query.typed_table(names, rows))
    return await context.results.keep_table(table, title="rows of the query", most=_CYPHER_ROWS, notes=notes)
