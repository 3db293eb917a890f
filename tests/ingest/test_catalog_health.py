"""What the owners of the tools are told: near-duplicates above all."""

from __future__ import annotations

import time

import pytest

from egotools.call import Call
from ingest.catalog_health import catalog_health
from ingest.duplicate_tools import near_duplicates
from ontology.tool import Parameter, Tool

LONG = "Lists the releases of a project with their dates, authors and notes, the newest ones before the others."


def tool(name: str, description: str = "", *inputs: str, namespace: str = "shop", **metadata: object) -> Tool:
    parameters = tuple(Parameter(name=one) for one in inputs)
    metadata["namespace"] = namespace
    return Tool(id=f"{namespace}/{name}", name=name, description=description, parameters=parameters, metadata=metadata)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tool("get_order_v1", "Gets an order.", "orderId"), tool("getOrder", "Reads one order by id.", "order_id")),
        (tool("release_list", LONG), tool("all_versions", LONG.replace("the newest ones", "newest ones") + " v2")),
    ],
    ids=["same name and inputs", "same text"],
)
def test_near_duplicates_are_found(one: Tool, other: Tool) -> None:
    assert near_duplicates([one, other, tool("delete_order", "Deletes it.")]) == (tuple(sorted((one.id, other.id))),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tool("get_order", "", "order_id"), tool("get_order_v2", "", "customer_id")),
        (tool("get_user", ""), tool("get_users", "")),
        (tool("list_releases", LONG), tool("list_tags", LONG.replace("releases", "tags"))),
        (tool("release_list", LONG), tool("release_list", LONG, namespace="other")),
        (tool("find_a", "Finds it."), tool("search_b", "Finds it.")),
    ],
    ids=["other inputs", "one and many", "another object in the same words", "another system", "too little text"],
)
def test_tools_that_differ_are_no_near_duplicates(one: Tool, other: Tool) -> None:
    assert near_duplicates([one, other]) == ()


def test_near_duplicates_form_groups_in_any_order() -> None:
    tools = [tool(f"get_order_v{number}", "", "id") for number in (1, 2, 3)]
    assert near_duplicates(tools) == near_duplicates(tools[::-1]) == (tuple(one.id for one in tools),)


def test_time_is_linear_where_all_texts_are_of_one_template() -> None:
    def seconds(count: int) -> float:
        names = [f"{first}{second}" for first in "bcdfghklm" * 12 for second in range(count // 108)]
        tools = [tool(f"list_{at}{name}", LONG.replace("releases", f"x{at}{name}")) for at, name in enumerate(names)]
        started = time.process_time()
        assert near_duplicates(tools) == ()
        return time.process_time() - started

    seconds(108)  # word tables are loaded
    assert seconds(4320) < 20 * max(seconds(540), 0.01), "eight times the tools, far less than 64 times the time"


def test_each_finding_is_counted_in_its_namespace() -> None:
    deleting = Tool(
        id="crm/b", name="b", description="Deletes.", metadata={"namespace": "crm"}, call=Call(method="DELETE")
    )
    tools = [
        tool("get_a", "Gets a.", namespace="crm", deprecated=True, owner="Sales"),
        deleting,
        tool("get_c", " ", namespace="shop", cut=["description: 9 characters"]),
        Tool(id="shop/d", name="d", description="D.", returns=(Parameter(name="x"),), metadata={"namespace": "shop"}),
    ]
    crm, shop = catalog_health(tools)
    assert (crm.namespace, crm.owner, crm.tools, crm.deprecated) == ("crm", "Sales", 2, ("crm/get_a",))
    assert (crm.without_description, crm.without_outputs, crm.cut) == ((), ("crm/get_a",), ())
    assert (shop.without_description, shop.without_outputs) == (("shop/get_c",), ("shop/get_c",))
    assert shop.cut == ("shop/get_c",)
