"""Which nodes an operator means: filters, selections, reach, names and aggregations, checked against the schema and written as Cypher.

What the schema does not know or does not fit raises an OperatorFault. A node is no neighbour of itself. What is reached in several ways counts once, at the least number of its hops.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ontology.errors import NotFoundError
from ontology.names import words
from planners.graphseek.catalog import NodeDescriptor, RelationshipDescriptor, Role, SemanticCatalog
from planners.graphseek.draft import roles_of
from planners.graphseek.operators.cypher_text import CypherText, Steps
from planners.graphseek.operators.operator import (
    COMPARED,
    NULL_OPERATORS,
    TEXT_OPERATORS,
    Arguments,
    OperatorContext,
    OperatorFault,
    names_of,
    nearest_hint,
)
from planners.graphseek.results import ColumnType, Result, ResultColumn, ResultNode, with_tuples
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType
from planners.stores.property_graph import Properties, Scalar

Owner: TypeAlias = NodeType | RelationshipType
Direction: TypeAlias = Literal["out", "in", "both"]
NUMERIC = ("integer", "number")
NODE = ResultColumn(name="node", type="node")
NODE_TEXTS = (ResultColumn(name="type", type="string"), ResultColumn(name="name", type="string"))
_ARROWS = {"out": "->", "in": "<-", "both": "-"}
_MOST_VALUES = 1_000
"""Of ``in``: engines compare each with each node."""
_MOST_IDS = 10_000
"""Of a result that a query starts from. Looking up 10,000 keys takes 0.2 s in Ladybug."""
_NEARLY_UNIQUE = 0.9
"""Different values over nodes that have one, above which a string names nodes where the catalog says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """One condition on a property; ``values`` has one for most operators, none for those about null."""

    key: PropertyKey
    operator: str
    values: tuple[Scalar, ...] = ()

    @property
    def shown(self) -> str:
        """The words for it in the title of a result."""
        return f"{self.key.name} {self.operator} {', '.join(map(str, self.values))}".strip()[:80]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Nodes that a query starts from, or those that are meant of what it reaches.

    :param types: that they may be of.
    :param ids: of a result; None: all that the types and the filters say.
    :param shown: as titles show it.
    :param is_narrowed: whether ``types`` was asked for, so that the query has to say it.
    """

    types: tuple[NodeType, ...]
    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] | None = None
    shown: str
    is_narrowed: bool = False

    @property
    def type(self) -> NodeType | None:
        """Their type; None where there are several."""
        return self.types[0] if len(self.types) == 1 else None

    @property
    def labels(self) -> set[str]:
        """The labels of the types."""
        return {each.mark.label for each in self.types}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far, and along what: relationships of ``types``, all where it is empty, each of which satisfies ``filters``."""

    types: tuple[RelationshipType, ...] = ()
    direction: Direction = "out"
    hops: int = 1
    filters: tuple[Filter, ...] = ()

    @property
    def shown(self) -> str:
        """The words for it in the title of a result."""
        names = "/".join(each.name for each in self.types) or "any relationship"
        return f"{names} ({self.direction})" + (f" within {self.hops} hops" if self.hops > 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """One aggregation; without ``key`` it counts nodes."""

    kind: str
    key: PropertyKey | None = None

    @property
    def column(self) -> ResultColumn:
        """Its column: ``count``, ``count_distinct_name``, ``sum_price``."""
        name = self.kind.lower() + (f"_{self.key.name}" if self.key else "")
        if self.kind in ("COUNT", "COUNT_DISTINCT") or self.key is None:
            return ResultColumn(name=name, type="integer")
        return ResultColumn(name=name, type="number" if self.kind == "AVG" else _column_type(self.key))


COUNT = Aggregation(kind="COUNT")


def _column_type(key: PropertyKey) -> ColumnType:
    """Dates and lists stand as text."""
    return key.type if key.type in ("integer", "number", "boolean") else "string"


def property_of(owners: Sequence[Owner], name: str) -> PropertyKey:
    """Return a property that one of the types has."""
    found = {each.type: each for owner in owners for each in owner.properties if each.name == name}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        said = "different types have it with different types of values"
        raise OperatorFault("arguments", f"{name} is ambiguous: {said}", "Name the type of the nodes")
    of = ", ".join(owner.name for owner in owners[:3])
    raise OperatorFault("unknown name", f"{of} has no property {name[:60]}", nearest_hint(name, names_of(owners)))


def parse_filters(raw: Sequence[Arguments], owners: Sequence[Owner]) -> tuple[Filter, ...]:
    """Return filters on properties of types."""
    return tuple(_filter(each, property_of(owners, str(each["key"]))) for each in raw)


def _filter(raw: Arguments, key: PropertyKey) -> Filter:
    operator, value = raw["operator"], raw.get("value")
    if operator in NULL_OPERATORS:
        return Filter(key=key, operator=operator)
    if key.type == "list":
        fits = operator == "contains"
    elif operator in TEXT_OPERATORS:
        fits = key.type == "string"
    else:
        fits = operator in ("=", "!=", "in") or key.type != "boolean"
    if not fits:
        hint = "Use contains" if key.type == "list" else "Use = or another property"
        raise OperatorFault("arguments", f"{operator} does not go with {key.name}, which is of type {key.type}", hint)
    values = list(value) if operator == "in" and isinstance(value, list | tuple) else [value]
    if not 0 < len(values) <= _MOST_VALUES:
        raise OperatorFault("arguments", f"in has {len(values):,} values", f"Give 1 to {_MOST_VALUES:,}")
    read = [_value(key, each) for each in values]
    if {type(each) for each in read} == {int, float}:  # engines take lists of one type alone
        read = [float(each) for each in read]
    return Filter(key=key, operator=operator, values=tuple(read))


def _value(key: PropertyKey, value: Any) -> Scalar:
    """Return a value as the property has it; a number or a truth written as a text is read."""
    read: Scalar | None = None
    if key.type in NUMERIC:
        read = _number(value)
    elif key.type == "boolean":
        read = value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).lower())
    elif key.type == "list":
        read = value if isinstance(value, str | int | float) else None
    elif key.type == "date":
        read = value if isinstance(value, str) and _is_date(value) else None
    elif isinstance(value, str) and "\0" not in value and not any("\ud800" <= each <= "\udfff" for each in value):
        read = value
    if read is None:
        kind = {"date": "a date like 2024-03-31", "integer": "a number"}.get(key.type, f"a {key.type}")
        problem = f"{key.name} is of type {key.type}, and {str(value)[:60]!r} is not"
        raise OperatorFault("arguments", problem, f"Give {kind}, or take another property")
    return read


def _number(value: Any) -> int | float | None:
    try:
        if isinstance(value, str):
            value = float(value) if any(each in value for each in ".eE") else int(value)
    except ValueError:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63
    return value if fits else None


def _is_date(value: str) -> bool:
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return len(value) == len("2024-03-31")


def filter_conditions(text: CypherText, variable: str, filters: Sequence[Filter]) -> list[str]:
    """Return the conditions of filters."""
    return [_condition(text, text.property(variable, each.key.name), each) for each in filters]


def _condition(text: CypherText, name: str, each: Filter) -> str:
    if each.operator in NULL_OPERATORS:
        return f"{name} {NULL_OPERATORS[each.operator]}"
    if each.operator == "in" and each.key.type != "date":
        return f"{name} IN {text.parameter(each.values)}"
    parameters = [text.parameter(value) for value in each.values]
    if each.key.type == "list":
        return f"{parameters[0]} IN {name}"
    if each.operator in TEXT_OPERATORS:
        return f"lower({name}) {TEXT_OPERATORS[each.operator]} lower({parameters[0]})"
    if each.key.type == "date":
        parameters = [f"date({parameter})" for parameter in parameters]
    if each.operator == "in":
        return f"{name} IN [{', '.join(parameters)}]"
    return f"{name} {COMPARED[each.operator]} {parameters[0]}"


def named_types(known: Sequence[Any], kind: str, names: Iterable[str]) -> tuple[Any, ...]:
    """Return types of nodes or relationships by their names."""
    by_name = {each.name: each for each in known}
    for name in names:
        if name not in by_name:
            hint = nearest_hint(name, list(by_name))
            raise OperatorFault("unknown name", f"the graph has no {kind} type {name[:60]}", hint)
    return tuple(by_name[name] for name in dict.fromkeys(names))


def stored(context: OperatorContext, handle: str, *kinds: Literal["table", "graph"]) -> Result:
    """Return a result of one of these kinds."""
    try:
        result = context.results.result(handle)
    except NotFoundError as error:
        raise OperatorFault("no such handle", f"There is no result {handle}", f"{error.remedy}") from error
    if result.kind not in kinds:
        others = [each for each in context.results.handles if context.results.result(each).kind in kinds]
        hint = "Take to_table first" if result.kind == "graph" else f"Take one of {', '.join(others) or 'none so far'}"
        raise OperatorFault("arguments", f"{handle} is a {result.kind}, not a {' or '.join(kinds)}", hint)
    return result


async def resolve_nodes(raw: Arguments, context: OperatorContext) -> Nodes:
    """Return a selection; that of a handle has the ids of its nodes, so that compiling needs no results."""
    if "handle" not in raw:
        return parse_nodes(raw, context.schema)
    found = stored(context, raw["handle"], "table", "graph")
    type_ = str(raw.get("type", ""))
    if found.kind == "graph":
        part = await context.results.graph(found.handle)
        ids = [each.id for each in part.nodes if type_ in ("", each.type)]
    else:
        at = _node_column(found, raw.get("column"))
        type_ = type_ or found.columns[at].node_type
        rows = await context.results.rows(found.handle, limit=found.size)
        ids = [str(row[at]) for row in rows if row[at] is not None]
    distinct = tuple(dict.fromkeys(ids))
    if not distinct:
        said = f" of type {type_}" if type_ else ""
        raise OperatorFault("empty", f"{found.handle} has no nodes{said}", "Start from another result, or from a type")
    if len(distinct) > _MOST_IDS:
        hint = "Say its type and filters instead of the handle, or make a smaller result"
        raise OperatorFault("too large", f"{found.handle} has more than {_MOST_IDS:,} nodes", hint)
    types = named_types(context.schema.nodes, "node", [type_] if type_ else ())
    if not types:
        parts = CypherText(context.schema, context.graph.dialect).parts_of_ids(distinct)
        types = tuple(each for each in context.schema.nodes if any(each in of for of, _ in parts))
    return Nodes(types=types or context.schema.nodes, ids=distinct, shown=found.handle)


def _node_column(table: Result, name: str | None) -> int:
    places = [at for at, column in enumerate(table.columns) if column.type == "node"]
    hint = f"Name one with column: {', '.join(table.columns[at].name for at in places)}"
    if not places:
        hint = "Start from a type and filters, or from another result"
    if name:
        at = column_place(table, name)
        if at in places:
            return at
        raise OperatorFault("arguments", f"the column {name} of {table.handle} has no nodes", hint)
    if len(places) == 1:
        return places[0]
    many = "several columns" if places else "no column"
    raise OperatorFault("arguments", f"{table.handle} has {many} of nodes", hint)


def column_place(table: Result, name: str) -> int:
    """Return where a column of a table is."""
    names = [each.name for each in table.columns]
    if name in names:
        return names.index(name)
    raise OperatorFault("unknown name", f"{table.handle} has no column {name[:60]}", nearest_hint(name, names))


def parse_nodes(raw: Nodes | Arguments, schema: GraphSchema) -> Nodes:
    """Return a selection by type and filters, or one that was resolved as it is."""
    if isinstance(raw, Nodes):
        return raw
    types: tuple[NodeType, ...] = named_types(schema.nodes, "node", [str(raw["type"])])
    filters = parse_filters(raw.get("filters") or (), types)
    shown = " and ".join(each.shown for each in filters)
    return Nodes(types=types, filters=filters, shown=f"{types[0].name} with {shown}" if filters else types[0].name)


def match_nodes(text: CypherText, variable: str, nodes: Nodes) -> None:
    """Write the clauses that match the nodes of a selection."""
    if nodes.ids is not None:
        text.choose(variable, nodes.type, nodes.ids)
        return
    text.add(f"MATCH {text.node(variable, nodes.types)}")
    text.where(node_conditions(text, variable, nodes))


def node_conditions(text: CypherText, variable: str, nodes: Nodes) -> list[str]:
    """Return what holds for nodes, beside their label."""
    of_type = text.of_type(variable, nodes.type)
    if nodes.is_narrowed and nodes.type is None and any(each.mark.property for each in nodes.types):
        of_type = text.one_of_types(variable, nodes.types)
    return [*of_type, *filter_conditions(text, variable, nodes.filters)]


def parse_reach(raw: Arguments, schema: GraphSchema, *, hops: int = 1, direction: Direction = "out") -> Reach:
    """Return what arguments say of relationships; those without a direction are followed in both.

    :param hops: the default; ``direction`` likewise.
    """
    if not schema.relationships:
        raise OperatorFault("empty", "the graph has no relationships", "Use get_nodes or find")
    types = named_types(schema.relationships, "relationship", raw.get("relationship_types") or ())
    followed = types or schema.relationships
    filters = parse_filters(raw.get("relationship_filters") or (), followed)
    is_undirected = all(each.undirected for each in followed)
    chosen: Direction = "both" if is_undirected else raw.get("direction", direction)
    return Reach(types=types, direction=chosen, hops=raw.get("max_hops", hops), filters=filters)


def parse_end(
    schema: GraphSchema, start: Nodes, reach: Reach, names: Sequence[str] = (), filters: Sequence[Arguments] = ()
) -> Nodes:
    """Return which nodes are meant of those that are reached; the schema may say that there can be none.

    :param names: of their types; empty: all that can be reached.
    """
    wanted = named_types(schema.nodes, "node", names)
    possible = _reached_types(schema, start.types, reach)
    types = tuple(each for each in possible if not wanted or each in wanted)
    if not types:
        raise _unreachable(schema, start, reach, wanted, possible)
    shown = "/".join(each.name for each in types[:4]) + (" and others" if len(types) > 4 else "")
    return Nodes(types=types, filters=parse_filters(filters, types), shown=shown, is_narrowed=bool(wanted))


def parse_neighbours(raw: Arguments, schema: GraphSchema) -> tuple[Nodes, Reach, Nodes]:
    """Return what arguments say of starts, and of their neighbours: ``neighbour_type`` and ``neighbour_filters``."""
    start, reach = parse_nodes(raw["start"], schema), parse_reach(raw, schema)
    names = [raw["neighbour_type"]] if raw.get("neighbour_type") else []
    return start, reach, parse_end(schema, start, reach, names, raw.get("neighbour_filters") or ())


def _reached_types(schema: GraphSchema, starts: Sequence[NodeType], reach: Reach) -> tuple[NodeType, ...]:
    """Return the types that can be reached by 1 to so many hops, as the schema has its ends; all where it does not know them."""
    followed = reach.types or schema.relationships
    if any(not each.ends for each in followed):
        return schema.nodes
    pairs = {(end.source, end.target) for each in followed for end in each.ends}
    turned = {(target, source) for source, target in pairs}
    pairs = {"out": pairs, "in": turned, "both": pairs | turned}[reach.direction]
    at, found = {each.name for each in starts}, set[str]()
    for _ in range(reach.hops):
        at = {target for source, target in pairs if source in at}
        found |= at
    return tuple(each for each in schema.nodes if each.name in found)


def _unreachable(
    schema: GraphSchema, start: Nodes, reach: Reach, wanted: Sequence[NodeType], possible: Sequence[NodeType]
) -> OperatorFault:
    """Say what the relationships lead to, and whether the other direction leads there."""
    said = " or ".join(each.name for each in wanted)
    problem = f"{reach.shown} leads from {start.shown} to no {said}" if wanted else f"{reach.shown} leads nowhere"
    other = replace(reach, direction="in" if reach.direction == "out" else "out")
    turned = _reached_types(schema, start.types, other) if reach.direction != "both" else ()
    if any(not wanted or each in wanted for each in turned):
        return OperatorFault("empty", problem, f"The other direction leads there: use direction {other.direction}")
    if possible:
        return OperatorFault("empty", problem, f"It leads to {', '.join(each.name for each in possible[:12])}")
    starts = {each.name for each in start.types}
    ends = [(each.name, end) for each in schema.relationships for end in each.ends if {end.source, end.target} & starts]
    fitting = ", ".join(f"{name} ({end.source} to {end.target})" for name, end in ends[:12])
    return OperatorFault("empty", problem, f"Relationships of it: {fitting}" if ends else "It has no relationships")


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


def begin_steps(text: CypherText, start: Nodes, end: Nodes, reach: Reach) -> tuple[str, list[str], Steps]:
    """Begin with the starts; return the word that the pattern begins with, conditions on the starts, and the pattern."""
    if start.ids is not None:
        begin = text.choose("n0", start.type, start.ids)
        return begin, [], steps_of(text, "(n0)", text.node("n1", end.types), reach)
    conditions = node_conditions(text, "n0", start)
    return "MATCH", conditions, steps_of(text, text.node("n0", start.types), text.node("n1", end.types), reach)


def match_reach(text: CypherText, start: Nodes, reach: Reach, end: Nodes, *, keep_starts: bool = False) -> str:
    """Write the clauses that match each start ``n0``, each end ``n1``, and between them the relationship ``e0`` where it is one hop.

    :param keep_starts: whether starts without an end stand in the rows, with null for ``n1``; for one hop.
    :returns: the expression of the number of hops.
    """
    if keep_starts and start.ids is None:
        match_nodes(text, "n0", start)
        begin, conditions = "MATCH", list[str]()
        steps = steps_of(text, "(n0)", text.node("n1", end.types), reach)
    else:
        begin, conditions, steps = begin_steps(text, start, end, reach)
    if reach.hops > 1:
        pattern, held, hops = text.reach(steps)
    else:
        pattern, held, hops = steps.between(f"e0{steps.types}"), filter_conditions(text, "e0", reach.filters), "1"
    text.add(f"{'OPTIONAL MATCH' if keep_starts else begin} {pattern}")
    one, other = text.form("identity", "n0"), text.form("identity", "n1")
    differ = [f"{one} <> {other}"] if start.labels & end.labels else []
    text.where([*conditions, *differ, *held, *node_conditions(text, "n1", end)])
    if begin != "MATCH" and not keep_starts:
        text.add(f"WITH n0, n1, e0 WHERE {other} IS NOT NULL")
    return hops


def match_nearest(text: CypherText, start: Nodes, reach: Reach, end: Nodes) -> None:
    """Write the clauses that give each end ``n1`` once, with the least number of its hops as ``h0``."""
    hops = match_reach(text, start, reach, end)
    text.add(f"WITH n1, min({hops}) AS h0" if reach.hops > 1 else "WITH DISTINCT n1, 1 AS h0")


def parse_aggregations(raw: Sequence[Arguments], owners: Sequence[Owner], instead: str = "") -> tuple[Aggregation, ...]:
    """Return aggregations of properties of types.

    :param instead: the property that all of them take but those of ``*``, where one is given.
    """
    return tuple(dict.fromkeys(_aggregation(each, owners, instead) for each in raw))


def _aggregation(raw: Arguments, owners: Sequence[Owner], instead: str) -> Aggregation:
    kind, name = raw["grouping_type"], raw.get("property", "*")
    if name == "*" and kind in ("COUNT", "COUNT_DISTINCT"):
        return Aggregation(kind=kind)
    key = property_of(owners, instead or str(name))
    is_sum, is_extreme = kind in ("SUM", "AVG"), kind in ("MIN", "MAX")
    if (is_sum and key.type not in NUMERIC) or (is_extreme and key.type in ("list", "boolean")):
        problem = f"{kind} does not go with {key.name}, which is of type {key.type}"
        raise OperatorFault("arguments", problem, "Take COUNT, or a property of numbers")
    return Aggregation(kind=kind, key=key)


def aggregation_text(text: CypherText, variable: str, each: Aggregation) -> str:
    """Return the expression of an aggregation over the nodes or relationships of a variable."""
    if each.key is None and each.kind != "COUNT_DISTINCT":
        return "count(*)"
    value = text.property(variable, each.key.name) if each.key else text.form("identity", variable)
    if each.kind == "COUNT_DISTINCT":
        return f"count(DISTINCT {value})"
    return text.form("total", value) if each.kind == "SUM" else f"{each.kind.lower()}({value})"


def described_by(owner: Owner, catalog: SemanticCatalog) -> NodeDescriptor | RelationshipDescriptor | None:
    """Return what the catalog says of a type; None where it says nothing."""
    return (catalog.nodes if isinstance(owner, NodeType) else catalog.relationships).get(owner.name)


def roles_of_owner(owner: Owner, catalog: SemanticCatalog) -> dict[str, Role]:
    """Return the roles of properties by name: as the catalog says; where it says none, as their names do."""
    described = described_by(owner, catalog)
    known = {each.name for each in owner.properties}
    said = {name: each.role for name, each in described.properties.items() if each.role} if described else {}
    return {name: role for name, role in said.items() if name in known} or roles_of(owner)


def properties_with_role(owner: Owner, catalog: SemanticCatalog, role: Role) -> list[str]:
    """Return the properties that play a role, in the order of the schema."""
    roles = roles_of_owner(owner, catalog)
    return [each.name for each in owner.properties if roles.get(each.name) == role]


def name_property(type_: NodeType, catalog: SemanticCatalog) -> str:
    """Return what people call a node by, else its key, else its first property; empty where it has none."""
    named = properties_with_role(type_, catalog, "name") or properties_with_role(type_, catalog, "key")
    return (named or [each for each in (type_.key,) if each] or [each.name for each in type_.properties] or [""])[0]


def naming_properties(type_: NodeType, catalog: SemanticCatalog) -> list[str]:
    """Return the properties in which a node is looked for: name and key, else strings that are nearly unique."""
    roles = roles_of_owner(type_, catalog)
    named = [each.name for each in type_.properties if roles.get(each.name) in ("name", "key")]
    texts = [each for each in type_.properties if each.type == "string" and each.distinct]
    nearly = [each.name for each in texts if (each.distinct or 0) >= _NEARLY_UNIQUE * each.count]
    return named or nearly or [each for each in (type_.key,) if each]


def node_column(type_: str = "", properties: Iterable[str] = ()) -> ResultColumn:
    """Return the column of nodes of a type, by its name: ``vehicle_model``; ``node`` of several types.

    :param properties: that stand beside it: one that is called like the type keeps its name, and the nodes are ``price_node``.
    """
    name = "_".join(words(type_)) or "node"
    if name in {*properties, "name", "count", "hops"}:
        name += "_node"
    return ResultColumn(name=name, type="node", node_type=type_)


def columns_of(keys: Iterable[PropertyKey]) -> list[ResultColumn]:
    """Return the columns of properties."""
    return [ResultColumn(name=key.name, type=_column_type(key)) for key in keys]


def return_nodes(
    text: CypherText, end: Nodes, columns: Sequence[ResultColumn] = (), values: Sequence[str] = ()
) -> tuple[ResultColumn, ...]:
    """Write RETURN of ``n1``: its id and properties where it is of one type, else the node itself; then further columns.

    :returns: the columns of the table.
    """
    if end.type is None:
        text.returns((NODE, *columns), ("n1", *values))
        return (NODE, *NODE_TEXTS, *columns)
    keys = end.type.properties
    of_node = (node_column(end.type.name, [key.name for key in keys]), *columns_of(keys))
    named = [text.node_id("n1", (end.type,)), *(text.property("n1", key.name) for key in keys)]
    text.returns((*of_node, *columns), (*named, *values))
    return (*of_node, *columns)


def name_value(text: CypherText, variable: str, types: Sequence[NodeType], catalog: SemanticCatalog) -> str:
    """Return the expression of what a node is called, as text."""
    named: dict[str, list[NodeType]] = {}
    for each in types:
        named.setdefault(name_property(each, catalog), []).append(each)
    named.pop("", None)
    shown = {name: text.form("as_text", text.property(variable, name)) for name in named}
    if len(named) == 1:
        return next(iter(shown.values()))
    cases = " ".join(f"WHEN {text.one_of_types(variable, of)[0]} THEN {shown[name]}" for name, of in named.items())
    return f"CASE {cases} END" if named else "null"


class NodeReader:
    """Reads nodes that queries give as values: their type and their name, whichever mark the type has."""

    def __init__(self, schema: GraphSchema, catalog: SemanticCatalog) -> None:
        self._types = schema.nodes
        self._numbers = {
            each.name: {key.name: key.type for key in each.properties if key.type in NUMERIC} for each in schema.nodes
        }
        self._names = {each.name: name_property(each, catalog) for each in schema.nodes}

    def node(self, value: Any) -> ResultNode:
        """Return a node of a result. Ladybug gives numbers as texts where another label has texts under the name."""
        properties = dict(without_nulls(value["properties"]))
        type_ = self._type(str(value["label"]), properties)
        for name, kind in self._numbers.get(type_, {}).items():
            if isinstance(found := properties.get(name), str):
                properties[name] = int(found) if kind == "integer" else float(found)
        return ResultNode(id=str(value["id"]), type=type_, properties=properties)

    def name(self, node: ResultNode) -> str:
        """Return what a node is called: its id where it has no name."""
        return str(node.properties.get(self._names.get(node.type, ""), node.id))

    def _type(self, label: str, properties: Mapping[str, Any]) -> str:
        """Return the type of a node; of one with several labels the first that is a type."""
        marked = [
            each
            for each in self._types
            if not each.mark.property or properties.get(each.mark.property) == each.mark.value
        ]
        exact = [each.name for each in marked if each.mark.label == label]
        return next(iter([*exact, *(each.name for each in marked if f":{each.mark.label}:" in f":{label}:"), label]))


def without_nulls(properties: Mapping[str, Any]) -> Properties:
    """Return the properties that have a value; lists as tuples."""
    return with_tuples({name: value for name, value in properties.items() if value is not None})
