"""Extended profiles: what is a look-up, and what is left of the context parameters."""

from __future__ import annotations

import pytest

from datagen.extended_profiles import only_reads
from ontology.tool import Parameter, Tool
from tests.datagen.catalogues import catalogue_of, tool


@pytest.mark.parametrize(
    ("name", "description", "reads"),
    [
        ("find_or_create_tag", "", False),
        ("get_cart", "Get the cart of a customer or create a new one. It is empty then.", False),
        ("get_cart", "Get the cart of a customer. Or create one with make_cart.", True),
        ("search_orders", "Search open or closed orders.", True),
    ],
)
def test_a_tool_that_makes_what_it_does_not_find_is_no_look_up(name: str, description: str, reads: bool) -> None:
    found = tool(name, "query", "tag_id", description=description)
    assert only_reads(catalogue_of((found,)).extended_profiles[found.id]) is reads


@pytest.mark.parametrize(("name", "context"), [("projectId", ("projectId",)), ("packageName", ())])
def test_only_surroundings_are_context_parameters(name: str, context: tuple[str, ...]) -> None:
    things = ("order", "offer", "review", "track", "refund", "image", "listing", "tester", "country", "bundle", "key")
    tools = [
        Tool(
            id=f"play/{thing}.get",
            name=f"{thing}.get",
            parameters=tuple(Parameter(name=one, required=True, location="path") for one in (name, f"{thing}Id")),
            metadata={"path": f"/apps/{{{name}}}/{thing}s/{{{thing}Id}}", "method": "get", "namespace": "play"},
        )
        for thing in things
    ]
    profile = catalogue_of(tools).profile("play/order.get")
    assert profile.context == context
    assert [value.context for value in profile.consumes if value.parameter == name] == [bool(context)]
