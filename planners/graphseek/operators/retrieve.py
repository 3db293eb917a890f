"""Operators that retrieve nodes: by their properties, by their names; and the last resort, a query in Cypher."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher

from planners.graphseek.catalog import naming_properties
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.cypher_text import Compiled, CypherText
from planners.graphseek.operators.graph_query import DEFAULT_ROWS
from planners.graphseek.operators.operator import Arguments, OperatorContext, OperatorFault, choice, integer, operator
from planners.graphseek.results import Result, ResultColumn
from planners.stores.graph_schema import PropertyKey
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import allowed_cypher

_FOUND_COLUMNS = (
    ResultColumn(name="node", type="node"),
    ResultColumn(name="type", type="string"),
    ResultColumn(name="name", type="string"),
    ResultColumn(name="score", type="number"),
)
_FOUND = 10
_MOST_FOUND = 1_000
_CANDIDATES = 2_000  # of each property, whose nearness is computed: 20 ms for all of them
NEAR = 0.6  # nearness from which a name is shown: the cutoff of get_close_matches
# Least nearness of a name that contains the text: above those with a typing error in every third letter
_CONTAINED = 0.8
_COMPARED = 200  # characters of a text
_CYPHER_ROWS = 10_000


@operator(
    "node_type* filters properties group_by aggregations order_by descending limit",
    properties=lambda forms: {"type": "array", "items": forms.property},
    group_by=lambda forms: {"type": "array", "items": forms.property},
    order_by={"type": "string", "description": "a property, or the column of an aggregation: sum_price"},
)
async def get_nodes(arguments: Arguments, context: OperatorContext) -> Result:
    """List nodes of one type that satisfy filters on their own properties, or count, sum and average them, whole or in groups
    (group_by). For the highest or the latest, order_by with descending and a limit. It does not look at relationships."""
    _, text = await graph_query.begin({}, context)
    nodes = pattern.parse_nodes({"type": arguments["node_type"], "filters": arguments.get("filters")}, context.schema)
    (type_,) = nodes.types
    order, most = arguments.get("order_by"), arguments.get("limit", DEFAULT_ROWS)

    def named(argument: str) -> list[PropertyKey]:
        return [pattern.property_of((type_,), name) for name in dict.fromkeys(arguments.get(argument) or ())]

    if arguments.get("group_by") or arguments.get("aggregations"):
        pattern.match_nodes(text, nodes)
        keys = named("group_by")
        groups = [(column, text.property("n0", column.name)) for column in pattern.columns_of(keys)]
        aggregated = arguments.get("aggregations") or [{"grouping_type": "COUNT"}]
        aggregations = pattern.parse_aggregations(aggregated, (type_,))
        columns = graph_query.write_groups(text, groups, aggregations, "n0", arguments)
        title = f"{nodes.shown} by {', '.join(key.name for key in keys)}" if keys else nodes.shown
        result = await graph_query.run_query(context, text, columns, title=title, most=most, filters=nodes.filters)
        if not keys and not any(cell for row in await context.results.rows(result.handle, limit=1) for cell in row):
            graph_query.explain_empty(nodes.filters)
        return result
    valued = [pattern.Filter(key=pattern.property_of((type_,), order), operator="is_not_null")] if order else []
    pattern.match_nodes(text, replace(nodes, filters=(*nodes.filters, *valued)))
    keys = named("properties") or list(type_.properties)
    of_node, values = pattern.node_cells(text, "n0", type_, keys)
    names = text.returns(of_node, values)
    if order:
        text.add(f"ORDER BY {text.property('n0', order)}{' DESC' if arguments.get('descending') else ''}, {names[0]}")
    text.limit(most)
    notes = [f"Nodes without {order} are left out."] if order else []
    return await graph_query.run_query(
        context, text, of_node, title=nodes.shown, most=most, filters=nodes.filters, notes=notes
    )


async def _found(arguments: Arguments, context: OperatorContext, match: str) -> list[tuple[str, str, str, float]]:
    """Each node once, with the name that is nearest, the nearest first."""
    _, text = await graph_query.begin({}, context)
    wanted, schema = str(arguments["text"]), context.schema
    candidates = arguments.get("limit", _FOUND) + 1 if match == "exact" else _CANDIDATES
    named = [arguments["node_type"]] if arguments.get("node_type") else []
    is_first = True
    for type_ in pattern.named_types(schema.nodes, "node", named) or schema.nodes:
        names = naming_properties(type_, context.catalog)
        for key in (each for each in type_.properties if each.name in names and each.type in ("string", "integer")):
            value = text.property("n0", key.name)
            name = text.form("as_text", value) if key.type == "integer" else value
            near, score = _near_names(text, name, wanted) if match == "fuzzy" else ("", "")
            if not is_first:
                text.add("UNION ALL")
            is_first = False
            text.add(f"MATCH {text.node('n0', (type_,))}")
            text.where([near or f"{name} = {text.parameter(wanted)}"])
            if near:
                text.add(f"WITH n0, {score} AS h0")
                text.add(f"ORDER BY h0 DESC LIMIT {text.parameter(candidates)}")
            text.returns(_FOUND_COLUMNS[:3], (text.node_id("n0", (type_,)), text.parameter(type_.name), name))
            text.add(f"LIMIT {text.parameter(candidates)}")
    if is_first:
        raise OperatorFault("arguments", "these types have no property that names them", "Use get_nodes with filters")
    rows, _ = await graph_query.fetch_rows(context, text.compiled(), most=_CANDIDATES * 20)
    best: dict[str, tuple[str, str, str, float]] = {}
    for id_, kind, name in (map(str, row) for row in rows):
        nearest = nearness(wanted, name)
        if (match == "exact" or nearest >= NEAR) and (id_ not in best or best[id_][3] < nearest):
            best[id_] = (id_, kind, name, nearest)
    return sorted(best.values(), key=lambda row: (-row[3], row[2], row[0]))


def _near_names(text: CypherText, value: str, wanted: str) -> tuple[str, str]:
    """The condition that the name, an expression, may be near, and what orders names so that the nearest stand among
    the first. A text with n errors, cut into n + 1 pieces, has a piece without an error: engines without fuzzy search
    look for the pieces."""
    short = wanted.strip()[:_COMPARED]
    size = max(-(-len(short) // (1 if len(short) < 4 else 2 if len(short) < 8 else 3)), 1)
    pieces = [short[at : at + size] for at in range(0, len(short), size)]
    tests = [f"lower({value}) CONTAINS lower({text.parameter(piece)})" for piece in pieces]
    scores = [
        f"CASE WHEN {test} THEN {text.parameter(2 * len(piece))} ELSE 0 END"
        for test, piece in zip(tests, pieces, strict=True)
    ]
    return f"({' OR '.join(tests)})", f"{' + '.join(scores)} - abs(size({value}) - {text.parameter(len(wanted))})"


def nearness(text: str, name: str) -> float:
    """Return how near a name is, from 0 to 1; 1: equal but for case."""
    one, other = text.strip().casefold()[:_COMPARED], name.casefold()[:_COMPARED]
    if one == other:
        return 1.0
    if one and one in other:
        return round(_CONTAINED + (1 - _CONTAINED) * len(one) / (len(other) + 1), 3)
    return round(SequenceMatcher(None, one, other, autojunk=False).ratio(), 3)


@operator(
    "text* match* node_type limit",
    text={"type": "string", "minLength": 1},
    match=choice("exact", "fuzzy"),
    limit=integer(1, _MOST_FOUND),
)
async def find(arguments: Arguments, context: OperatorContext) -> Result:
    """Find nodes by their name or key, of one type or of any: exact, or fuzzy (parts, other case, typing errors). Take it first
    when a question names a thing and its type or spelling is not sure."""
    wanted, match = str(arguments["text"]), arguments.get("match", "exact")
    if not wanted.strip():
        raise OperatorFault("arguments", "the text is empty", "Give a name, a part of it, or a key")
    rows, most = await _found(arguments, context, match), arguments.get("limit", _FOUND)
    if not rows and match == "exact" and (near := await _found(arguments, context, "fuzzy")):
        shown = ", ".join(repr(name) for name in list(dict.fromkeys(row[2] for row in near))[:3])
        raise OperatorFault("empty", f"nothing is called {wanted[:60]!r}", f"There is {shown}")
    title, is_cut = f"{match} {wanted[:60]!r}", len(rows) > most
    return await context.results.keep_table(_FOUND_COLUMNS, rows[:most], title=title, cut=is_cut)


@operator("text*", text={"type": "string", "minLength": 1})
async def cypher(arguments: Arguments, context: OperatorContext) -> Result:
    """Runs one Cypher query that only reads, for what no other operator can ask. Types and properties are those of the schema.
    Return properties under names, not whole nodes: RETURN s.name AS site, count(*) AS processes."""
    text = allowed_cypher(arguments["text"])
    context.ran(Compiled(text=text))
    found = await context.graph.read(text, None, QueryLimits(rows=_CYPHER_ROWS, seconds=context.seconds))
    if not found.rows:
        raise OperatorFault("empty", "the query gave no rows", "Check names, directions and values")
    columns, cells = graph_query.cells_of(found.columns, found.rows)
    return await context.results.keep_table(columns, cells, title="rows of the query", cut=found.cut)
