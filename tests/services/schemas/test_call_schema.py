"""Call schemas: dotted paths folded back, names legal and distinct, types mapped, always valid JSON Schema."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ingest.sources.json_schema.schema import flatten, local_lookup, view_of
from ingest.sources.json_schema.self_contained import self_contained
from ontology.errors import DocumentError, InvalidArgumentError
from ontology.tool import Parameter, Tool
from services.schemas.call_schema import SCHEMA_FORMATS, call_name, call_schema
from services.schemas.input_schema import input_schema


def test_dotted_paths_fold_back_into_nested_schemas() -> None:
    schema = input_schema(
        [
            Parameter(name="order", type="object", description="The order", required=True),
            Parameter(name="order.items", type="array", description="Its items"),
            Parameter(name="order.items[].order_id", type="string", required=True, format="uuid"),
            Parameter(name="order.items[].quantity", type="integer"),
            Parameter(name="order.tags[]", enum=("a", "b")),
            Parameter(name="note"),
            Parameter(name="size", type="int | str"),
        ]
    )
    assert schema == {
        "type": "object",
        "properties": {
            "order": {
                "type": "object",
                "description": "The order",
                "properties": {
                    "items": {
                        "type": "array",
                        "description": "Its items",
                        "items": {
                            "type": "object",
                            "properties": {
                                "order_id": {"type": "string", "format": "uuid"},
                                "quantity": {"type": "integer"},
                            },
                            "required": ["order_id"],
                        },
                    },
                    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                },
            },
            "note": {"type": "string"},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["order"],
    }


def test_endless_paths_fold_to_a_bounded_depth() -> None:
    schema = input_schema([Parameter(name=".".join("a" * 10_000)), Parameter(name="x" + "[]" * 10_000)])
    Draft202012Validator.check_schema(schema)
    assert json.dumps(schema).count('"properties"') < 30


def test_allowed_values_are_of_the_type_or_go_before_it() -> None:
    made = input_schema(
        [
            Parameter(name="n", type="integer", enum=("1", "2", "1")),
            Parameter(name="b", type="boolean", enum=("true", "false")),
            Parameter(name="m", type="integer", enum=("10", "all")),
            Parameter(name="f", type="number", enum=("0.5", "NaN")),
            Parameter(name="l", type="list<int>", enum=("1", "2")),
        ]
    )["properties"]
    assert made["n"] == {"type": "integer", "enum": [1, 2]}
    assert made["b"] == {"type": "boolean", "enum": [True, False]}
    assert made["m"] == {"enum": [10, "all"]}
    assert made["f"] == {"enum": [0.5, "NaN"]}
    assert made["l"] == {"type": "array", "items": {"type": "integer", "enum": [1, 2]}}


TOOL = Tool(
    id="sales/list_orders",
    name="list_orders",
    description="List orders",
    parameters=(Parameter(name="$filter"), Parameter(name="customer id", required=True), Parameter(name="customer_id")),
    returns=(Parameter(name="value[].id"),),
    metadata={"title": "List Orders"},
)


def made_of(tool: Tool, schema_format: str) -> Any:
    return json.loads(call_schema(tool, schema_format).json)


def test_none_is_empty_and_an_unknown_format_lists_the_known() -> None:
    assert call_schema(TOOL, "none").json == ""
    with pytest.raises(InvalidArgumentError, match="none, openai, anthropic, mcp, openai_strict"):
        call_schema(TOOL, "soap")


CALLED: list[tuple[str, str, str]] = [
    ("get_order", "get_order", "get_order"),
    ("erp/get_order", "get_order", "erp__get_order"),
    ("a/b/c", "c", "a__b__c"),
    ("drive/drive.files.list", "drive.files.list", "drive__drive--files--list"),
    ("tool_17", "Get Order!", r"Get_Order_[0-9a-f]{6}"),
    ("erp/GET /orders/{id}", "GET /orders/{id}", r"erp__GET_orders_id_[0-9a-f]{6}"),
    ("a__b", "a__b", r"a__b_[0-9a-f]{6}"),
    ("a--b", "a--b", r"a--b_[0-9a-f]{6}"),
    ("注文", "注文", r"tool_[0-9a-f]{6}"),
    ("x" * 80, "x" * 80, r"x{57}_[0-9a-f]{6}"),
    (
        "compute/compute.regionInstantSnapshotGroups.testIamPermissionsOfSnapshotGroups",
        "compute.regionInstantSnapshotGroups.testIamPermissionsOfSnapshotGroups",
        r"compute__regionInstantSnapshotGroups_testIamPermissionsOf_[0-9a-f]{6}",
    ),
]


def test_names_to_call_by(subtests: pytest.Subtests) -> None:
    for tool_id, name, called in CALLED:
        with subtests.test(ascii(tool_id)):
            assert re.fullmatch(called, call_name(Tool(id=tool_id, name=name))), call_name(Tool(id=tool_id, name=name))


def test_a_schema_that_cannot_be_made_is_left_out_with_a_note() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(3_000):
        deep = {"properties": {"a": deep}}
    for source in (deep, {"properties": {"a": {"required": [{}], "properties": {"b": {}}}}}):
        for schema_format in SCHEMA_FORMATS[1:]:
            made = call_schema(Tool(id="a", name="a", input_schema=source), schema_format)
            assert bool(made.json) is not bool(made.notes) or schema_format == "openai_strict"


def test_what_has_no_strict_form_is_there_without_it() -> None:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        inner = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    made = call_schema(Tool(id="a", name="a", input_schema=inner), "openai_strict")
    assert json.loads(made.json)["function"]["strict"] is False
    assert "Strict mode is not possible" in made.notes[0]
    answers = Tool(id="a", name="a", output_schema={"type": "array", "items": {"type": "string"}})
    listed = call_schema(answers, "mcp")
    assert "outputSchema" not in json.loads(listed.json) and "no object" in listed.notes[0]


SCHEMAS = st.recursive(
    st.sampled_from([{"type": "string"}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, {"type": "array"}, {"const": 1}]),
    lambda inner: st.one_of(
        st.builds(lambda key, parts: {key: parts}, st.sampled_from(["allOf", "anyOf", "oneOf"]), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda key, part: {key: part}, st.sampled_from(["items", "then", "additionalProperties"]), inner),
        st.builds(lambda names: {"properties": names, "required": sorted(names)[:1]}, st.dictionaries(st.sampled_from("abc"), inner, min_size=1)),
        st.builds(lambda one, other: one if "$ref" in {**one, **other} else {**one, **other}, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=40)
@given(top=SCHEMAS, first=SCHEMAS, second=SCHEMAS)
def test_whatever_leads_back_to_itself_all_inputs_of_the_flat_view_are_in_the_schema(
    top: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> None:
    source = {"type": "object", **top, "$defs": {"A": first, "B": second}}
    try:
        inputs = view_of(source, local_lookup(source)).properties.keys()
        flatten(source)
        tool = Tool(id="a", name="a", input_schema=self_contained(source, local_lookup(source)).schema)
    except DocumentError:  # more parts than are read
        return
    for schema_format in SCHEMA_FORMATS[1:]:
        made = call_schema(tool, schema_format)
        function = json.loads(made.json)
        function = function.get("function", function)
        (arguments,) = (function[key] for key in ("parameters", "input_schema", "inputSchema") if key in function)
        Draft202012Validator.check_schema(arguments)
        if schema_format != "mcp":
            assert inputs <= arguments["properties"].keys()


words = st.one_of(
    st.text(max_size=12), st.sampled_from(["a", "b", "a.b", "a[].b", "a[]", "a.b[].c", "$x", "_", "a__b"])
)
types = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["string", "integer", "array", "list<int>", "Union[int, str]", "object", "any", "Dict[str, x]"]),
)
parameters = st.builds(
    Parameter,
    name=words,
    type=types,
    description=st.text(max_size=10),
    required=st.booleans(),
    enum=st.lists(st.one_of(st.text(max_size=5), st.sampled_from(["1", "2.5", "true", "nan", "1e999"]))).map(tuple),
    format=st.sampled_from(["", "uuid", "odd"]),
)
tools = st.builds(
    Tool,
    id=words.filter(bool),
    name=words.filter(bool),
    description=st.text(max_size=20),
    parameters=st.lists(parameters, max_size=8).map(tuple),
    returns=st.lists(parameters, max_size=3).map(tuple),
)


@settings(max_examples=200)
@given(tool=tools)
def test_any_tool_gives_valid_json_schemas(tool: Tool) -> None:
    for schema_format in SCHEMA_FORMATS[1:]:
        made = json.loads(call_schema(tool, schema_format).json)
        holder = made.get("function", made)
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", holder["name"])
        for key in ("parameters", "input_schema", "inputSchema", "outputSchema"):
            if key in holder:
                Draft202012Validator.check_schema(holder[key])
                check_required(holder[key])
    for key in every_key(made_of(tool, "anthropic")["input_schema"]):
        assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key)


@settings(max_examples=200)
@given(st.lists(tools, unique_by=lambda tool: tool.id, max_size=6))
def test_tools_of_different_ids_are_called_differently(many: list[Tool]) -> None:
    assert len({call_name(tool) for tool in many}) == len(many)


def check_required(schema: dict[str, Any]) -> None:
    """What is required exists, at every level."""
    assert set(schema.get("required", ())) <= set(schema.get("properties", ()))
    for child in below(schema):
        check_required(child)


def every_key(schema: dict[str, Any]) -> list[str]:
    return [*schema.get("properties", {}), *(key for child in below(schema) for key in every_key(child))]


def below(schema: dict[str, Any]) -> list[dict[str, Any]]:
    children = list(schema.get("properties", {}).values())
    return [*children, *([schema["items"]] if "items" in schema else [])]
