"""A schema of a few types: two labels that are types, and one label whose types a property tells apart."""

from __future__ import annotations

from planners.graphs.graph_schema import (
    GraphSchema,
    NodeType,
    PropertyKey,
    RelationshipEnds,
    RelationshipType,
    TypeMark,
)

__all__ = ["SCHEMA"]

_NAMED = (PropertyKey(name="key", type="string"), PropertyKey(name="name", type="string"))
_MODULE = (
    *_NAMED,
    PropertyKey(name="unitCost", type="number"),
    PropertyKey(name="tier", type="integer"),
    PropertyKey(name="since", type="date"),
    PropertyKey(name="tags", type="list"),
    PropertyKey(name="spare", type="boolean"),
)
SCHEMA = GraphSchema(
    nodes=(
        NodeType(name="BatteryModule", mark=TypeMark(label="BatteryModule"), key="key", properties=_MODULE),
        NodeType(name="FactorySite", mark=TypeMark(label="FactorySite"), key="key", properties=_NAMED),
        NodeType(
            name="Region", mark=TypeMark(label="Place", property="kind", value="Region"), key="id", properties=_NAMED
        ),
        NodeType(name="VehicleModel", mark=TypeMark(label="VehicleModel"), key="key", properties=_NAMED),
    ),
    relationships=(
        RelationshipType(name="BUILT_AT", ends=(RelationshipEnds(source="BatteryModule", target="FactorySite"),)),
        RelationshipType(
            name="INTEGRATED_IN",
            ends=(
                RelationshipEnds(source="BatteryModule", target="BatteryModule"),
                RelationshipEnds(source="BatteryModule", target="VehicleModel"),
            ),
            properties=(PropertyKey(name="cost", type="number"), PropertyKey(name="year", type="integer")),
        ),
        RelationshipType(name="LOCATED_IN", ends=(RelationshipEnds(source="FactorySite", target="Region"),)),
    ),
)
