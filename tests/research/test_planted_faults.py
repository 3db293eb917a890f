"""Planted faults: each changes a request in the way that it is named for, and the same seed plants the same."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SampleValue, SyntheticRequest, Verdict
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, ToolPath
from ontology.tool import Parameter
from research.planted_faults import FAULTS, Material, kinds_table, plant_faults
from research.validator_accuracy import Accuracy, Case, accuracy_of
from tests.datagen.catalogues import catalogue_of, tool

FIND, ENABLE, DISABLE, STATUS = "shop/searchUsers", "shop/enableUser", "shop/disableUser", "shop/listStores"
EDGE = PathEdge(
    kind="R-P", source=FIND, target=ENABLE, output="user_id", parameter="user_id", confidence=0.9, reason="same name"
)
REQUEST = SyntheticRequest(
    id="1",
    text="If there is a user called Anna Berg, enable them on 3 May.",
    request_class="conditional-multi-step",
    path=ToolPath(tools=(FIND, ENABLE), edges=(EDGE,), shape="chain"),
    values=(
        SampleValue(tool=FIND, parameter="text", value="Anna Berg"),
        SampleValue(tool=ENABLE, parameter="day", value="3 May"),
    ),
    generator="rules.v2",
)


@pytest.fixture(scope="module")
def material() -> Material:
    find = replace(tool("searchUsers", "text", "user_id"), returns=(Parameter(name="user_id"), Parameter(name="risk")))
    enable = tool("enableUser", "user_id day")
    dated = tuple(replace(one, format="date" if one.name == "day" else "") for one in enable.parameters)
    catalogue: ProfiledCatalogue = catalogue_of(
        (find, replace(enable, parameters=dated), tool("disableUser", "user_id day"), tool("listStores", "", "revenue"))
    )
    return Material(catalogue=catalogue, rp=ToolLinks((EDGE,)))


def planted(kind: str, material: Material) -> SyntheticRequest:
    plant = next(plant for (_, name), plant in FAULTS.items() if name == kind)
    found = plant(REQUEST, material, random.Random(1))
    assert found is not None
    return found


def test_steps_and_tools_are_changed_as_named(material: Material) -> None:
    assert planted("wrong-order", material).path.tools == (ENABLE, FIND)
    assert planted("wrong-direction", material).path.tools == (FIND, DISABLE)
    assert planted("superfluous-tool", material).path.tools == (STATUS, FIND, ENABLE)
    assert planted("missing-resolver", material).path.tools == (ENABLE,)


def test_texts_are_changed_as_named(material: Material) -> None:
    assert (
        "3 May" not in planted("missing-input", material).text or "Anna" not in planted("missing-input", material).text
    )
    condition = planted("unanswerable-condition", material).text
    assert condition.startswith("If the revenue of the user Anna Berg")
    misfit = planted("incompatible-value", material)
    assert "3 May" not in misfit.text
    assert all(value.value in misfit.text for value in misfit.values)


def test_each_request_comes_as_it_is_and_the_seed_decides_the_rest(material: Material) -> None:
    cases = list(plant_faults([REQUEST], material, 1))
    assert cases[0] == Case(request=REQUEST)
    assert cases == list(plant_faults([REQUEST], material, 1))
    kinds = Counter(case.kind for case in cases if case.check)
    assert set(kinds.values()) == {1}
    assert "swapped-ends" not in kinds  # no tool has two ends


def test_the_table_has_the_share_found_of_each_kind() -> None:
    class Refuses:
        check, name = "sequence", "none"

        def validate(self, request: SyntheticRequest) -> Verdict:
            return Verdict(check="sequence", passed="May" in request.text, reason="no day", by="none")

    found: Accuracy = accuracy_of(
        Refuses(),
        [
            Case(request=REQUEST),
            Case(request=replace(REQUEST, text="enable them"), check="sequence", kind="missing-input"),
            Case(request=REQUEST, check="sequence", kind="missing-input"),
        ],
    )
    assert "| sequence | missing-input | 2 | 50.0 % |" in kinds_table([found])
