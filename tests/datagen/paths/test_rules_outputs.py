"""Outputs by rules: the documented ones first, else names from the catalogue's own inputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datagen.interfaces import MAX_OUTPUTS
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from ingest.sources import read_catalog
from tests.conftest import ROOT
from tests.datagen.catalogues import catalogue_of, tool


@pytest.fixture(scope="module")
def shipped() -> ProfiledCatalogue:
    return catalogue_of(read_catalog([str(ROOT / "examples" / "enterprise" / "catalog")]).tools)


@pytest.fixture(scope="module")
def silent(shipped: ProfiledCatalogue) -> ProfiledCatalogue:
    """The shipped catalogue as if no document stated an output."""
    return catalogue_of(replace(one, returns=()) for one in shipped.tools)


def test_the_list_has_every_input_by_its_exact_name() -> None:
    catalogue = catalogue_of([tool("get_order", "orderId"), tool("cancel_order", "orderId order_note?")])
    listed = catalogue.parameter_index.parameters
    assert list(listed) == ["orderId", "order_note"]
    assert (listed["orderId"].count, listed["orderId"].tools) == (2, ("shop/get_order", "shop/cancel_order"))


def test_of_many_documented_outputs_those_come_first_that_inputs_want() -> None:
    catalogue = catalogue_of(
        [
            tool("get_order", "query", "note colour customer_id order_id warehouse_id"),
            tool("cancel_order", "order_id"),
            tool("get_customer", "customer_id"),
            tool("block_customer", "customer_id"),
            tool("get_warehouse", "warehouse_id"),
        ]
    )
    found = RulesOutputs(catalogue).find().by_tool["shop/get_order"]
    # Its own identifier, then what one input wants, then what two want.
    assert [one.name for one in found] == ["order_id", "warehouse_id", "customer_id"]
    assert all(one.documented and one.confidence == 1.0 for one in found)


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("create_order", "item", "order_id"),
        ("search_orders", "query", "order_id"),
        ("login", "username password", "session_id"),
        ("validate_email", "email", "email"),
        ("get_exchange_rate", "from_currency to_currency", "exchange_rate"),
        ("convert_inches_to_distance_km", "inches", "distance_km"),
    ],
)
def test_what_a_silent_tool_gives_follows_from_what_it_does(name: str, inputs: str, expected: str) -> None:
    others = [
        tool("cancel_order", "order_id"),
        tool("buy", "session_id"),
        tool("invite", "email"),
        tool("price_abroad", "exchange_rate"),
        tool("plan_route", "distance_km"),
    ]
    found = RulesOutputs(catalogue_of([tool(name, inputs), *others])).find().by_tool[f"shop/{name}"]
    assert expected in [one.name for one in found]
    assert not any(one.documented for one in found)


def test_what_a_description_says_it_returns_is_weaker_than_what_the_name_says() -> None:
    told = tool("roundup", "", description="Returns the tracking number of the parcel.")
    catalogue = catalogue_of([told, tool("follow", "tracking_number"), tool("get_tracking_number")])
    found = RulesOutputs(catalogue).find().by_tool
    (said,), (named,) = found["shop/roundup"], found["shop/get_tracking_number"]
    assert said.name == named.name == "tracking_number"
    assert said.confidence < named.confidence


def test_a_tool_that_is_told_which_one_does_not_give_it_back() -> None:
    catalogue = catalogue_of([tool("get_order", "order_id"), tool("cancel_order", "order_id")])
    outputs = RulesOutputs(catalogue).find()
    assert outputs.by_tool["shop/get_order"] == ()
    assert {rejection.subject[0] for rejection in outputs.rejected} == {"shop/get_order", "shop/cancel_order"}
    assert all(rejection.stage == "outputs" and rejection.reason for rejection in outputs.rejected)


def test_inferred_outputs_are_names_of_the_list_in_the_bands_of_the_paper(silent: ProfiledCatalogue) -> None:
    listed = silent.parameter_index.parameters
    found = RulesOutputs(silent).find()
    inferred = [one for outputs in found.by_tool.values() for one in outputs]
    assert len(inferred) > 100
    assert all(one.name in listed and 0.5 <= one.confidence <= 0.99 and not one.documented for one in inferred)
    assert all(one.reason and not one.reason.endswith(".") and one.tool in silent for one in inferred)


def test_no_tool_has_more_outputs_than_three_or_one_twice(
    shipped: ProfiledCatalogue, silent: ProfiledCatalogue
) -> None:
    for catalogue in (shipped, silent):
        found = RulesOutputs(catalogue).find()
        assert set(found.by_tool) == {one.id for one in catalogue.tools}
        for outputs in found.by_tool.values():
            assert len({one.name for one in outputs}) == len(outputs) <= MAX_OUTPUTS
        assert {rejection.subject[0] for rejection in found.rejected} == {
            tool_id for tool_id, outputs in found.by_tool.items() if not outputs
        }


@pytest.mark.parametrize(
    "tools",
    [
        [],
        [tool("only")],
        [tool("ping"), tool("pong")],
        [tool("注文検索", "検索語", "注文番号"), tool("注文取消", "注文番号")],
    ],
)
def test_poor_catalogues_have_few_outputs_and_reasons(tools: list[object]) -> None:
    found = RulesOutputs(catalogue_of(tools)).find()  # type: ignore[arg-type]
    assert len(found.rejected) == sum(not outputs for outputs in found.by_tool.values())
