"""Values of passwords and keys in the schemas and parameters of a document do not stay in its tools."""

import json
from typing import Any

import pytest

from ingest.sources.sanitize import is_example, secret_places, without_secrets
from ontology.tool import Tool

KEY = "S3CRETa1b2c3d4"


def tool(name: str, **schema: Any) -> Tool:
    return Tool(
        id="find", name="find", input_schema={"type": "object", "properties": {name: {"type": "string", **schema}}}
    )


KEYS = "X-Auth-Token token refresh_token clientSecretKey aws_secret_access_key db_password login.token".split()


@pytest.mark.parametrize("keyword", ["example", "default", "examples", "const", "enum", "pattern"])
def test_values_of_keys_are_taken_out(keyword: str) -> None:
    value: Any = [KEY] if keyword in ("examples", "enum") else f"^{KEY}$" if keyword == "pattern" else KEY
    for name in KEYS:
        before = tool(name, **{keyword: value})
        after = without_secrets(before)
        assert "CRET" not in after.canonical_json()
        assert secret_places(before, after) == [f"input_schema.properties.{name}.{keyword}"]


@pytest.mark.parametrize("keyword", ["enum", "pattern", "const", "format"])
def test_what_is_valid_is_taken_out_whole_where_it_has_a_secret(keyword: str) -> None:
    for value, secrets in ((f"a|{KEY}", (KEY,)), ("ghp_" + "a1" * 18, ())):
        before = tool("login", **{keyword: [value] if keyword == "enum" else value})
        (place,) = secret_places(before, after := without_secrets(before, secrets))
        assert after.input_schema == tool("login").input_schema and place.endswith(keyword)
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
    for before in (tool(name, **schema) for name, schema in OTHERS):
        assert json.loads(without_secrets(before).canonical_json()) == json.loads(before.canonical_json())
