"""Minimality and sufficiency of paths: needless tools and open inputs."""

import pytest

from datagen.paths.needs import PathNeeds
from datagen.requests import PathEdge, ToolPath
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
FLAGS, FLAG, SWITCH = (
    tool("list_flags", "next_token?", "flags[].flag_id"),
    tool("get_flag", "flag_id"),
    tool("set_flag", "flag_id"),
)
JOB, RETRY = tool("get_job", "job_id", "job_id status"), tool("retry_job", "job_id")
FIND_SPECS = tool("get_specs", "product_id", "specs[].spec_id")
DELETE_SPEC, DELETE_SPECS = tool("delete_specs_id", "spec_id"), tool("delete_specs_by_product", "product_id")
TOOLS = (
    REGISTRY,
    SCAN,
    FIRST,
    TRANSFER,
    FLAGS,
    FLAG,
    SWITCH,
    JOB,
    RETRY,
    EVENT,
    CALENDARS,
    EVENTS,
    SEARCH,
    CUSTOMERS,
    STATUS,
    DEFAULT,
)


def _edge(source: Tool, target: Tool, parameter: str) -> PathEdge:
    return PathEdge(
        kind="R-P", source=source.id, target=target.id, output="id", parameter=parameter, confidence=0.95, reason="r"
    )


def _fault(*edges: PathEdge, request_class: str = "") -> str:
    tools = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    return PathNeeds(catalogue_of(TOOLS)).find_fault(
        ToolPath(tools=tuple(tools), edges=edges, shape="chain"), request_class
    )


@pytest.mark.parametrize(
    ("edges", "because"),
    [
        ([_edge(CALENDARS, EVENT, "calendarId")], "eventId of cal/delete_event is in no output"),
        ([_edge(EVENTS, EVENT, "eventId")], ""),
        ([_edge(CALENDARS, EVENTS, "calendarId"), _edge(EVENTS, EVENT, "eventId")], ""),
        ([_edge(CUSTOMERS, SEARCH, "customer_id"), _edge(SEARCH, STATUS, "order_id")], "finds by words"),
        ([_edge(CUSTOMERS, SEARCH, "customer_id")], ""),
        ([_edge(SEARCH, STATUS, "order_id"), _edge(CUSTOMERS, STATUS, "order_id")], "other tools of the path give too"),
        ([_edge(CUSTOMERS, DEFAULT, "size_id")], "has a default"),
        ([_edge(REGISTRY, SCAN, "registry_id")], "belongs to the caller anyway"),
        ([_edge(FIRST, TRANSFER, "from_budget_id")], ""),
        ([_edge(FIRST, TRANSFER, "from_budget_id"), _edge(FIRST, TRANSFER, "to_budget_id")], "would fill both"),
    ],
)
def test_needless_tools_and_open_inputs_are_found(edges: list[PathEdge], because: str) -> None:
    fault = _fault(*edges)
    assert because in fault and bool(fault) is bool(because)


def test_nothing_is_looked_up_for_what_another_tool_does_directly() -> None:
    edge = _edge(FIND_SPECS, DELETE_SPEC, "spec_id")
    path = ToolPath(tools=(FIND_SPECS.id, DELETE_SPEC.id), edges=(edge,), shape="chain")
    alone, beside = (FIND_SPECS, DELETE_SPEC), (FIND_SPECS, DELETE_SPEC, DELETE_SPECS)
    assert not PathNeeds(catalogue_of(alone)).find_fault(path)
    assert f"{DELETE_SPECS.id} does what" in PathNeeds(catalogue_of(beside)).find_fault(path)
