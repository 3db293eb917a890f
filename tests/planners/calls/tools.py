"""Tools of the shop, as the service returns them, for each protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from egotools import Argument, Call, Tool
from ontology.tool_effects import effect_of

SCHEMA = {
    "type": "object",
    "properties": {"material": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["material"],
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
MODULE = "tests.planners.calls.shop_tools"


def tool(call: Call, schema: dict[str, Any] | None = None, id_: str = "shop/book", **metadata: object) -> Tool:
    schema = SCHEMA if schema is None else schema
    places = tuple(
        Argument(name=name, location="body" if call.method == "POST" else "query" if call.method else "argument")
        for name in schema["properties"]
    )
    made = Tool(
        id=id_,
        name=id_.rpartition("/")[2],
        title="",
        description="",
        namespace="shop",
        input_schema_json=json.dumps(schema),
        metadata_json=json.dumps(metadata),
        call=replace(call, arguments=places),
    )
    return replace(made, effect=effect_of(made))


def python(name: str, schema: dict[str, Any] | None = None, module: str = MODULE, **metadata: object) -> Tool:
    return tool(Call(protocol="python", operation=f"{module}:{name}"), schema, f"shop/{name}", **metadata)


def http(path: str, schema: dict[str, Any] | None = None, method: str = "POST", protocol: str = "http") -> Tool:
    media = "application/json" if method == "POST" else ""
    return tool(Call(protocol=protocol, method=method, path=f"/{path}", media_type=media), schema, f"shop/{path}")


def mcp(name: str, schema: dict[str, Any] | None = None, **metadata: object) -> Tool:
    return tool(Call(protocol="mcp", session="warehouse", operation=name), schema, f"shop/{name}", **metadata)
