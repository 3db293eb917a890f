"""Near-duplicates that the report of a build names."""

import pytest

from ingest.build_report import near_duplicates
from ontology.tool import Parameter, Tool
from tests.harness.waiting import bounded_work

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
        (
            tool("getShift", LONG, path="/v1/shifts/{shift_id}", method="GET"),
            tool("get_shift_v2", LONG, path="/v2/shifts/{id}", method="GET"),
        ),
    ],
    ids=["same name and inputs", "same text", "another version of the path"],
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
        (tool("put_mark", "Sets it.", "id"), tool("put_mark_preview", "Sets it.", "id")),
        (tool("a", LONG, path="/policies/{id}"), tool("b", LONG, path="/policies/{id}/{step}")),
        (tool("a", LONG, path="/x", method="GET"), tool("b", LONG, path="/x", method="PUT")),
    ],
    ids=[
        "other inputs",
        "one and many",
        "another object in the same words",
        "another system",
        "too little text",
        "a preview",
        "a further segment",
        "reads and changes",
    ],
)
def test_tools_that_differ_are_no_near_duplicates(one: Tool, other: Tool) -> None:
    assert near_duplicates([one, other]) == ()


def test_ten_thousand_texts_of_one_template_are_compared_with_bounded_work() -> None:
    tools = [tool(f"list_x{number}", LONG.replace("releases", f"x{number}")) for number in range(10_000)]
    with bounded_work():
        assert near_duplicates(tools) == ()
