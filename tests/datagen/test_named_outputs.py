"""Identifiers beside the names of the things."""

from __future__ import annotations

import pytest

from datagen.named_outputs import outputs_beside_names
from ontology.tool import Parameter, Tool


@pytest.mark.parametrize(
    ("outputs", "noun", "expected"),
    [
        ("networks[].id networks[].name", "network", {"networks[].id"}),
        ("items[].arn items[].poolName total", "worker pool", {"items[].arn"}),
        ("items[].id items[].ownerName", "network", set()),
        ("rows[].name rows[].displayName", "channel", {"rows[].name"}),
        ("networks[].id networks[].owner.name", "network", set()),
        ("id name", "network", set()),
    ],
)
def test_names_stand_in_the_same_object_and_are_of_the_thing(outputs: str, noun: str, expected: set[str]) -> None:
    tool = Tool(id="x", name="list", returns=tuple(Parameter(name=name) for name in outputs.split()))
    assert outputs_beside_names(tool, noun) == expected
