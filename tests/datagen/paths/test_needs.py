"""Minimality and sufficiency of paths: superfluous tools, open inputs, the caller's own object, tools that would do equally."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from datagen import PathEdge, SampleValue, SyntheticRequest, ToolLinks, ToolPath
from datagen.paths.alternatives import InterchangeableTools
from datagen.paths.needs import PathNeeds, gives_own_object
from ontology.tool import Parameter, Tool
from tests.datagen.catalogues import catalogue_of, tool


def _http(name: str, path: str, *parameters: Parameter, method: str = "delete") -> Tool:
    return Tool(id=f"cal/{name}", name=name, parameters=parameters, metadata={"path": path, "method": method})


def _in_path(name: str) -> Parameter:
    return Parameter(name=name, required=True, location="path")


EVENT = _http("delete_event", "/calendars/{calendarId}/events/{eventId}", _in_path("calendarId"), _in_path("eventId"))
CALENDARS = _http("list_calendars", "/calendars", method="get")
EVENTS = _http("list_events", "/calendars/{calendarId}/events", _in_path("calendarId"), method="get")
SEARCH = tool("search_orders", "query customer_id?", "orders[].order_id")
CUSTOMERS, STATUS = tool("list_customers", "", "customer_id"), tool("get_status", "order_id", "status")
DEFAULT = Tool(id="shop/list_pages", name="list_pages", parameters=(Parameter(name="size_id", default="10"),))
REGISTRY, SCAN = tool("get_registry", "", "registry_id"), tool("scan_image", "image_id registry_id?")
FIRST = tool("search_budgets", "query", "budget_id")
TRANSFER = tool("transfer", "from_budget_id to_budget_id")
FIND_SPECS = tool("get_specs", "product_id", "specs[].spec_id")
DELETE_SPEC, DELETE_SPECS = tool("delete_specs_id", "spec_id"), tool("delete_specs_by_product", "product_id")
PATH_TOOLS = (REGISTRY, SCAN, FIRST, TRANSFER, EVENT, CALENDARS, EVENTS, SEARCH, CUSTOMERS, STATUS, DEFAULT)


def _id_edge(source: Tool, target: Tool, parameter: str) -> PathEdge:
    return PathEdge(
        kind="R-P", source=source.id, target=target.id, output="id", parameter=parameter, confidence=0.95, reason="r"
    )


def _fault(*edges: PathEdge, request_class: str = "") -> str:
    tools = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    return PathNeeds(catalogue_of(PATH_TOOLS)).find_fault(
        ToolPath(tools=tuple(tools), edges=edges, shape="chain"), request_class
    )


@pytest.mark.parametrize(
    ("edges", "because"),
    [
        ([_id_edge(CALENDARS, EVENT, "calendarId")], "eventId of cal/delete_event is in no output"),
        ([_id_edge(EVENTS, EVENT, "eventId")], ""),
        ([_id_edge(CALENDARS, EVENTS, "calendarId"), _id_edge(EVENTS, EVENT, "eventId")], ""),
        ([_id_edge(CUSTOMERS, SEARCH, "customer_id"), _id_edge(SEARCH, STATUS, "order_id")], "finds by words"),
        ([_id_edge(CUSTOMERS, SEARCH, "customer_id")], ""),
        (
            [_id_edge(SEARCH, STATUS, "order_id"), _id_edge(CUSTOMERS, STATUS, "order_id")],
            "other tools of the path give too",
        ),
        ([_id_edge(CUSTOMERS, DEFAULT, "size_id")], "has a default"),
        ([_id_edge(REGISTRY, SCAN, "registry_id")], "belongs to the caller anyway"),
        ([_id_edge(FIRST, TRANSFER, "from_budget_id")], ""),
        ([_id_edge(FIRST, TRANSFER, "from_budget_id"), _id_edge(FIRST, TRANSFER, "to_budget_id")], "would fill both"),
    ],
)
def test_needless_tools_and_open_inputs_are_found(edges: list[PathEdge], because: str) -> None:
    fault = _fault(*edges)
    assert because in fault and bool(fault) is bool(because)


def test_nothing_is_looked_up_for_what_another_tool_does_directly() -> None:
    edge = _id_edge(FIND_SPECS, DELETE_SPEC, "spec_id")
    path = ToolPath(tools=(FIND_SPECS.id, DELETE_SPEC.id), edges=(edge,), shape="chain")
    alone, beside = (FIND_SPECS, DELETE_SPEC), (FIND_SPECS, DELETE_SPEC, DELETE_SPECS)
    assert not PathNeeds(catalogue_of(alone)).find_fault(path)
    assert f"{DELETE_SPECS.id} does what" in PathNeeds(catalogue_of(beside)).find_fault(path)


# -- the caller's own object -------------------------------------------------------------------------------------------


USERS = tool("list_users", "team_id", "users[].user_id")
ABOUT = "Gets information about the current team."


def _described(found: Tool, text: str) -> Tool:
    return replace(found, parameters=tuple(replace(one, description=text) for one in found.parameters))


@pytest.mark.parametrize(
    ("found", "own"),
    [
        (tool("get_team", "team?", "team_id", description=ABOUT), True),
        (tool("get_team", "", "team_id", description="A team."), True),
        (tool("get_team", "fields? include_counts?", "team_id", description="A team."), True),
        (_described(tool("get_team", "team?", "team_id"), "If omitted, the current team"), True),
        (tool("get_team", "team?", "team_id", description="The team who is currently authenticated"), True),
        (tool("get_team", "team?", "team_id", description="A team in the current state"), False),
        (tool("get_team", "slug", "team_id", description=ABOUT), False),
        (tool("get_team", "team?", "teams[].team_id", description=ABOUT), False),
        (tool("list_team", "", "team_id", description=ABOUT), False),
        (tool("get_teams", "", "team_id", description=ABOUT), False),
        (tool("create_team", "", "team_id", description=ABOUT), False),
    ],
)
def test_one_thing_of_the_caller_is_told_from_a_choice_and_from_a_list(found: Tool, own: bool) -> None:
    output = found.returns[-1].name
    edge = PathEdge(
        kind="R-P", source=found.id, target=USERS.id, output=output, parameter="team_id", confidence=0.95, reason="r"
    )
    assert gives_own_object(edge, catalogue_of((found, USERS))) is own


# -- tools that would do equally ---------------------------------------------------------------------------------------


def _tools(tools: Sequence[Tool], *edges: PathEdge) -> InterchangeableTools:
    return InterchangeableTools(catalogue_of(tools), ToolLinks(edges))


def _user_edge(source: str, target: str) -> PathEdge:
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
    edges=(_user_edge("shop/search_users", "shop/delete_user"),),
    shape="chain",
)


def test_finders_that_find_the_same_by_words_are_alternatives() -> None:
    found = _tools(SHOP, *(_user_edge(f"shop/{name}", "shop/delete_user") for name in ("search_users", "list_users")))
    assert found.with_alternatives(PATH).slots == (("shop/search_users", "shop/list_users"), ("shop/delete_user",))


def test_an_alternative_that_does_not_take_what_the_request_states_is_left_out() -> None:
    found = _tools(SHOP, *(_user_edge(f"shop/{name}", "shop/delete_user") for name in ("search_users", "list_users")))
    request = SyntheticRequest(
        id="r",
        text="Delete the user Ann",
        request_class="explicit-multi-step",
        path=found.with_alternatives(PATH),
        values=(SampleValue(tool="shop/search_users", parameter="query", value="Ann"),),
    )
    assert found.narrowed(request).path.slots == (("shop/search_users",), ("shop/delete_user",))
