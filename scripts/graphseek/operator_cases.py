"""One invocation of each operator of graph data on the EV graph, beside the Cypher that a person would write for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.graphseek.turn import Invocation
from planners.stores.graph_schema import ReadableGraph
from planners.stores.statements import quoted_text
from scripts.graphseek.ev_plans import ev_plan
from scripts.graphseek.question import Question

__all__ = ["OperatorCase", "keyed_cases", "operator_cases"]

_MODULE = "b.key, b.name, b.assemblyTier, b.marketPrice, b.unitCost, b.energyDensity, b.configVersion"
_MODEL = "v.key, v.name, v.segment, v.configVersion, v.launchDate"
_AUXILIARY = "a.key, a.name, a.category, a.assemblyTier, a.cost, a.quantity, a.year, a.quarter, a.month"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCase:
    """An invocation and its query by hand, which gives the same rows.

    :param beside: a second query by hand, where one cannot give the whole result. ``subgraph`` gives all relationships among the nodes
        around a start: its first query has those with the start, its second those of its neighbours with each other, which the first
        does not look for. Ladybug has no union of whole nodes with different properties, so a person writes two.
    """

    operator: str
    arguments: Mapping[str, Any]
    cypher: str
    beside: str = ""


def operator_cases(questions: Sequence[Question]) -> list[OperatorCase]:
    """Return a case for each operator, with the parameters of the 15 questions."""
    known = {each.id: each for each in questions}
    module, model = (str(known[id_].parameters[name]) for id_, name in (("ev-05", "module"), ("ev-11", "model")))
    reached = str(known["ev-05"].truth.parts[0][0])
    named = f"b.name = {quoted_text(module)}"
    of_model = f"v.name = {quoted_text(model)}"
    parts = "(v:VehicleModel)<-[r:INTEGRATED_IN]-(b:BatteryModule)"
    tier = [{"key": "assemblyTier", "operator": "=", "value": 3}, {"key": "year", "operator": "=", "value": 2022}]
    start, flows = _named("BatteryModule", module), {"relationship_types": ["INTEGRATED_IN"]}
    return [
        OperatorCase(
            operator="get_nodes",
            arguments={"node_type": "AuxiliaryModule", "filters": tier},
            cypher=f"MATCH (a:AuxiliaryModule) WHERE a.assemblyTier = 3 AND a.year = 2022 RETURN {_AUXILIARY} LIMIT 10001",
        ),
        OperatorCase(
            operator="find",
            arguments={"text": module, "match": "exact", "node_type": "BatteryModule"},
            cypher=f"MATCH (b:BatteryModule) WHERE lower(b.name) = lower({quoted_text(module)}) "
            f"OR lower(b.key) = lower({quoted_text(module)}) RETURN b.key, b.name LIMIT 11",
        ),
        OperatorCase(
            operator="traverse",
            arguments=ev_plan(known["ev-05"]).steps[0].arguments,
            cypher=f"MATCH p = (b:BatteryModule)-[:INTEGRATED_IN*1..4]->(v:VehicleModel) WHERE {named} "
            f"RETURN {_MODEL}, min(length(p)) AS hops ORDER BY hops",
        ),
        OperatorCase(
            operator="paths",
            arguments={"start": start, "end": _named("VehicleModel", reached), **flows},
            cypher=f"MATCH p = (b:BatteryModule)-[:INTEGRATED_IN* ALL SHORTEST 1..4]->(v:VehicleModel) WHERE {named} "
            f"AND v.name = {quoted_text(reached)} RETURN p LIMIT 26",
        ),
        OperatorCase(
            operator="aggregate_neighbours",
            arguments=ev_plan(known["ev-11"]).steps[0].arguments,
            cypher=f"MATCH {parts} WHERE {of_model} RETURN b.key, b.name, sum(r.cost) AS cost ORDER BY cost DESC LIMIT 4",
        ),
        OperatorCase(
            operator="degree",
            arguments=ev_plan(known["ev-08"]).steps[0].arguments,
            cypher="MATCH (v:VehicleModel)-[:ASSEMBLED_AT]->(s:FactorySite) WITH v, count(DISTINCT s) AS sites "
            "WHERE sites >= 3 RETURN v.key, v.name, sites ORDER BY sites DESC, v.key LIMIT 10001",
        ),
        OperatorCase(
            operator="time_slice",
            arguments=ev_plan(known["ev-01"]).steps[0].arguments,
            cypher="MATCH (b:BatteryModule)-[:PRODUCED_IN]->(m:CalendarMonth) "
            f"WHERE m.year = {known['ev-01'].parameters['year']} RETURN DISTINCT {_MODULE} LIMIT 10001",
        ),
        OperatorCase(
            operator="subgraph",
            arguments={"start": _named("VehicleModel", model), "direction": "in"},
            cypher=f"MATCH (v:VehicleModel)<-[r]-(n) WHERE {of_model} RETURN v, r, n",
            beside=f"MATCH (v:VehicleModel)<--(n)-[r]->(m)-->(v) WHERE {of_model} RETURN DISTINCT n, r, m",
        ),
    ]


async def keyed_cases(graph: ReadableGraph) -> dict[str, Invocation]:
    """Return invocations that begin at a key, by name: a node, its neighbours, what it leads to over two hops."""
    text = "MATCH (b:BatteryModule)-[:INTEGRATED_IN]->(v:VehicleModel) RETURN b.key ORDER BY b.key LIMIT 1"
    async with graph.read(text) as stream:
        ((key,),) = [row async for batch in stream.batches() for row in batch]
    filters = [{"key": "key", "operator": "=", "value": str(key)}]
    start = {"type": "BatteryModule", "filters": filters}
    flows = ["INTEGRATED_IN"]
    return {
        "a node by its key": Invocation(
            operator="get_nodes", arguments={"node_type": "BatteryModule", "filters": filters}
        ),
        "neighbours of a key": Invocation(
            operator="traverse", arguments={"start": start, "relationship_types": ["BUILT_AT"]}
        ),
        "two hops from a key": Invocation(
            operator="traverse", arguments={"start": start, "relationship_types": flows, "max_hops": 2}
        ),
    }


def _named(type_: str, name: str) -> dict[str, Any]:
    return {"type": type_, "filters": [{"key": "name", "operator": "=", "value": name}]}
