"""Near-duplicates that the report of a build names."""

from ingest.build_report import near_duplicates
from ontology.tool import Parameter, Tool
from tests.harness.waiting import bounded_work

LONG = "Lists the releases of a project with their dates, authors and notes, the newest ones before the others."


def tool(name: str, description: str = "", *inputs: str, namespace: str = "shop", **metadata: object) -> Tool:
    parameters = tuple(Parameter(name=one) for one in inputs)
    metadata["namespace"] = namespace
    return Tool(id=f"{namespace}/{name}", name=name, description=description, parameters=parameters, metadata=metadata)


PATHS = tool("getShift", LONG, path="/v1/shifts/{shift_id}", method="GET")
ALIKE = {
    "same name and inputs": (tool("get_order_v1", "Gets an order.", "orderId"), tool("getOrder", "One.", "order_id")),
    "same text": (tool("release_list", LONG), tool("all_versions", LONG.replace("the newest", "newest") + " v2")),
    "another version of the path": (PATHS, tool("get_shift_v2", LONG, path="/v2/shifts/{id}", method="GET")),
}
APART = {
    "other inputs": (tool("get_order", "", "order_id"), tool("get_order_v2", "", "customer_id")),
    "one and many": (tool("get_user", ""), tool("get_users", "")),
    "another object": (tool("list_releases", LONG), tool("list_tags", LONG.replace("releases", "tags"))),
    "another system": (tool("release_list", LONG), tool("release_list", LONG, namespace="other")),
    "too little text": (tool("find_a", "Finds it."), tool("search_b", "Finds it.")),
    "a preview": (tool("put_mark", "Sets it.", "id"), tool("put_mark_preview", "Sets it.", "id")),
    "a further segment": (tool("a", LONG, path="/x/{id}"), tool("b", LONG, path="/x/{id}/{step}")),
    "reads and changes": (tool("a", LONG, path="/x", method="GET"), tool("b", LONG, path="/x", method="PUT")),
}


def test_near_duplicates_are_found_and_tools_that_differ_are_none() -> None:
    other = tool("delete_order", "Deletes it.")
    found = {name: near_duplicates([*pair, other]) for name, pair in ALIKE.items()}
    assert found == {name: (tuple(sorted(each.id for each in pair)),) for name, pair in ALIKE.items()}
    assert {name: near_duplicates(pair) for name, pair in APART.items()} == dict.fromkeys(APART, ())


def test_ten_thousand_texts_of_one_template_are_compared_with_bounded_work() -> None:
    tools = [tool(f"list_x{number}", LONG.replace("releases", f"x{number}")) for number in range(10_000)]
    with bounded_work():
        assert near_duplicates(tools) == ()
