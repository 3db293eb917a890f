"""``blueprints``: the flows into nodes, each once: what a product is made of, and how (listing 3 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import Dialect
from planners.graphseek.operators import subgraph
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.flow_merging import flows_into, merged_flows
from planners.graphseek.operators.graph_parts import MOST_NODES
from planners.graphseek.operators.graph_query import TableQuery
from planners.graphseek.operators.node_naming import NodeReader, properties_with_role
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.property_filter import Owner
from planners.graphseek.operators.time_conditions import plan_values
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import GraphPart, Result
from planners.stores.graph_schema import GraphSchema
from planners.stores.property_graph import Properties

__all__ = ["OPERATOR", "compile_query"]

_HOPS = 3
_MOST_HOPS = 4


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of the nodes on the flows."""
    return subgraph.compile_query(_whole(arguments), schema, catalog, dialect)


def _whole(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the defaults: flows lead along relationships into the start."""
    if arguments.get("direction") == "both":
        raise OperatorFault("arguments", "flows have a direction", "Use in, for what leads to the start, or out")
    return {"max_hops": _HOPS, "direction": "in", **arguments, "limit": MOST_NODES}


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    whole = _whole(arguments)
    part, starts, cut, title = await subgraph.surroundings(whole, context)
    if said := arguments.get("plan_or_actual"):
        part = _of_plan(part, str(said), context)
    ids = [each.id for each in starts]
    flows = flows_into(part, ids, whole["max_hops"], along=whole["direction"] == "in")
    amounts = {e.name: frozenset(properties_with_role(e, context.catalog, "amount")) for e in _owners(context.schema)}
    named = NodeReader(context.schema, context.catalog).name
    merged = merged_flows(flows, ids, named, lambda type_: amounts.get(type_, frozenset()))
    before, after = (f"{len(each.nodes):,} nodes and {len(each.edges):,} relationships" for each in (flows, merged))
    notes = [f"Equal flows were merged: {before} became {after}; merged counts them."]
    notes += ["There is more than the limit of a graph."] if cut else []
    return await context.results.keep_graph(merged, title=f"blueprint: {title}", cut=cut, notes=notes)


def _owners(schema: GraphSchema) -> list[Owner]:
    return [*schema.nodes, *schema.relationships]


def _of_plan(part: GraphPart, said: str, context: OperatorContext) -> GraphPart:
    """Return a graph without what is said to be of the other kind; what says nothing stays.

    :raises OperatorFault: when no property of its types says which it is.
    """
    meant: dict[str, tuple[str, frozenset[str]]] = {}
    for owner in _owners(context.schema):
        names = properties_with_role(owner, context.catalog, "plan or actual")
        for key in owner.properties:
            if key.name in names:
                values = plan_values(key, said, owner, context.catalog)
                meant[owner.name] = (key.name, frozenset(str(value).lower() for value in values))
    if not meant.keys() & ({each.type for each in part.nodes} | {each.type for each in part.edges}):
        raise OperatorFault("arguments", f"nothing here says whether it is {said[:40]}", "Leave plan_or_actual out")

    def is_meant(type_: str, properties: Properties) -> bool:
        name, values = meant.get(type_, ("", frozenset()))
        return not name or name not in properties or str(properties[name]).lower() in values

    nodes = [each for each in part.nodes if is_meant(each.type, each.properties)]
    kept = {each.id for each in nodes}
    edges = [e for e in part.edges if is_meant(e.type, e.properties) and {e.source, e.target} <= kept]
    return GraphPart(nodes=tuple(nodes), edges=tuple(edges))


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    reach = forms.reach(hops=_MOST_HOPS)
    return {
        "start": forms.selection(),
        **reach,
        "direction": {"type": "string", "enum": ["in", "out"]},
        "plan_or_actual": {"type": "string", "description": "plan or actual"},
    }


OPERATOR: Operator = TypedOperator(
    name="blueprints",
    description=(
        "The unique blueprint (production plan) of a product as a graph: everything that flows into it within three hops, where flows "
        "that differ only in period and cost are merged, counted, and their amounts summed. plan_or_actual keeps one kind."
    ),
    forms=_forms,
    required=("start",),
    runs=_run,
)
