"""Interchangeable tools: what would do equally in a path, and what a request leaves open of it."""

from collections.abc import Sequence

import pytest

from datagen import PathEdge, SampleValue, SyntheticRequest, ToolLinks, ToolPath
from datagen.paths.alternatives import InterchangeableTools
from ontology.tool import Tool
from tests.datagen.catalogues import catalogue_of, tool


def _tools(tools: Sequence[Tool], *edges: PathEdge) -> InterchangeableTools:
    return InterchangeableTools(catalogue_of(tools), ToolLinks(edges))


def _edge(source: str, target: str) -> PathEdge:
    return PathEdge(
        kind="R-P", source=source, target=target, output="user_id", parameter="user_id", confidence=0.95, reason="r"
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (tool("delete_user", "user_id"), tool("remove_user", "user_id"), True),
        (tool("get_user_v1", "user_id"), tool("get_user_v2", "user_id"), True),
        (tool("search_users", "query"), tool("search_users_post", "query"), True),
        (tool("get_user", "user_id", namespace="a"), tool("get_user", "user_id", namespace="b"), True),
        (tool("list_all_users"), tool("list_users_paged", "page?"), True),
        (tool("delete_user", "user_id"), tool("cancel_user", "user_id"), False),
        (tool("create_user", "name"), tool("create_users", "name"), False),
        (tool("delete_user", "user_id"), tool("delete_user", "email", namespace="b"), False),
        (tool("list_users"), tool("list_active_users"), False),
        (tool("get_user", "user_id", "user_id name"), tool("fetch_user", "user_id", "total page"), False),
    ],
)
def test_doubles_do_the_same_to_the_same_object(one: Tool, other: Tool, same: bool) -> None:
    found = _tools((one, other, tool("list_orders"), tool("get_order", "order_id")))
    assert found.doubles(one.id) == ((other.id,) if same else ())
    assert found.doubles(other.id) == ((one.id,) if same else ())


SHOP = (
    tool("search_users", "query", "users[].user_id"),
    tool("list_users", "country?", "users[].user_id"),
    tool("list_group_users", "group_id", "users[].user_id"),
    tool("delete_user", "user_id"),
)
PATH = ToolPath(
    tools=("shop/search_users", "shop/delete_user"),
    edges=(_edge("shop/search_users", "shop/delete_user"),),
    shape="chain",
)


def test_finders_that_find_the_same_by_words_are_alternatives() -> None:
    found = _tools(SHOP, *(_edge(f"shop/{name}", "shop/delete_user") for name in ("search_users", "list_users")))
    assert found.with_alternatives(PATH).slots == (("shop/search_users", "shop/list_users"), ("shop/delete_user",))


def test_an_alternative_that_does_not_take_what_the_request_states_is_left_out() -> None:
    found = _tools(SHOP, *(_edge(f"shop/{name}", "shop/delete_user") for name in ("search_users", "list_users")))
    request = SyntheticRequest(
        id="r",
        text="Delete the user Ann",
        request_class="explicit-multi-step",
        path=found.with_alternatives(PATH),
        values=(SampleValue(tool="shop/search_users", parameter="query", value="Ann"),),
    )
    assert found.narrowed(request).path.slots == (("shop/search_users",), ("shop/delete_user",))
