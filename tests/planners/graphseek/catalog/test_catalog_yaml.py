"""Catalog files: every fault of a file is named with its field."""

from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from planners.graphseek.catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
    catalog_for,
    read_catalog,
    roles_of_owner,
    unknown_names,
)
from planners.stores.graph_schema import GraphSchema, RelationshipType
from tests.planners.graphseek.catalog.some_types import key, node


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("about: a\nnode: {}\n", "node: there is no such key"),
        ("nodes:\n  A:\n    describe: a\n", r"nodes\.A\.describe: there is no such key"),
        ("nodes:\n  A: {}\n  B: {}\n  A: {}\n", r"line 4: the key 'A' stands twice"),
        ("nodes:\n  A:\n    words: [a, b, a]\n", r"nodes\.A\.words: .*has 'a' twice"),
        (
            "nodes:\n  A:\n    properties:\n      p: {role: price}\n",
            r"nodes\.A\.properties\.p\.role: Input should be '', 'key', 'name'",
        ),
        ("nodes: {A: {}\n", r"line 2: invalid YAML"),
        ("", r"line 1: the file is empty"),
        ("a: b\nnodes: {A: {word: x}}", "2 fault"),
    ],
)
def test_a_fault_is_named_with_its_field(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(InvalidArgumentError, match=fault) as raised:
        read_catalog(_file(tmp_path, text))
    assert raised.value.subject.endswith("mine.yaml")


def _file(folder: Path, text: str) -> Path:
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    return folder / "mine.yaml"


def test_all_scalars_are_texts(tmp_path: Path) -> None:
    text = "about: 5\nnodes:\n  A:\n    words: [yes, 2020]\n    properties:\n      p: {values: {on: 1}, groups: {all: [1, 2]}}\n"
    values = PropertyDescriptor(values={"on": "1"}, groups={"all": ("1", "2")})
    node = NodeDescriptor(words=("yes", "2020"), properties={"p": values})
    assert read_catalog(_file(tmp_path, text)) == SemanticCatalog(about="5", nodes={"A": node})


def test_names_that_the_graph_lacks_are_told() -> None:
    schema = GraphSchema(nodes=(node("Car", key("price")),), relationships=(RelationshipType(name="TOWS", ends=()),))
    priced = NodeDescriptor(properties={"cost": PropertyDescriptor(), "price": PropertyDescriptor()})
    pulls = {"PULLS": RelationshipDescriptor()}
    catalog = SemanticCatalog(nodes={"Car": priced, "Lorry": NodeDescriptor()}, relationships=pulls)
    assert unknown_names(catalog, schema) == ["Car.cost", "Lorry", "PULLS"]
    assert catalog_for(schema) == SemanticCatalog(), "no shipped catalog is of this graph"


def test_a_role_that_is_said_leaves_the_roles_of_other_properties() -> None:
    car = node("Car", key("name"), key("built"), key("plate"))
    for said, named in (
        ({"built": PropertyDescriptor(role="date")}, "name"),
        ({"plate": PropertyDescriptor(role="name")}, "plate"),
    ):
        roles = roles_of_owner(car, SemanticCatalog(nodes={"Car": NodeDescriptor(properties=said)}))
        assert [name for name, role in roles.items() if role == "name"] == [named]
        assert roles["key"] == "key"
