"""The schema of the EV graph as its census gives it, with few samples, by hand."""

from __future__ import annotations

from planners.stores.graph_schema import (
    Degrees,
    GraphSchema,
    NodeType,
    PropertyKey,
    PropertyType,
    RelationshipEnds,
    RelationshipType,
    TypeMark,
)

__all__ = ["EV", "key", "node"]


def key(name: str, type_: PropertyType = "string", **seen: object) -> PropertyKey:
    return PropertyKey(name=name, type=type_, **seen)  # type: ignore[arg-type]


def node(name: str, *properties: PropertyKey, count: int = 100) -> NodeType:
    return NodeType(name=name, mark=TypeMark(label=name), key="key", count=count, properties=(key("key"), *properties))


NAME = key("name", count=100, distinct=98, samples=("a", "b"))
TIER = key("assemblyTier", "integer", count=100, distinct=5, least=0, greatest=4, samples=(0, 1, 2, 3, 4))
YEAR = key("year", "integer", count=100, distinct=5, least=2020, greatest=2024, samples=(2020, 2021, 2022, 2023, 2024))
QUARTER = key("quarter", "integer", count=100, distinct=4, least=1, greatest=4, samples=(1, 2, 3, 4))
MONTH = key("month", "integer", count=100, distinct=12, least=1, greatest=12, samples=tuple(range(1, 13)))
COST = key("cost", "number", count=100, distinct=100, least=0.01, greatest=99.96)
QUANTITY = key("quantity", "integer", count=100, distinct=40, least=1, greatest=60)
CLASS = key("costClass", count=100, distinct=2, samples=("Actuals", "Plan"))
VERSION = key("configVersion", count=90, distinct=9, samples=("v1.0", "v3.1"))
FLOW = (CLASS, COST, QUANTITY, YEAR, QUARTER, MONTH)


def _related(name: str, *pairs: tuple[str, str], properties: tuple[PropertyKey, ...] = ()) -> RelationshipType:
    degrees = Degrees(nodes=90, median=2, greatest=12)
    ends = tuple(
        RelationshipEnds(source=source, target=target, count=100, outgoing=degrees, incoming=degrees)
        for source, target in pairs
    )
    return RelationshipType(name=name, ends=ends, count=100 * len(ends), properties=properties)


BATTERY, DRIVE, VEHICLE, SITE = "BatteryModule", "DriveAssembly", "VehicleModel", "FactorySite"
PROCESS, LINE, AUXILIARY, CALENDAR = "AssemblyProcess", "AssemblyLine", "AuxiliaryModule", "CalendarMonth"
EV = GraphSchema(
    nodes=(
        node(LINE, NAME, TIER),
        node(PROCESS, NAME, TIER),
        node(AUXILIARY, NAME, key("category"), TIER, COST, QUANTITY, YEAR, QUARTER, MONTH),
        node(
            BATTERY,
            NAME,
            TIER,
            *(key(name, "number") for name in ("marketPrice", "unitCost", "energyDensity")),
            VERSION,
        ),
        node("BusinessUnit", NAME),
        node(CALENDAR, NAME, YEAR, QUARTER, MONTH),
        node(DRIVE, NAME, TIER, key("factoryCode"), key("efficiencyRate", "number"), key("assemblyCost", "number")),
        node(SITE, NAME, key("factoryCode")),
        node("ProcessFamily", key("label")),
        node("Region", NAME),
        node(VEHICLE, NAME, key("segment"), VERSION, key("launchDate", "date")),
    ),
    relationships=(
        _related("ASSEMBLED_AT", (VEHICLE, SITE), properties=FLOW),
        _related("ASSEMBLED_IN", (VEHICLE, CALENDAR), properties=(QUANTITY,)),
        _related("ASSIGNED_TO", (PROCESS, "BusinessUnit"), properties=(YEAR,)),
        _related("BELONGS_TO", (PROCESS, "ProcessFamily")),
        _related("BUILT_AT", (BATTERY, SITE)),
        _related("CONNECTED_TO", (LINE, LINE)),
        _related("CONSUMED_IN", (AUXILIARY, PROCESS)),
        _related("GENERATES", (PROCESS, AUXILIARY)),
        _related("INSTALLED_AT", (LINE, SITE)),
        _related(
            "INTEGRATED_IN", (BATTERY, DRIVE), (BATTERY, VEHICLE), (DRIVE, DRIVE), (DRIVE, VEHICLE), properties=FLOW
        ),
        _related("LOCATED_IN", (SITE, "Region")),
        _related("OUTPUTS", (PROCESS, DRIVE), (PROCESS, VEHICLE), properties=FLOW),
        _related("PROCESSED_AT", (PROCESS, LINE)),
        _related("PRODUCED_IN", (BATTERY, CALENDAR), properties=(QUANTITY,)),
        _related("SCHEDULED_IN", (VEHICLE, CALENDAR), properties=(QUANTITY,)),
    ),
)
