"""``find``: nodes by what they are called: exactly, by the beginning, or nearly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.graph_query import TableQuery, compiled_for, fetch_rows, table_of
from planners.graphseek.operators.node_naming import naming_properties
from planners.graphseek.operators.node_selection import Selection, node_type
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.text_nearness import NEAR, near_names, nearness
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey

__all__ = ["OPERATOR", "compile_query"]

_LIMIT = 10
_MOST = 1_000
_CANDIDATES = 2_000
"""Of each property, whose nearness is computed: 20 ms for all of them."""
_SHOWN = 3
_COLUMNS = (
    ResultColumn(name="node", type="node"),
    ResultColumn(name="type", type="string"),
    ResultColumn(name="name", type="string"),
    ResultColumn(name="score", type="number"),
)


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of candidates: ids, types and names."""
    text, wanted = CypherText(schema, dialect), str(arguments["text"])
    match = arguments.get("match", "exact")
    most = arguments.get("limit", _LIMIT)
    candidates = most + 1 if match == "exact" else _CANDIDATES
    types = (node_type(schema, arguments["node_type"]),) if arguments.get("node_type") else schema.nodes
    is_first = True
    for type_ in types:
        for key in _keys(type_, catalog):
            condition = _condition(text, key, wanted, match)
            if condition is None:
                continue
            if not is_first:
                text.add("UNION ALL")
            is_first = False
            text.add(f"MATCH {text.node('n0', (type_,))}")
            text.where([*text.of_type("n0", type_), condition])
            if match == "fuzzy":
                text.add(f"WITH n0, {near_names(text, _name(text, key), wanted)[1]} AS h0")
                text.add(f"ORDER BY h0 DESC LIMIT {text.parameter(candidates)}")
            text.returns(_COLUMNS[:3], (text.node_id("n0", (type_,)), text.parameter(type_.name), _name(text, key)))
            text.add(f"LIMIT {text.parameter(candidates)}")
    if is_first:
        raise OperatorFault("arguments", "these types have no property that names them", "Use get_nodes with filters")
    start = Selection(type=None, types=types, shown=f"{match} {wanted[:60]!r}")
    return TableQuery(compiled=text.compiled(), columns=_COLUMNS, title=start.shown, start=start, most=most)


def _keys(type_: NodeType, catalog: SemanticCatalog) -> list[PropertyKey]:
    names = naming_properties(type_, catalog)
    return [each for each in type_.properties if each.name in names and each.type in ("string", "integer")]


def _name(text: CypherText, key: PropertyKey) -> str:
    value = text.property("n0", key.name)
    return text.dialect.as_text(value) if key.type == "integer" else value


def _condition(text: CypherText, key: PropertyKey, wanted: str, match: str) -> str | None:
    """Return what a name must satisfy; None: no value of the property can."""
    value = text.property("n0", key.name)
    if match == "exact":
        if key.type == "integer":
            is_one = wanted.isascii() and wanted.isdigit() and len(wanted) < len(str(2**63))
            return f"{value} = {text.parameter(int(wanted))}" if is_one else None
        return f"{value} = {text.parameter(wanted)}"
    if match == "prefix":
        return f"lower({_name(text, key)}) STARTS WITH lower({text.parameter(wanted)})"
    return near_names(text, _name(text, key), wanted)[0]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    if not str(arguments["text"]).strip():
        raise OperatorFault("arguments", "the text is empty", "Give a name, a part of it, or a key")
    query = await compiled_for(compile_query, arguments, context)
    rows = await _rows(arguments, context, query)
    if not rows and arguments.get("match", "exact") != "fuzzy":
        await _explain({**arguments, "match": "fuzzy"}, context)
    return await context.results.keep_table(table_of(query.columns, rows), title=query.title, most=query.most)


async def _rows(
    arguments: Mapping[str, Any], context: OperatorContext, query: TableQuery
) -> list[tuple[str, str, str, float]]:
    """Return each node once, with the name that is nearest, the nearest first."""
    found, _ = await fetch_rows(context, query.compiled, most=_CANDIDATES * 20)
    is_fuzzy = arguments.get("match", "exact") == "fuzzy"
    best: dict[str, tuple[str, str, str, float]] = {}
    for id_, type_, name in found:
        score = nearness(str(arguments["text"]), str(name))
        if is_fuzzy and score < NEAR:
            continue
        if str(id_) not in best or best[str(id_)][3] < score:
            best[str(id_)] = (str(id_), str(type_), str(name), score)
    return sorted(best.values(), key=lambda row: (-row[3], row[2], row[0]))


async def _explain(arguments: Mapping[str, Any], context: OperatorContext) -> None:
    query = await compiled_for(compile_query, arguments, context)
    names: Sequence[str] = list(dict.fromkeys(row[2] for row in await _rows(arguments, context, query)))
    if names:
        shown = ", ".join(repr(name) for name in names[:_SHOWN])
        raise OperatorFault("empty", f"nothing is called {str(arguments['text'])[:60]!r}", f"There is {shown}")


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {
        "text": {"type": "string", "minLength": 1},
        "match": {"type": "string", "enum": ["exact", "prefix", "fuzzy"]},
        "node_type": forms.node_type,
        "limit": forms.limit(_MOST),
    }


OPERATOR: Operator = TypedOperator(
    name="find",
    description=(
        "Find nodes by their name or key, of one type or of any: exact, prefix (names that begin with a text) or fuzzy (parts, other "
        "case, typing errors). Take it first when a question names a thing and its type or spelling is not sure."
    ),
    forms=_forms,
    required=("text", "match"),
    runs=_run,
    returns=_COLUMNS,
)
