"""Operators that retrieve nodes: by their properties, their names, their time; and the last resort, a query in Cypher."""

from __future__ import annotations

import calendar
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from planners.graphseek.catalog import TIME_ROLES, SemanticCatalog
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.cypher_text import Compiled, CypherText
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery
from planners.graphseek.operators.operator import Arguments, OperatorContext, OperatorFault, choice, integer, operator
from planners.graphseek.results import Result, ResultColumn
from planners.stores.graph_schema import NodeType, PropertyKey, RelationshipType
from planners.stores.property_graph import QueryLimits, Scalar
from planners.stores.statements import allowed_cypher

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
_TIMES = ("year", "quarter", "month")


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
        graph_query.explain_empty(query)
    return await graph_query.keep_rows(context, query, cells)


def compile_find(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of candidates: ids, types and names."""
    wanted = str(arguments["text"])
    match, most = arguments.get("match", "exact"), arguments.get("limit", _FOUND)
    candidates = most + 1 if match == "exact" else _CANDIDATES
    named = [arguments["node_type"]] if arguments.get("node_type") else []
    types = pattern.named_types(text.schema.nodes, "node", named) or text.schema.nodes
    is_first = True
    for type_ in types:
        names = pattern.naming_properties(type_, catalog)
        for key in (each for each in type_.properties if each.name in names and each.type in ("string", "integer")):
            value = text.property("n0", key.name)
            name = text.form("as_text", value) if key.type == "integer" else value
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
    asked = {name: arguments[name] for name in (*_TIMES, "plan_or_actual") if arguments.get(name) is not None}
    if not asked:
        hint = "Give year, quarter, month or plan_or_actual; use get_nodes for all"
        raise OperatorFault("arguments", "no time is given", hint)
    nodes = pattern.parse_nodes({"type": arguments["node_type"], "filters": arguments.get("filters")}, text.schema)
    (type_,) = nodes.types
    conditions, notes = pattern.node_conditions(text, "n1", nodes), list[str]()
    own = _times_on(asked, type_, catalog)
    via = pattern.named_types(text.schema.relationships, "relationship", arguments.get("via") or ())
    if own is not None and not via:
        text.add(f"MATCH {text.node('n1', (type_,))}")
        text.where([*conditions, *_time_conditions(text, "n1", own, type_, catalog)])
    else:
        types, neighbour, owner, values = _time_beside(asked, type_, via or text.schema.relationships, text, catalog)
        begin = text.node("n0", (neighbour,) if neighbour else ())
        steps = pattern.steps_of(text, begin, text.node("n1", (type_,)), pattern.Reach(types=types, direction="both"))
        text.add(f"MATCH {steps.between(f'e0{steps.types}')}")
        conditions += text.of_type("n0", neighbour)
        text.where([*conditions, *_time_conditions(text, "n0" if neighbour else "e0", values, owner, catalog)])
        text.add("WITH DISTINCT n1")
        of = neighbour.name if neighbour else "the relationships"
        notes.append(f"Time is that of {of}, by {', '.join(each.name for each in types)}.")
    columns = pattern.return_nodes(text, pattern.Nodes(types=(type_,), shown=""))
    most = arguments.get("limit", DEFAULT_ROWS)
    text.limit(most)
    shown = ", ".join(f"{name} {value}".removeprefix("plan_or_actual ") for name, value in asked.items())
    return TableQuery(text.compiled(), columns, f"{nodes.shown} of {shown}", most, nodes, notes=tuple(notes))


Beside: TypeAlias = tuple[tuple[RelationshipType, ...], NodeType | None, pattern.Owner, list[TimeValues]]
"""Relationships, and what says when: the type of nodes that they lead to, or, where that is None, they."""


def _time_beside(
    asked: Mapping[str, Any],
    type_: NodeType,
    via: Sequence[RelationshipType],
    text: CypherText,
    catalog: SemanticCatalog,
) -> Beside:
    """Return what says when beside a type, the nearest to a mere point of time; alike ones are taken together."""
    plain = {"key", "name", *TIME_ROLES, "plan or actual"}
    found = list[tuple[int, Beside]]()
    for each in via:
        names = {end.target for end in each.ends if end.source == type_.name}
        names |= {end.source for end in each.ends if end.target == type_.name}
        neighbours = [node for node in text.schema.nodes if node.name in names or not each.ends]
        for neighbour in neighbours:
            if (values := _times_on(asked, neighbour, catalog)) is not None:
                roles = pattern.roles_of_owner(neighbour, catalog)
                is_calendar = all(roles.get(key.name) in plain for key in neighbour.properties)
                found.append((0 if is_calendar else 2, ((each,), neighbour, neighbour, values)))
        if neighbours and (values := _times_on(asked, each, catalog)) is not None:
            found.append((1, ((each,), None, each, values)))
    if not found:
        hint = "Filter a property with get_nodes, or relationships with relationship_filters of traverse"
        named = ", ".join(f"{name} {value}".removeprefix("plan_or_actual ") for name, value in asked.items())
        raise OperatorFault("arguments", f"no property of {type_.name} or beside it says {named}", hint)
    chosen = min(found, key=lambda each: each[0])[1]
    keys = [key.name for key, _ in chosen[3]]
    alike = (of for _, (of, other, _, values) in found if (other, [key.name for key, _ in values]) == (chosen[1], keys))
    return (tuple(dict.fromkeys(each for of in alike for each in of)), *chosen[1:])


def _times_on(asked: Mapping[str, Any], owner: pattern.Owner, catalog: SemanticCatalog) -> list[TimeValues] | None:
    """Return properties of a type and the values that are meant; None: its properties do not say all that is asked."""
    by_role: dict[str, PropertyKey] = {}
    roles = pattern.roles_of_owner(owner, catalog)
    for each in owner.properties:
        by_role.setdefault(roles.get(each.name, ""), each)
    found: list[TimeValues] = []
    if "plan_or_actual" in asked:
        if (plan := by_role.get("plan or actual")) is None:
            return None
        found.append((plan, _plan_values(plan, asked["plan_or_actual"], owner, catalog)))
    times = {role: asked[role] for role in _TIMES if role in asked}
    if times.keys() <= by_role.keys():
        return found + [(by_role[role], _time_texts(by_role[role], role, number)) for role, number in times.items()]
    date, year, month = by_role.get("date"), times.get("year"), times.get("month")
    if date is None or year is None or "quarter" in times:
        return None
    after = (year, month + 1) if month and month < 12 else (year + 1, 1)
    return [*found, (date, (f"{year:04d}-{month or 1:02d}-01", f"{after[0]:04d}-{after[1]:02d}-01"))]


def _time_texts(key: PropertyKey, role: str, number: int) -> tuple[Scalar, ...]:
    """Return how a property may write a number of a year, quarter or month."""
    if key.type != "string":
        return (number,)
    if role == "month":
        names = (calendar.month_name[number].lower(), calendar.month_abbr[number].lower())
        return (f"{number}", f"{number:02d}", *names)
    return (f"{number}", f"q{number}") if role == "quarter" else (f"{number}",)


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


def _plan_values(key: PropertyKey, said: str, owner: pattern.Owner, catalog: SemanticCatalog) -> tuple[Scalar, ...]:
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
    year=integer(1, 9998),
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
    text = allowed_cypher(arguments["text"]).text
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
