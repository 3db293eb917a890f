"""``time_slice``: the nodes of a type in a year, a quarter or a month, planned or actual.

Which properties say when, the catalog knows: those of the type itself; else those of a type beside it that is nothing but a time (a
month); else those of its relationships; else those of any type beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planners.graphseek.catalog.semantic_catalog import TIME_ROLES, SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery, compiled_for, keep_query
from planners.graphseek.operators.neighbour_reach import End, Reach, steps_of
from planners.graphseek.operators.node_naming import properties_with_role, roles_of_owner
from planners.graphseek.operators.node_selection import (
    node_type,
    parse_selection,
    relationship_types,
    selection_conditions,
)
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.property_filter import Owner
from planners.graphseek.operators.time_conditions import TimeAsked, TimeValues, time_conditions
from planners.graphseek.operators.traverse import return_nodes
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType

__all__ = ["OPERATOR", "compile_query"]


@dataclass(frozen=True, slots=True)
class _Beside:
    """Relationships, and what says when: the type of nodes that they lead to, or they."""

    types: tuple[RelationshipType, ...]
    neighbour: NodeType | None
    owner: Owner
    values: tuple[TimeValues, ...]

    @property
    def alike(self) -> tuple[NodeType | None, tuple[str, ...]]:
        """What those have in common that stand in one query."""
        return self.neighbour, tuple(key.name for key, _ in self.values)

    @property
    def shown(self) -> str:
        names = ", ".join(each.name for each in self.types)
        return f"Time is that of {self.neighbour.name if self.neighbour else 'the relationships'}, by {names}."


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of the nodes of a time."""
    text, asked = CypherText(schema, dialect), TimeAsked.parse(arguments)
    selection = parse_selection({"type": arguments["node_type"], "filters": arguments.get("filters") or ()}, schema)
    type_ = node_type(schema, arguments["node_type"])
    own, beside = _place(arguments, schema, catalog)
    conditions = selection_conditions(text, "n1", selection)
    if beside is None:
        text.add(f"MATCH {text.node('n1', (type_,))}")
        conditions += time_conditions(text, "n1", own, properties_with_role(type_, catalog, "date"))
        text.where(conditions)
    else:
        reach = Reach(types=beside.types, direction="both")
        steps = steps_of(
            text, text.node("n0", (beside.neighbour,) if beside.neighbour else ()), text.node("n1", (type_,)), reach
        )
        text.add(f"MATCH {steps.between(f'e0{steps.types}')}")
        conditions += text.of_type("n0", beside.neighbour)
        of = "n0" if beside.neighbour else "e0"
        conditions += time_conditions(text, of, beside.values, properties_with_role(beside.owner, catalog, "date"))
        text.where(conditions)
        text.add("WITH DISTINCT n1")
    columns = return_nodes(text, End(type=type_, types=(type_,)))
    most = arguments.get("limit", DEFAULT_ROWS)
    text.add(f"LIMIT {text.parameter(most + 1)}")
    return TableQuery(
        compiled=text.compiled(),
        columns=columns,
        title=f"{selection.shown} of {asked.shown}",
        most=most,
        start=selection,
        notes=(beside.shown,) if beside else (),
    )


def _place(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog
) -> tuple[list[TimeValues], _Beside | None]:
    """Return what says when: properties of the type, or what is beside it.

    :raises OperatorFault: when the catalog knows none.
    """
    asked = TimeAsked.parse(arguments)
    type_ = node_type(schema, arguments["node_type"])
    own = asked.on(type_, catalog)
    if own is not None and not arguments.get("via"):
        return own, None
    via = relationship_types(schema, arguments.get("via") or ()) or schema.relationships
    found = list(_beside(asked, type_, via, schema, catalog))
    chosen = min(found, key=lambda each: _rank(each, catalog), default=None)
    if chosen is not None:
        types = dict.fromkeys(each.types[0] for each in found if each.alike == chosen.alike)
        return [], replace(chosen, types=tuple(types))
    if own is not None:
        return own, None
    hint = "Filter a property with get_nodes, or relationships with relationship_filters of traverse"
    raise OperatorFault("arguments", f"no property of {type_.name} or beside it says {asked.shown}", hint)


def _beside(
    asked: TimeAsked,
    type_: NodeType,
    via: tuple[RelationshipType, ...],
    schema: GraphSchema,
    catalog: SemanticCatalog,
) -> Iterator[_Beside]:
    for each in via:
        neighbours = _neighbours(each, type_, schema)
        for neighbour in neighbours:
            values = asked.on(neighbour, catalog)
            if values is not None:
                yield _Beside((each,), neighbour, neighbour, tuple(values))
        values = asked.on(each, catalog)
        if values is not None and neighbours:
            yield _Beside((each,), None, each, tuple(values))


def _rank(beside: _Beside, catalog: SemanticCatalog) -> int:
    """Return how far something is from a mere point of time: a calendar month is one, then come relationships, then other types."""
    roles = roles_of_owner(beside.owner, catalog)
    is_time = all(
        roles.get(each.name) in ("key", "name", *TIME_ROLES, "plan or actual") for each in beside.owner.properties
    )
    if beside.neighbour is None:
        return 1
    return 0 if is_time else 2


def _neighbours(relationship: RelationshipType, type_: NodeType, schema: GraphSchema) -> list[NodeType]:
    if not relationship.ends:
        return list(schema.nodes)
    names = {end.target for end in relationship.ends if end.source == type_.name}
    names |= {end.source for end in relationship.ends if end.target == type_.name}
    return [each for each in schema.nodes if each.name in names]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    return await keep_query(context, query, explain=explain_empty(context, query))


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {
        "node_type": forms.node_type,
        "filters": forms.filters(),
        "year": {"type": "integer"},
        "quarter": {"type": "integer", "minimum": 1, "maximum": 4},
        "month": {"type": "integer", "minimum": 1, "maximum": 12},
        "plan_or_actual": {"type": "string", "description": "plan or actual"},
        "via": forms.relationship_types,
        "limit": forms.limit(),
    }


OPERATOR: Operator = TypedOperator(
    name="time_slice",
    description=(
        "List the nodes of a type in a year, quarter or month, or those that are planned or actual: produced in 2023, assembled in Q2. "
        "It knows which property says when, of the type itself or of a node of time beside it; via names the relationships to that."
    ),
    forms=_forms,
    required=("node_type",),
    runs=_run,
)
