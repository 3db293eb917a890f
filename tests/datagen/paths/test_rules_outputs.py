"""Outputs by rules: the documented ones first, else names from the catalogue's own inputs."""

from dataclasses import replace

import pytest

from datagen.catalogue import ProfiledCatalogue
from datagen.paths.outputs import MAX_OUTPUTS, OutputRules
from tests.datagen.catalogues import catalogue_of, tool


@pytest.fixture(scope="module")
def silent(shipped: ProfiledCatalogue) -> ProfiledCatalogue:
    """The shipped catalogue as if no document stated an output."""
    return catalogue_of(replace(one, returns=()) for one in shipped.tools)


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
    found = OutputRules(catalogue_of([tool(name, inputs), *others])).find().by_tool[f"shop/{name}"]
    assert expected in [one.name for one in found]
    assert not any(one.documented for one in found)


def test_no_tool_has_more_outputs_than_three_or_one_twice(
    shipped: ProfiledCatalogue, silent: ProfiledCatalogue
) -> None:
    for catalogue in (shipped, silent):
        found = OutputRules(catalogue).find()
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
    found = OutputRules(catalogue_of(tools)).find()  # type: ignore[arg-type]
    assert len(found.rejected) == sum(not outputs for outputs in found.by_tool.values())
