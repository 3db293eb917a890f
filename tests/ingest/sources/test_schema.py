"""Schemas made to stand alone (every value the source accepts stays valid, nothing is lost but what the limit cuts), and as parameters;
prose out of markup; values of passwords and keys, which do not stay in tools.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from ingest.sources.json_schema.schema import flatten, local_lookup
from ingest.sources.json_schema.self_contained import self_contained
from ingest.sources.prose import plain
from ingest.sources.sanitize import is_example, secret_places, without_secrets
from ontology.tool import Tool
from tests.ingest.sources import any_json


def alone(schema: Any, *, output: bool = False) -> dict[str, Any]:
    return dict(self_contained(schema, local_lookup(schema), output=output).schema)


KEPT: list[dict[str, Any]] = [
    {"type": "array", "items": {"type": "integer", "minimum": 1}},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"oneOf": [{"type": "string"}, {"type": "null"}], "default": None},
]
DIALECT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *((source, source) for source in KEPT),
    ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    (
        {"type": ["number", "string"], "nullable": True, "enum": [1, "a"]},
        {"type": ["number", "string", "null"], "enum": [1, "a", None]},
    ),
    ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 0}),
    ({"type": "integer", "minimum": 0, "exclusiveMinimum": False}, {"type": "integer", "minimum": 0}),
    ({"type": "string", "example": "INC0012345"}, {"type": "string", "examples": ["INC0012345"]}),
    ({"type": "file"}, {"type": "string", "format": "binary"}),
    ({"type": "dict"}, {"type": "object"}),
    ({"type": "any"}, {}),
    ({"type": "string", "enum": [0, True], "default": 1}, {"type": "string", "enum": ["0", "true"], "default": "1"}),
    ({"type": "integer", "nullable": True, "enum": ["1", "2"]}, {"type": ["integer", "null"], "enum": [1, 2, None]}),
    ({"type": "boolean", "const": "true"}, {"type": "boolean", "const": True}),
    ({"type": "integer", "enum": [10, "all"]}, {"enum": [10, "all"]}),
    (
        {"type": "array", "items": {"type": "string"}, "enum": [1]},
        {"type": "array", "items": {"type": "string", "enum": ["1"]}},
    ),
    ({"enum": [], "allOf": [{"type": "string"}]}, {"allOf": [{"type": "string"}]}),
]


def test_what_a_schema_states_is_kept_in_one_dialect() -> None:
    assert [alone(source) for source, _ in DIALECT] == [expected for _, expected in DIALECT]


def test_references_become_definitions_and_cycles_stay() -> None:
    source = {
        "$ref": "#/definitions/Node",
        "definitions": {
            "Node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/definitions/Node"}, "id": {"type": "string", "readOnly": True}},
                "required": ["id", "next"],
            }
        },
    }
    assert alone(source) == {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}},
        "required": ["next"],
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]}},
    }
    answer = alone(source, output=True)
    assert set(answer["properties"]) == {"next", "id"}


@pytest.mark.parametrize("flag", ["readOnly", "writeOnly"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("in_list", [False, True])
def test_what_is_left_out_is_not_required(flag: str, shared: bool, in_list: bool) -> None:
    named = {"required": ["id", "name"], "properties": {"name": {"type": "string"}}}
    again = {"allOf": [{"$ref": "#/definitions/Named"}, {"$ref": "#/definitions/Buyer"}]}
    hidden = {"properties": {"id": {"allOf": [{"$ref": "#/definitions/Id"}]}}}
    definitions = {"Id": {flag: True}, "Named": named, "Buyer": {"allOf": [hidden, again if shared else named]}}
    buyer = {"$ref": "#/definitions/Buyer"}
    source = {"properties": {"b": {"items": buyer} if in_list else buyer}, "definitions": definitions}
    validator = Draft202012Validator(alone(source, output=flag == "writeOnly"))
    wrap = list if in_list else next
    assert validator.is_valid({"b": wrap(iter([{"name": "x"}]))})
    assert not validator.is_valid({"b": wrap(iter([{"id": "x"}]))})


@given(any_json("type properties items required enum allOf anyOf nullable default a b"))
def test_whatever_the_source_holds_the_result_is_a_valid_schema(source: Any) -> None:
    Draft202012Validator.check_schema(alone({"properties": {"x": source}}))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One &amp; <b>two</b><br/>three</p>", "One & two three"),
        ("Give `<id>` or <id>, a < b > c", "Give <id> or <id>, a < b > c"),
        ('See [the *guide*](https://x.example/a_(b) "t") and ![](i.png)', "See the *guide* and"),
        ("# Title\n\n**Bold** text\n- item_one\n- __item__", "Title Bold text - item_one - item"),
        ("```json\n{}\n```\nafter", "{} after"),
        ("2 ** 3 ** 4 and snake__case__name", "2 ** 3 ** 4 and snakecasename"),
        ("", ""),
    ],
)
def test_markup_becomes_plain_text(markup: str, text: str) -> None:
    assert plain(markup) == text


def test_a_bound_that_no_float_holds_is_none() -> None:
    (field,) = flatten({"properties": {"n": {"type": "integer", "minimum": -(10**400), "maximum": 9}}}).parameters
    assert dict(field.bounds) == {"maximum": 9}


KEY = "S3CRETa1b2c3d4"


def secret_tool(name: str, **schema: Any) -> Tool:
    return Tool(
        id="find", name="find", input_schema={"type": "object", "properties": {name: {"type": "string", **schema}}}
    )


KEYS = "X-Auth-Token token refresh_token clientSecretKey aws_secret_access_key db_password login.token".split()


@pytest.mark.parametrize("keyword", ["example", "default", "examples", "const", "enum", "pattern"])
def test_values_of_keys_are_taken_out(keyword: str) -> None:
    value: Any = [KEY] if keyword in ("examples", "enum") else f"^{KEY}$" if keyword == "pattern" else KEY
    for name in KEYS:
        before = secret_tool(name, **{keyword: value})
        after = without_secrets(before)
        assert "CRET" not in after.canonical_json()
        assert secret_places(before, after) == [f"input_schema.properties.{name}.{keyword}"]


@pytest.mark.parametrize("keyword", ["enum", "pattern", "const", "format"])
def test_what_is_valid_is_taken_out_whole_where_it_has_a_secret(keyword: str) -> None:
    for value, secrets in ((f"a|{KEY}", (KEY,)), ("ghp_" + "a1" * 18, ())):
        before = secret_tool("login", **{keyword: [value] if keyword == "enum" else value})
        (place,) = secret_places(before, after := without_secrets(before, secrets))
        assert after.input_schema == secret_tool("login").input_schema and place.endswith(keyword)
        assert is_example(place) is (keyword != "format")


OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("token", {"example": "USDT"}),
    ("token", {"example": "<TOKEN>"}),
    ("token", {"example": "your_token_12345"}),
    ("token", {"example": "0x" + "dAC17F958D" * 4}),
    ("token", {"pattern": "^[A-Za-z0-9]{16}$"}),
    ("nextPageToken", {"example": KEY}),
    ("clientRequestToken", {"example": KEY}),
    ("password", {"enum": ["set", "unset"]}),
    ("password", {"pattern": "^(?=.*[0-9]).{8,64}$"}),
    ("order_id", {"example": KEY, "enum": [KEY]}),
    (
        "key",
        {
            "pattern": "^(ssh-rsa|sk-ssh-ed25519|sk-ecdsa-sha2-nistp256)@openssh.com",
            "enum": ["sk-ssh-ed25519@openssh.com"],
        },
    ),
    ("login", {"pattern": "password=[a-z]{3}x12345678|ghp_[A-Za-z0-9]{36}", "enum": ["a", "see password=x12345678"]}),
]


def test_other_values_stay() -> None:
    for before in (secret_tool(name, **schema) for name, schema in OTHERS):
        assert json.loads(without_secrets(before).canonical_json()) == json.loads(before.canonical_json())
