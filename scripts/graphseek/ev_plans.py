"""How the 15 questions on the EV graph are answered right: invocations step by step, and one Cypher query, written by hand.

The account uses them as the script of an oracle model, and the benchmark as the work whose parts are timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.ev_graph.ev_words import MONTHS
from planners.graphseek.turn import Invocation
from scripts.graphseek.question import Question

__all__ = ["EvPlan", "ev_plan"]

_Given: TypeAlias = Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvPlan:
    """The steps of a question.

    :param steps: one invocation each; results stand under ``t1``, ``t2``, …
    :param of: the handles that the answer rests on.
    :param cypher: a query of the same answer in the Cypher of Ladybug.
    """

    steps: tuple[Invocation, ...]
    of: tuple[str, ...]
    cypher: str


def ev_plan(question: Question) -> EvPlan:
    """Return the plan of one of the 15 questions, with its parameters.

    :raises KeyError: for another question.
    """
    return _PLANS[question.id](question.parameters)


def _plan(cypher: str, *steps: tuple[str, dict[str, Any]], of: Sequence[str] = ()) -> EvPlan:
    invocations = tuple(Invocation(operator=name, arguments=arguments) for name, arguments in steps)
    return EvPlan(steps=invocations, of=tuple(of) or (f"t{len(steps)}",), cypher=cypher)


def _is(key: str, value: str | int) -> dict[str, Any]:
    return {"key": key, "operator": "=", "value": value}


def _named(type_: str, name: str | int, key: str = "name") -> dict[str, Any]:
    return {"type": type_, "filters": [_is(key, name)]}


def _hop(start: dict[str, Any], relationship: str, direction: str = "out", **more: Any) -> tuple[str, dict[str, Any]]:
    return "traverse", {"start": start, "relationship_types": [relationship], "direction": direction, **more}


def _text(value: str | int) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _produced_in_year(given: _Given) -> EvPlan:
    return _plan(
        "MATCH (n:BatteryModule)-[:PRODUCED_IN]->(m:CalendarMonth) "
        f"WHERE m.year = {given['year']} RETURN DISTINCT n.name AS name",
        ("time_slice", {"node_type": "BatteryModule", "year": given["year"], "via": ["PRODUCED_IN"]}),
    )


def _assembled_in_quarter(given: _Given) -> EvPlan:
    when = {"year": given["year"], "quarter": given["quarter"]}
    return _plan(
        "MATCH (n:VehicleModel)-[:ASSEMBLED_IN]->(m:CalendarMonth) "
        f"WHERE m.year = {given['year']} AND m.quarter = {given['quarter']} RETURN DISTINCT n.name AS name",
        ("time_slice", {"node_type": "VehicleModel", "via": ["ASSEMBLED_IN"], **when}),
    )


def _of_family(given: _Given) -> EvPlan:
    return _plan(
        "MATCH (f:ProcessFamily)<-[:BELONGS_TO]-(p:AssemblyProcess)-[:OUTPUTS]->(v:VehicleModel) "
        f"WHERE f.label = {_text(given['family'])} RETURN DISTINCT v.name AS name",
        _hop(_named("ProcessFamily", given["family"], "label"), "BELONGS_TO", "in"),
        _hop({"handle": "t1"}, "OUTPUTS", node_type="VehicleModel"),
    )


def _auxiliary_cost(given: _Given) -> EvPlan:
    filters = [_is("assemblyTier", given["tier"]), _is("year", given["year"])]
    total = [{"grouping_type": "SUM", "property": "cost"}]
    return _plan(
        f"MATCH (a:AuxiliaryModule) WHERE a.assemblyTier = {given['tier']} AND a.year = {given['year']} "
        "RETURN sum(a.cost) AS cost",
        ("get_nodes", {"node_type": "AuxiliaryModule", "filters": filters, "aggregations": total}),
    )


def _shortage(given: _Given) -> EvPlan:
    start = _named("BatteryModule", given["module"])
    return _plan(
        f"MATCH (b:BatteryModule)-[:INTEGRATED_IN*1..4]->(v:VehicleModel) WHERE b.name = {_text(given['module'])} "
        "RETURN DISTINCT v.name AS name",
        _hop(start, "INTEGRATED_IN", max_hops=4, node_type="VehicleModel"),
    )


def _unavailable(given: _Given) -> EvPlan:
    """The sites that assemble a vehicle with the module, and those that make the module itself."""
    types = ["INTEGRATED_IN", "ASSEMBLED_AT", "BUILT_AT"]
    start = _named("BatteryModule", given["module"])
    return _plan(
        f"MATCH (b:BatteryModule)-[:{'|'.join(types)}*1..5]->(s:FactorySite)-[:LOCATED_IN]->(r:Region) "
        f"WHERE b.name = {_text(given['module'])} RETURN DISTINCT s.name AS site, r.name AS region",
        ("traverse", {"start": start, "relationship_types": types, "max_hops": 5, "node_type": "FactorySite"}),
        _hop({"handle": "t1"}, "LOCATED_IN"),
        of=("t1", "t2"),
    )


def _made_at_site(given: _Given) -> EvPlan:
    return _plan(
        f"MATCH (n:BatteryModule)-[:BUILT_AT]->(s:FactorySite) WHERE s.name = {_text(given['site'])} "
        "RETURN DISTINCT n.name AS name",
        _hop(_named("FactorySite", given["site"]), "BUILT_AT", "in"),
    )


def _degree(relationship: str, least: int) -> tuple[str, dict[str, Any]]:
    start = {"type": "VehicleModel"}
    return "degree", {"start": start, "relationship_types": [relationship], "at_least": least}


def _three_sites(given: _Given) -> EvPlan:
    return _plan(
        "MATCH (v:VehicleModel)-[:ASSEMBLED_AT]->(s:FactorySite) WITH v, count(DISTINCT s) AS sites WHERE sites >= 3 "
        "RETURN v.name AS name, sites",
        _degree("ASSEMBLED_AT", 3),
    )


def _two_periods(given: _Given) -> EvPlan:
    return _plan(
        "MATCH (v:VehicleModel)-[:SCHEDULED_IN]->(m:CalendarMonth) WITH v, count(DISTINCT m) AS months "
        "WHERE months >= 2 RETURN v.name AS name, months",
        _degree("SCHEDULED_IN", 2),
    )


def _scheduled_sites(given: _Given) -> EvPlan:
    month = MONTHS.index(str(given["month"])) + 1
    filters = [_is("costClass", "Plan"), _is("year", given["year"]), _is("month", month)]
    return _plan(
        f"MATCH (v:VehicleModel)-[a:ASSEMBLED_AT]->(s:FactorySite) WHERE v.name = {_text(given['model'])} "
        f'AND a.costClass = "Plan" AND a.year = {given["year"]} AND a.month = {month} RETURN DISTINCT s.name AS name',
        _hop(_named("VehicleModel", given["model"]), "ASSEMBLED_AT", relationship_filters=filters),
    )


def _dearest(given: _Given) -> EvPlan:
    arguments = {
        "start": _named("VehicleModel", given["model"]),
        "relationship_types": ["INTEGRATED_IN"],
        "direction": "in",
        "neighbour_type": "BatteryModule",
        "group_by": "neighbour",
        "relationship_property": "cost",
        "aggregations": [{"grouping_type": "SUM", "property": "cost"}],
        "order_by": "sum_cost",
        "descending": True,
        "limit": 3,
    }
    return _plan(
        f"MATCH (b:BatteryModule)-[i:INTEGRATED_IN]->(v:VehicleModel) WHERE v.name = {_text(given['model'])} "
        "RETURN b.name AS name, sum(i.cost) AS cost ORDER BY cost DESC LIMIT 3",
        ("aggregate_neighbours", arguments),
    )


def _planned_with(given: _Given) -> EvPlan:
    planned = [_is("costClass", "Plan")]
    start = _named("BatteryModule", given["module"])
    return _plan(
        f"MATCH (b:BatteryModule)-[i:INTEGRATED_IN]->(v:VehicleModel) WHERE b.name = {_text(given['module'])} "
        'AND i.costClass = "Plan" RETURN DISTINCT v.name AS name',
        _hop(start, "INTEGRATED_IN", node_type="VehicleModel", relationship_filters=planned),
    )


def _of_unit(given: _Given) -> EvPlan:
    year = [_is("year", given["year"])]
    return _plan(
        f"MATCH (p:AssemblyProcess)-[a:ASSIGNED_TO]->(u:BusinessUnit) WHERE u.name = {_text(given['unit'])} "
        f"AND a.year = {given['year']} RETURN DISTINCT p.name AS name",
        _hop(_named("BusinessUnit", given["unit"]), "ASSIGNED_TO", "in", relationship_filters=year),
    )


def _processes_at_site(given: _Given) -> EvPlan:
    return _plan(
        "MATCH (p:AssemblyProcess)-[:PROCESSED_AT]->(:AssemblyLine)-[:INSTALLED_AT]->(s:FactorySite) "
        f"WHERE s.name = {_text(given['site'])} RETURN DISTINCT p.name AS name",
        _hop(_named("FactorySite", given["site"]), "INSTALLED_AT", "in"),
        _hop({"handle": "t1"}, "PROCESSED_AT", "in"),
    )


def _processes_of_model(given: _Given) -> EvPlan:
    filters = [_is("year", given["year"]), _is("quarter", given["quarter"])]
    return _plan(
        f"MATCH (p:AssemblyProcess)-[o:OUTPUTS]->(v:VehicleModel) WHERE v.name = {_text(given['model'])} "
        f"AND o.year = {given['year']} AND o.quarter = {given['quarter']} RETURN DISTINCT p.name AS name",
        _hop(_named("VehicleModel", given["model"]), "OUTPUTS", "in", relationship_filters=filters),
    )


_MAKERS: Sequence[Callable[[_Given], EvPlan]] = (
    _produced_in_year,
    _assembled_in_quarter,
    _of_family,
    _auxiliary_cost,
    _shortage,
    _unavailable,
    _made_at_site,
    _three_sites,
    _two_periods,
    _scheduled_sites,
    _dearest,
    _planned_with,
    _of_unit,
    _processes_at_site,
    _processes_of_model,
)
_PLANS = {f"ev-{number:02}": make for number, make in enumerate(_MAKERS, start=1)}
