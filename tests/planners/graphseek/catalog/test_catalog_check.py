"""What a check of a catalog finds."""

from __future__ import annotations

import dataclasses

import pytest

from ingest.graph_rows import NODE_COLUMNS, relation
from ontology.errors import InvalidArgumentError
from ontology.ontology_file import load_ontology
from planners.graphs.graph_schema import GraphSchema, RelationshipType
from planners.graphseek.catalog.catalog_check import accept, check_catalog
from planners.graphseek.catalog.descriptor_faults import cleaned_text, text_fault
from planners.graphseek.catalog.rules_draft import draft_by_rules
from planners.graphseek.catalog.semantic_catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.graphseek.catalog.shipped_catalogs import catalog_for, shipped_catalogs
from tests.planners.graphseek.catalog.ev_schema import EV, key, node

_SCHEMA = GraphSchema(
    nodes=(node("Car", key("price")), node("Van")), relationships=(RelationshipType(name="TOWS", ends=()),)
)
_GOOD = draft_by_rules(_SCHEMA)
_CAR = _GOOD.nodes["Car"]


def _found(catalog: SemanticCatalog) -> list[tuple[str, str, str]]:
    return [(each.kind, each.severity, each.place) for each in check_catalog(catalog, _SCHEMA)]


def test_a_draft_of_the_schema_has_no_findings() -> None:
    assert _found(_GOOD) == []


def test_names_that_the_schema_lacks_are_errors_and_types_without_a_descriptor_warnings() -> None:
    catalog = SemanticCatalog(
        fingerprint=_SCHEMA.fingerprint,
        nodes={"Car": NodeDescriptor(properties={"cost": PropertyDescriptor()}), "Lorry": NodeDescriptor()},
        relationships={"PULLS": RelationshipDescriptor()},
    )
    assert _found(catalog) == [
        ("unknown name", "error", "Car.cost"),
        ("unknown name", "error", "Lorry"),
        ("unknown name", "error", "PULLS"),
        ("no descriptor", "warning", "Van"),
        ("no descriptor", "warning", "TOWS"),
    ]


def test_a_changed_schema_and_words_of_two_types_are_warnings() -> None:
    nodes = {**_GOOD.nodes, "Van": NodeDescriptor(words=("cars",))}
    assert _found(dataclasses.replace(_GOOD, nodes=nodes, fingerprint="0")) == [
        ("same words", "warning", "Car"),
        ("fingerprint", "warning", ""),
    ]


_BAD = {
    "too long": ("a" * 201, "it has 201 characters, more than 200"),
    "a control character": ("a\x1b[2Jb", "it has control characters"),
    "a hidden word": ("pri\u202ece", "it has control characters"),
    "a line end": ("a\nb", "it has control characters"),
}


@pytest.mark.parametrize(("text", "problem"), _BAD.values(), ids=list(_BAD))
def test_a_text_that_must_not_stand_in_a_prompt_is_an_error_wherever_it_is(text: str, problem: str) -> None:
    properties = {"price": PropertyDescriptor(values={text: "1"})}
    grouped = {"price": PropertyDescriptor(groups={"low": ("1", text)})}
    places = {
        "about": dataclasses.replace(_GOOD, about=text),
        "Car": dataclasses.replace(_GOOD, nodes={**_GOOD.nodes, "Car": NodeDescriptor(words=(text,))}),
        "Car.price": dataclasses.replace(_GOOD, nodes={**_GOOD.nodes, "Car": NodeDescriptor(properties=properties)}),
        "TOWS": dataclasses.replace(_GOOD, relationships={"TOWS": RelationshipDescriptor(backward=(text,))}),
    }
    in_group = dataclasses.replace(_GOOD, nodes={**_GOOD.nodes, "Car": NodeDescriptor(properties=grouped)})
    for place, catalog in (*places.items(), ("Car.price", in_group)):
        (found,) = [each for each in check_catalog(catalog, _SCHEMA) if each.severity == "error"]
        assert (found.place, found.kind) == (place, "text") and problem in found.problem
        with pytest.raises(InvalidArgumentError, match=f"{place}: it "):
            accept(catalog)


def test_what_is_cleaned_has_no_fault_left() -> None:
    for text, _ in list(_BAD.values())[3:]:
        assert text_fault(cleaned_text(text)) == ""
    assert cleaned_text(" a\n\tb\x1b ") == "a b"


def test_the_shipped_catalogs_are_accepted_and_have_texts_for_prompts() -> None:
    assert set(shipped_catalogs()) == {"countries", "ev", "tool_graph"}
    for catalog in shipped_catalogs().values():
        assert accept(catalog) == catalog
    found = [each for each in check_catalog(shipped_catalogs()["ev"], EV) if each.kind != "fingerprint"]
    assert found == []


def test_the_shipped_catalog_of_tool_graphs_has_all_types_and_predicates_of_the_shipped_ontology() -> None:
    ontology, catalog = load_ontology(), shipped_catalogs()["tool_graph"]
    assert set(catalog.nodes) == set(ontology.entity_types)
    assert set(catalog.relationships) == set(map(relation, ontology.predicates))
    assert all(set(NODE_COLUMNS) - {"type"} <= set(each.properties) for each in catalog.nodes.values())


def test_the_catalog_of_a_graph_is_the_users_then_the_shipped_one_then_none() -> None:
    shipped = catalog_for(EV)
    assert shipped.nodes == shipped_catalogs()["ev"].nodes and shipped.fingerprint == EV.fingerprint
    draft = draft_by_rules(EV)
    assert catalog_for(EV, [draft]).nodes == shipped.nodes, "a draft serves no question"
    assert catalog_for(EV, [accept(draft)]).nodes == draft.nodes
    assert catalog_for(_SCHEMA) == SemanticCatalog(fingerprint=_SCHEMA.fingerprint)
    part = GraphSchema(nodes=EV.nodes[:3], relationships=EV.relationships[:1])
    assert check_catalog(catalog_for(part), part) == (), "nothing is described that the graph has not"
    assert set(catalog_for(part).nodes) == {each.name for each in part.nodes}
    renamed = GraphSchema(
        nodes=(*EV.nodes[:-1], node("VehicleModel", key("title"))),
        relationships=(*EV.relationships, RelationshipType(name="NEW", ends=())),
    )
    assert set(catalog_for(renamed).nodes["VehicleModel"].properties) == {"key"}, (
        "a changed schema keeps what still fits"
    )
    other = GraphSchema(nodes=(node("Region", key("area"), key("capital")),), relationships=())
    assert catalog_for(other).nodes == {} and catalog_for(GraphSchema(nodes=(), relationships=())).nodes == {}
