"""Strict mode: a schema keeps the documented rules, or there is a reason why not."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from ontology.tool import Tool
from services.schemas.call_schema import call_schema
from services.schemas.strict_schema import strict_schema
from tests.services.schemas.strict_rules import broken_rules
from tests.services.schemas.test_call_schema import tools


def strict(properties: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    found = strict_schema({"type": "object", "properties": properties, **keywords})
    assert found.schema is not None, found.reasons
    assert broken_rules(found.schema) == []
    return found.schema


def test_optional_properties_take_null_and_objects_are_closed() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "integer", "maximum": 3}}, "required": ["b"]}
    assert strict({"a": inner, "c": {"enum": ["x", "y"]}, "d": {"type": ["string", "null"]}}, required=["a"]) == {
        "type": "object",
        "properties": {
            "a": {**inner, "additionalProperties": False},
            "c": {"type": ["string", "null"], "enum": ["x", "y", None]},
            "d": {"type": ["string", "null"]},
        },
        "required": ["a", "c", "d"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"type": "object", "additionalProperties": {"type": "string"}}, "x: a map"),
        ({"type": "object"}, "x: an object without stated members"),
        ({}, "x: a value of any kind"),
        (True, "x: a value of any kind"),
        ({"type": "array", "items": {}}, "x: a list of values of any kind"),
        ({"type": "array", "items": {"type": "array", "items": {}}}, "x[]: a list"),
        ({"type": "integer", "enum": ["a"]}, "x: allowed values of another type"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "x: parts (allOf) that must be fulfilled together"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}, "x: the member 'b' is required"),
        ({"enum": [str(n) for n in range(1_001)]}, "number of allowed values: 1,002, and the limit is 1,000"),
    ],
)  # fmt: skip
def test_why_not(field: Any, reason: str) -> None:
    found = strict_schema({"type": "object", "properties": {"x": field}})
    assert found.schema is None
    assert any(each.startswith(reason) for each in found.reasons), found.reasons


def test_a_bound_of_another_type_is_left_out() -> None:
    odd = {"type": "string", "pattern": ["a"], "format": {"of": "date"}}
    assert strict({"a": odd, "b": {"type": "integer", "minimum": [1], "maximum": True}}, required=["a", "b"])[
        "properties"
    ] == {
        "a": {"type": "string", "description": '(format: {"of": "date"}, pattern: ["a"])'},
        "b": {"type": "integer"},
    }


def test_objects_too_deep_and_too_many_properties() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = {"type": "object", "properties": {"a": deep}}
    assert strict_schema(deep).reasons == ("levels of nesting: 11, and the limit is 10",)
    wide = {f"p{n}": {"type": "string"} for n in range(5_001)}
    assert strict_schema({"type": "object", "properties": wide}).reasons == (
        "number of properties: 5,001, and the limit is 5,000",
    )


def test_the_format_says_whether_it_is_strict() -> None:
    schema = {
        "type": "object",
        "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    open_ = call_schema(Tool(id="a", name="a", input_schema=schema), "openai_strict")
    assert open_.notes == (
        "Strict mode is not possible. labels: a map: names of members that the schema does not state.",
    )
    function = json.loads(open_.json)["function"]
    assert function["strict"] is False and function["parameters"] == schema
    closed = call_schema(Tool(id="a", name="a", input_schema={"type": "object", "properties": {}}), "openai_strict")
    assert closed.notes == () and json.loads(closed.json)["function"]["strict"] is True


@settings(max_examples=100)
@given(tool=tools)
def test_any_tool_is_strict_or_has_a_note(tool: Tool) -> None:
    function = json.loads(call_schema(tool, "openai_strict").json)["function"]
    Draft202012Validator.check_schema(function["parameters"])
    if function["strict"]:
        assert broken_rules(function["parameters"]) == []
    assert bool(call_schema(tool, "openai_strict").notes) is not function["strict"]
