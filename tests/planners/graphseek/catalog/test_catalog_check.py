"""What a check of a catalog finds."""

from __future__ import annotations

import dataclasses

import pytest

from ontology.errors import InvalidArgumentError
from planners.graphseek.catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
    accept,
    check_catalog,
    shipped_catalogs,
)
from planners.graphseek.draft import draft_by_rules
from planners.stores.graph_schema import GraphSchema, RelationshipType
from tests.planners.graphseek.catalog.some_types import key, node

_SCHEMA = GraphSchema(
    nodes=(node("Car", key("price")), node("Van")), relationships=(RelationshipType(name="TOWS", ends=()),)
)
_GOOD = draft_by_rules(_SCHEMA)


def _found(catalog: SemanticCatalog) -> list[tuple[str, str, str]]:
    return [(each.kind, each.severity, each.place) for each in check_catalog(catalog, _SCHEMA)]


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


def test_a_changed_schema_is_a_warning() -> None:
    assert _found(dataclasses.replace(_GOOD, fingerprint="0")) == [("fingerprint", "warning", "")]


_BAD = {
    "too long": ("a" * 201, "it has 201 characters, more than 200"),
    "a control character": ("a\x1b[2Jb", "it has control characters"),
    "a hidden word": ("pri\u202ece", "it has control characters"),
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


def test_the_shipped_catalogs_are_accepted_and_have_texts_for_prompts() -> None:
    assert set(shipped_catalogs()) == {"countries", "ev", "tool_graph"}
    for catalog in shipped_catalogs().values():
        assert accept(catalog) == catalog
