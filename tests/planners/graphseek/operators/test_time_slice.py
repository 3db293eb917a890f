"""``time_slice``: which of several things beside a node says when."""

from __future__ import annotations

from planners.graphs.graph_schema import (
    GraphSchema,
    NodeType,
    PropertyKey,
    RelationshipEnds,
    RelationshipType,
    TypeMark,
)
from planners.graphseek.catalog.semantic_catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.graphseek.dialects.ladybug_dialect import LadybugDialect
from planners.graphseek.operators.time_slice import compile_query

_KEY = PropertyKey(name="key", type="string")
_YEAR = (PropertyKey(name="year", type="integer"),)
_NAMED = (PropertyKey(name="name", type="string"),)
_TIMED = {"year": PropertyDescriptor(role="year"), "key": PropertyDescriptor(role="key")}
_NODES = {"Model": _NAMED, "Fair": (*_NAMED, PropertyKey(name="guests", type="integer"), *_YEAR), "Calendar": _YEAR}
_SCHEMA = GraphSchema(
    nodes=tuple(
        NodeType(name=name, mark=TypeMark(label=name), key="key", properties=(_KEY, *properties))
        for name, properties in _NODES.items()
    ),
    relationships=(
        RelationshipType(name="SHOWN_AT", ends=(RelationshipEnds(source="Model", target="Fair"),), properties=_YEAR),
        RelationshipType(name="BUILT_IN", ends=(RelationshipEnds(source="Model", target="Calendar"),)),
    ),
)
_CATALOG = SemanticCatalog(
    accepted=True,
    nodes={
        "Model": NodeDescriptor(properties={"name": PropertyDescriptor(role="name")}),
        "Fair": NodeDescriptor(properties={"name": PropertyDescriptor(role="name"), **_TIMED}),
        "Calendar": NodeDescriptor(properties=_TIMED),
    },
    relationships={"SHOWN_AT": RelationshipDescriptor(properties={"year": PropertyDescriptor(role="year")})},
)


def test_a_type_of_time_is_taken_before_relationships_and_other_types_with_a_year() -> None:
    text = compile_query({"node_type": "Model", "year": 2023}, _SCHEMA, _CATALOG, LadybugDialect()).compiled.text
    assert "BUILT_IN" in text and "SHOWN_AT" not in text
