"""What a model sees of a catalogue: the search and its description, found tools, plans, and errors that name the argument."""

import json

import pytest

from egotools.search_tool import MAX_CHARS, SEARCH_TEXT
from tests.services.mcp.conftest import ERAS, connected, text_of

pytestmark = pytest.mark.parametrize("era", ERAS)


async def test_one_search_gives_schemas_effects_and_what_cannot_be_called(served: str, era: str) -> None:
    async with connected(served, era) as client:
        result = await client.call_tool("search_tools", {"query": "book two pieces of steel from the warehouse"})
        found = json.loads(text_of(result))
        assert found == result.structured_content
        (book,) = [tool for tool in found["tools"] if tool["id"] == "warehouse/book_material"]
        assert book["name"] == "warehouse__book_material"
        assert book["inputSchema"]["required"] == ["material"]
        assert book["effect"] == "change"
        assert "not_callable" not in book
        assert [tool["effect"] for tool in found["tools"] if tool["id"] == "warehouse/count_stock"] in ([], ["read"])
        one = json.loads(text_of(await client.call_tool("get_tool", {"id": "warehouse__book_material"})))
        assert (one["id"], one["inputSchema"]) == (book["id"], book["inputSchema"])


async def test_a_model_is_taught_to_write_needs_and_sees_which_are_served(served: str, era: str) -> None:
    needs = ["find an employee by name", *[f"qwxz plooph {n}" for n in range(40)], "4711"]
    async with connected(served, era) as client:
        listed = (await client.list_tools()).tools
        told = (await client.call_tool("search_tools", {"needs": needs, "query": "Who is Jan?"})).structured_content
    assert [tool.name for tool in listed] == ["search_tools", "get_tool", "call_tool", "plan_tools"]
    description = listed[0].description or ""
    assert description.startswith(SEARCH_TEXT) and len(description) <= MAX_CHARS
    assert "10 tools" in description and "warehouse (7" in description
    assert told is not None and len(told["needs"]) == 32
    assert told["needs"][0] == {"need": needs[0], "best": "office/find_employee"}
    assert told["needs"][1] == {"need": needs[1], "best": told["needs"][1]["best"], "may_not_fit": True}
    (found,) = (tool for tool in told["tools"] if tool["id"] == "office/find_employee")
    assert 0 in found["serves_needs"]
    assert told["notes"][0].startswith("needs: only the first 32 of 41 are taken; 1 without a word")


async def test_a_filter_that_a_model_invented_is_left_out_and_the_others_hold(served: str, era: str) -> None:
    invented = {"namespace": ["warehouses"], "colour": ["red"], "effect": ["read"]}
    asked = {"query": "count the stock of steel", "filters": invented, "done": ["nobody/knows"], "have": {"x": "y"}}
    async with connected(served, era) as client:
        told = (await client.call_tool("search_tools", asked)).structured_content
    assert told is not None
    assert {tool["effect"] for tool in told["tools"]} == {"read"}
    (namespace,) = (note for note in told["notes"] if note.startswith("left out filters.namespace: "))
    assert "warehouse" in namespace.partition("Known values: ")[2]
    assert any(note.startswith("left out filters.colour: ") for note in told["notes"])


async def test_a_plan_leads_from_the_name_to_the_invitation(served: str, era: str) -> None:
    async with connected(served, era) as client:
        plan = (await client.call_tool("plan_tools", {"goals": ["office__invite_employee"]})).structured_content
        asked = {"query": "invite an employee to a meeting", "k": 50, "done": ["office__find_employee"]}
        again = (await client.call_tool("search_tools", asked)).structured_content
    assert plan is not None
    assert [step["id"] for step in plan["steps"]] == ["office/find_employee", "office/invite_employee"]
    assert again is not None
    assert "office/find_employee" not in [tool["id"] for tool in again["tools"]]


@pytest.mark.parametrize(
    ("name", "arguments", "subject"),
    [
        ("search_tools", {"text": "stock"}, "query"),
        ("search_tools", {"query": "stock", "k": 0}, "k"),
        ("search_tools", {"query": "stock", "k": "5"}, "k"),
        ("get_tool", {"id": "warehouse/nothing"}, "warehouse/nothing"),
        ("plan_tools", {}, "query"),
        ("call_tool", {"id": "canteen/get_menu", "arguments": {"days": "Monday"}}, "days"),
        ("call_tool", {"id": "canteen/get_menu", "arguments": {}}, "day"),
        ("canteen__get_menu", {"day": ["Monday"]}, "day"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
async def test_an_error_names_what_is_wrong(
    served: str, era: str, name: str, arguments: dict[str, object], subject: str
) -> None:
    async with connected(served, era) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert subject in text_of(result)
    assert "Traceback" not in text_of(result)
