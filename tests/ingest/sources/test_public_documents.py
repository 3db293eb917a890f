"""Schemas as the sources wrote them, over real documents: nothing that a document says about its inputs is lost."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from ontology.tool import Tool
from tests.harness.stores import ToolsOf

OPENAPI = {"k8s_core_v1": 248, "tmdb": 54, "spotify": 40}  # with the number of their operations
ODATA = (
    "API_BUSINESS_PARTNER.edmx",
    "API_PURCHASEORDER_PROCESS_SRV.edmx",
    "API_SALES_ORDER_SRV.edmx",
    "msgraph_v1.csdl",
)
_STRIDE, _CHECKED = 20, 25
"""Each twentieth tool is compared with the meta-schema, and of a large catalogue about 25 in all: it takes 10 ms a tool."""
_PLACE = re.compile(r"\{\+?([^{}]+)\}")


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", (*(f"{each}.openapi.json" for each in OPENAPI), *ODATA))
def test_files_have_whole_schemas_and_calls(tools_of: ToolsOf, shared: Path, name: str) -> None:
    tools = [Tool.from_json(tool.to_json()) for tool in tools_of(str(shared / "specs" / name))]
    if operations := OPENAPI.get(name.removesuffix(".openapi.json")):
        assert len(tools) == operations < 2 * sum(bool(tool.returns) for tool in tools)
    check_catalogue(tools)


def check_catalogue(tools: Sequence[Tool]) -> None:
    """Every schema is valid and every property has a place; each placeholder is an argument; no map is a property ``*``."""
    stride = max(_STRIDE, len(tools) // _CHECKED)
    for number, tool in enumerate(tools):
        assert tool.input_schema is not None
        for schema in (tool.input_schema, tool.output_schema or {}):
            if number % stride == 0:
                Draft202012Validator.check_schema(schema, FormatChecker(()))  # \\p{L} is no pattern of Python's
            for node in nodes(schema):
                assert "*" not in node.get("properties", {}), tool.id
                assert node.get("items") != {} or "cut" in tool.metadata, (
                    f"{tool.id}: a list lost the type of its items"
                )
        if tool.call is None:
            continue
        names = [argument.name for argument in tool.call.arguments]
        assert sorted(names) == sorted(tool.input_schema.get("properties", {})), tool.id
        in_path = {argument.name for argument in tool.call.arguments if argument.location == "path"}
        if tool.call.protocol in ("http", "odata"):
            assert set(_PLACE.findall(tool.call.path)) == in_path, tool.id
            assert in_path <= set(tool.input_schema.get("required", ())), tool.id


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and the schemas inside it, not its data."""
    if isinstance(schema, list):
        for inner in schema:
            yield from nodes(inner)
    elif isinstance(schema, dict):
        yield schema
        for key in ("properties", "$defs"):
            yield from nodes(list(schema.get(key, {}).values()))
        for key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf"):
            yield from nodes(schema.get(key))
