"""The messages of tool search are those that the packages of Anthropic and OpenAI know, in the order of an exchange."""

from __future__ import annotations

from typing import Any

from anthropic.types import MessageParam, ToolUnionParam
from openai.types.responses import FunctionToolParam, ResponseToolSearchCall, ToolSearchToolParam
from openai.types.responses.response_tool_search_output_item import ResponseToolSearchOutputItem
from pydantic import TypeAdapter

from egotools import RankedTool, Response
from egotools.tool_search_shapes import (
    SEARCH_NAME,
    anthropic_asked,
    anthropic_result,
    anthropic_search_tool,
    anthropic_tools,
    openai_asked,
    openai_result,
    openai_search_tool,
)

PARAMETERS = '{"type":"object","properties":{"material":{"type":"string"}},"required":["material"]}'
SCHEMAS = {
    "anthropic": f'{{"name":"shop__book","description":"Book a material","input_schema":{PARAMETERS}}}',
    "openai": f'{{"type":"function","function":{{"name":"shop__book","description":"Book a material","parameters":{PARAMETERS}}}}}',
    "none": "",
}


def answer(form: str, *names: str) -> Response:
    tools = (
        RankedTool(
            id=f"shop/{name}",
            rank=1,
            score=1.0,
            call_name=f"shop__{name}",
            schema_json=SCHEMAS[form].replace("book", name),
        )
        for name in names
    )
    left_out = RankedTool(
        id="shop/odd", rank=9, score=0.0, call_name="shop__odd", schema_notes=("The schema is left out.",)
    )
    return Response(tools=(*tools, left_out), snapshot_id="s", preset="default")


def valid(kind: Any, value: Any) -> None:
    """The value is of a type of the API's package, and has no member that the type does not know."""
    TypeAdapter(kind).validate_python(value)
    known = kind.__required_keys__ | kind.__optional_keys__ if hasattr(kind, "__required_keys__") else set(value)
    assert set(value) <= known


def test_anthropic_finds_loads_and_calls() -> None:
    """A custom tool search as Anthropic documents it: references in the result, and the deferred definitions in the request."""
    tools: list[dict[str, Any]] = [anthropic_search_tool()]
    block: dict[str, Any] = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": SEARCH_NAME,
        "input": {"needs": ["book a material"]},
    }
    found = answer("anthropic", "book", "count")
    assert anthropic_asked(block) == {"query": "", "needs": ["book a material"]}
    result = anthropic_result(block["id"], found)
    assert result["content"] == [
        {"type": "tool_reference", "tool_name": "shop__book"},
        {"type": "tool_reference", "tool_name": "shop__count"},
    ]
    tools += anthropic_tools(found, known=tools)
    assert [(tool["name"], tool.get("defer_loading", False)) for tool in tools] == [
        (SEARCH_NAME, False),
        ("shop__book", True),
        ("shop__count", True),
    ]
    later = [*tools, *anthropic_tools(answer("anthropic", "count", "order"), known=tools)]
    assert [tool["name"] for tool in later] == [SEARCH_NAME, "shop__book", "shop__count", "shop__order"]
    for tool in later:
        TypeAdapter(ToolUnionParam).validate_python(tool)
    valid(MessageParam, {"role": "assistant", "content": [block]})
    valid(MessageParam, {"role": "user", "content": [result]})
    referenced = {each["tool_name"] for each in result["content"]}
    assert referenced <= {tool["name"] for tool in later}  # the API refuses a reference without its definition


def test_openai_finds_and_loads() -> None:
    """A client-executed tool search: the call of the model, and the output that holds the definitions."""
    valid(ToolSearchToolParam, openai_search_tool())
    assert openai_search_tool()["execution"] == "client"
    call = {
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": "call_1",
        "execution": "client",
        "status": "completed",
        "arguments": {"query": "book steel"},
    }
    ResponseToolSearchCall.model_validate(call)
    asked = {"query": "book steel", "needs": []}
    assert openai_asked(call) == openai_asked({**call, "arguments": '{"query": "book steel"}'}) == asked
    output = openai_result("call_1", answer("openai", "book"))
    item = ResponseToolSearchOutputItem.model_validate({"id": "tso_1", **output})
    assert (item.call_id, item.execution, item.status) == ("call_1", "client", "completed")
    (function,) = output["tools"]
    valid(FunctionToolParam, function)
    assert (function["name"], function["strict"], function["defer_loading"]) == ("shop__book", False, True)
    assert openai_result("call_1", answer("openai"))["tools"] == []
