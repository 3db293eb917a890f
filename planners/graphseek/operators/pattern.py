"""Which nodes an operator means: filters, selections and reach, checked against the schema and written as Cypher.

What the schema does not know or does not fit raises an OperatorFault. A node is no neighbour of itself. What is reached in several ways
counts once, at the least number of its hops.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from ontology.errors import NotFoundError
from ontology.names import words
from planners.graphseek.catalog import SemanticCatalog, name_property
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
from planners.graphseek.results import ColumnType, Result, ResultColumn, written
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType
from planners.stores.property_graph import Scalar

Owner: TypeAlias = NodeType | RelationshipType
Direction: TypeAlias = Literal["out", "in", "both"]
NUMERIC = ("integer", "number")
NODE = ResultColumn(name="node", type="node")
NODE_TEXTS = (ResultColumn(name="type", type="string"), ResultColumn(name="name", type="string"))
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(NUMERIC, (int, float)),
    "boolean": (bool,),
    "list": (str, int, float),
}
_ARROWS = {"out": "->", "in": "<-", "both": "-"}
_MOST_VALUES = 1_000  # of ``in``: engines compare each with each node
# Of a result that a query starts from. Looking up 10,000 keys takes 0.2 s in Ladybug.
_MOST_IDS = 10_000


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

    @property
    def may_be_rounded(self) -> bool:
        """Whether it asks for a number that a summary may have shown rounded."""
        value = self.values[0] if self.values else None
        return self.operator == "=" and isinstance(value, float) and not value.is_integer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Nodes that a query starts from, or those that are meant of what it reaches."""

    types: tuple[NodeType, ...]
    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] | None = None  # of a result; None: all that the types and the filters say
    shown: str

    @property
    def type(self) -> NodeType | None:
        """Their type; None where there are several."""
        return self.types[0] if len(self.types) == 1 else None


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


def _column_type(key: PropertyKey) -> ColumnType:
    """Dates and lists stand as text."""
    return key.type if key.type in ("integer", "number", "boolean") else "string"


# Filters


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
    """A value as the property has it; a number or a truth written as a text is read."""
    if isinstance(value, str) and key.type in (*NUMERIC, "boolean"):
        with contextlib.suppress(ValueError):
            value = json.loads(value.lower())
    kinds = _KINDS.get(key.type, (str,))
    fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    if fits and isinstance(value, str):
        fits = "\0" not in value and value == written(value) and (key.type != "date" or _is_date(value))
    elif fits:
        fits = abs(value) < 2**63
    if not fits:
        kind = {"date": "a date like 2024-03-31", "integer": "a number"}.get(key.type, f"a {key.type}")
        problem = f"{key.name} is of type {key.type}, and {str(value)[:60]!r} is not"
        raise OperatorFault("arguments", problem, f"Give {kind}, or take another property")
    found: Scalar = value
    return found


def _is_date(value: str) -> bool:
    try:
        return datetime.date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


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


# Selections


def named_types(known: Sequence[Any], kind: str, names: Iterable[str]) -> tuple[Any, ...]:
    """Return types of nodes or relationships by their names."""
    by_name = {each.name: each for each in known}
    for name in names:
        if name not in by_name:
            hint = nearest_hint(name, list(by_name))
            raise OperatorFault("unknown name", f"the graph has no {kind} type {name[:60]}", hint)
    return tuple(by_name[name] for name in dict.fromkeys(names))


def stored(context: OperatorContext, handle: str) -> Result:
    """Return a result."""
    try:
        return context.results.result(handle)
    except NotFoundError as error:
        raise OperatorFault("no such handle", f"There is no result {handle}", f"{error.remedy}") from error


async def resolve_nodes(raw: Arguments, context: OperatorContext) -> Nodes:
    """Return a selection; that of a handle has the ids of its nodes, so that compiling needs no results."""
    if "handle" not in raw:
        return parse_nodes(raw, context.schema)
    found = stored(context, raw["handle"])
    at = _node_column(found, raw.get("column"))
    type_ = str(raw.get("type") or found.columns[at].node_type)
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
    at = column_place(table, name) if name else places[0] if len(places) == 1 else -1
    if at not in places:
        names = ", ".join(table.columns[at].name for at in places)
        hint = f"Name one with column: {names}" if places else "Start from a type and filters, or from another result"
        many = "several columns of nodes" if places else "no column of nodes"
        problem = f"{table.handle} has {f'no nodes in the column {name}' if name else many}"
        raise OperatorFault("arguments", problem, hint)
    return at


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


def match_nodes(text: CypherText, nodes: Nodes) -> None:
    """Write the clauses that match the nodes ``n0`` of a selection by type and filters."""
    text.add(f"MATCH {text.node('n0', nodes.types)}")
    text.where(filter_conditions(text, "n0", nodes.filters))


# Reach


def parse_reach(raw: Arguments, schema: GraphSchema, *, hops: int = 1, direction: Direction = "out") -> Reach:
    """Return what arguments say of relationships; those without a direction are followed in both."""
    if not schema.relationships:
        raise OperatorFault("empty", "the graph has no relationships", "Use get_nodes or find")
    types = named_types(schema.relationships, "relationship", raw.get("relationship_types") or ())
    followed = types or schema.relationships
    filters = parse_filters(raw.get("relationship_filters") or (), followed)
    along, most = raw.get("direction", direction), raw.get("max_hops", hops)
    return Reach(types=types, direction=along, hops=most, filters=filters)


def parse_end(
    schema: GraphSchema, start: Nodes, reach: Reach, names: Sequence[str] = (), filters: Sequence[Arguments] = ()
) -> Nodes:
    """Return which nodes are meant of those that are reached, of all types where no names are given; the schema may say that there can be
    none."""
    wanted = named_types(schema.nodes, "node", names)
    possible = _reached_types(schema, start.types, reach)
    types = tuple(each for each in possible if not wanted or each in wanted)
    if not types:
        raise _unreachable(schema, start, reach, wanted, possible)
    shown = "/".join(each.name for each in types[:4]) + (" and others" if len(types) > 4 else "")
    return Nodes(types=types, filters=parse_filters(filters, types), shown=shown)


def parse_neighbours(raw: Arguments, schema: GraphSchema) -> tuple[Nodes, Reach, Nodes]:
    """Return what arguments say of starts, and of their neighbours: ``neighbour_type`` and ``neighbour_filters``."""
    start, reach = parse_nodes(raw["start"], schema), parse_reach(raw, schema)
    names = [raw["neighbour_type"]] if raw.get("neighbour_type") else []
    return start, reach, parse_end(schema, start, reach, names, raw.get("neighbour_filters") or ())


def _reached_types(schema: GraphSchema, starts: Sequence[NodeType], reach: Reach) -> tuple[NodeType, ...]:
    """The types that can be reached by 1 to so many hops, as the schema has its ends; all where it does not know them."""
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
    conditions = filter_conditions(text, "n0", start.filters)
    return "MATCH", conditions, steps_of(text, text.node("n0", start.types), text.node("n1", end.types), reach)


def match_reach(text: CypherText, start: Nodes, reach: Reach, end: Nodes, *, keep_starts: bool = False) -> str:
    """Write the clauses that match each start ``n0``, each end ``n1``, and between them the relationship ``e0`` where
    it is one hop; return the expression of the number of hops. With ``keep_starts``, for one hop, starts without an end
    stand in the rows, with null for ``n1``."""
    if keep_starts and start.ids is None:
        match_nodes(text, start)
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
    may_meet = {each.name for each in start.types} & {each.name for each in end.types}
    differ = [f"{one} <> {other}"] if may_meet else []
    text.where([*conditions, *differ, *held, *filter_conditions(text, "n1", end.filters)])
    if begin != "MATCH" and not keep_starts:
        text.add(f"WITH n0, n1, e0 WHERE {other} IS NOT NULL")
    return hops


def match_nearest(text: CypherText, start: Nodes, reach: Reach, end: Nodes) -> None:
    """Write the clauses that give each end ``n1`` once, with the least number of its hops as ``h0``."""
    hops = match_reach(text, start, reach, end)
    text.add(f"WITH n1, min({hops}) AS h0" if reach.hops > 1 else "WITH DISTINCT n1, 1 AS h0")


# Aggregations and columns


def parse_aggregations(raw: Sequence[Arguments], owners: Sequence[Owner], instead: str = "") -> tuple[Aggregation, ...]:
    """Return aggregations of properties of types; ``instead``: the property that all of them take but those of ``*``."""
    found: dict[Aggregation, None] = {}
    for kind, name in ((each["grouping_type"], each.get("property", "*")) for each in raw):
        if name == "*" and kind in ("COUNT", "COUNT_DISTINCT"):
            found[Aggregation(kind="COUNT")] = None
            continue
        key = property_of(owners, instead or str(name))
        is_sum, is_extreme = kind in ("SUM", "AVG"), kind in ("MIN", "MAX")
        if (is_sum and key.type not in NUMERIC) or (is_extreme and key.type in ("list", "boolean")):
            problem = f"{kind} does not go with {key.name}, which is of type {key.type}"
            raise OperatorFault("arguments", problem, "Take COUNT, or a property of numbers")
        found[Aggregation(kind=kind, key=key)] = None
    return tuple(found)


def aggregation_text(text: CypherText, variable: str, each: Aggregation) -> str:
    """Return the expression of an aggregation over the nodes or relationships of a variable."""
    if each.key is None:
        return "count(*)"
    value = text.property(variable, each.key.name)
    if each.kind == "COUNT_DISTINCT":
        return f"count(DISTINCT {value})"
    return text.form("total", value) if each.kind == "SUM" else f"{each.kind.lower()}({value})"


def node_column(type_: str = "", properties: Iterable[str] = ()) -> ResultColumn:
    """Return the column of nodes of a type, by its name: ``vehicle_model``; ``node`` of several types. A property
    beside it that is called like the type keeps its name, and the nodes are ``price_node``."""
    name = "_".join(words(type_)) or "node"
    if name in {*properties, "name", "count", "hops"}:
        name += "_node"
    return ResultColumn(name=name, type="node", node_type=type_)


def columns_of(keys: Iterable[PropertyKey]) -> list[ResultColumn]:
    """Return the columns of properties."""
    return [ResultColumn(name=key.name, type=_column_type(key)) for key in keys]


def node_cells(
    text: CypherText, variable: str, type_: NodeType, keys: Sequence[PropertyKey]
) -> tuple[list[ResultColumn], list[str]]:
    """Return the columns of a node of one type, its id and some of its properties, and their expressions."""
    columns = [node_column(type_.name, [key.name for key in keys]), *columns_of(keys)]
    return columns, [text.node_id(variable, (type_,)), *(text.property(variable, key.name) for key in keys)]


def name_value(text: CypherText, variable: str, types: Sequence[NodeType], catalog: SemanticCatalog) -> str:
    """Return the expression of what a node is called, as text."""
    named: dict[str, list[NodeType]] = {}
    for each in types:
        named.setdefault(name_property(each, catalog), []).append(each)
    named.pop("", None)
    shown = {name: text.form("as_text", text.property(variable, name)) for name in named}
    if len(named) == 1:
        return next(iter(shown.values()))
    cases = " ".join(f"WHEN {text.one_of_types(variable, of)} THEN {shown[name]}" for name, of in named.items())
    return f"CASE {cases} END" if named else "null"


class GraphNode(NamedTuple):
    """A node of a result; the same node has the same id in all results of one run."""

    id: str
    type: str
    properties: Mapping[str, Any]


class NodeReader:
    """Reads nodes that queries give as values: their type and their name."""

    def __init__(self, schema: GraphSchema, catalog: SemanticCatalog) -> None:
        self._numbers = {
            each.name: {key.name: key.type for key in each.properties if key.type in NUMERIC} for each in schema.nodes
        }
        self._names = {each.name: name_property(each, catalog) for each in schema.nodes}

    def node(self, value: Any) -> GraphNode:
        """Return a node of a result. Ladybug gives numbers as texts where another label has texts under the name."""
        properties = {name: each for name, each in value["properties"].items() if each is not None}
        label = str(value["label"])
        types = (each for each in self._names if f":{each}:" in f":{label}:")  # of a node with several labels the first
        type_ = label if label in self._names else next(types, label)
        for name, kind in self._numbers.get(type_, {}).items():
            if isinstance(found := properties.get(name), str):
                properties[name] = int(found) if kind == "integer" else float(found)
        return GraphNode(id=str(value["id"]), type=type_, properties=properties)

    def name(self, node: GraphNode) -> str:
        """Return what a node is called: its id where it has no name."""
        return str(node.properties.get(self._names.get(node.type, ""), node.id))
