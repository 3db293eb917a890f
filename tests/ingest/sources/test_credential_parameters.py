"""OpenAPI documents that declare credentials as parameters: the caller injects them, and no model is asked for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from egotools.call import Security, SecurityScheme
from ingest.sources import read_catalog
from ontology import Tool


def read(folder: Path, parameters: list[dict[str, Any]], **more: Any) -> Tool:
    operation = {"operationId": "get", "parameters": parameters, "responses": {"200": {"description": "ok"}}, **more}
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Pager", "version": "1"},
        "servers": [{"url": "https://pager.test"}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {"/teams": {"get": operation}},
    }
    (folder / "pager.json").write_text(json.dumps(document), encoding="utf-8")
    (tool,) = read_catalog([str(folder / "pager.json")]).tools
    return tool


def header(name: str, *, required: bool = True, location: str = "header") -> dict[str, Any]:
    return {"name": name, "in": location, "required": required, "schema": {"type": "string"}}


def key(name: str, location: str = "header") -> SecurityScheme:
    return SecurityScheme(key=name, type="apiKey", location=location, name=name)


@pytest.mark.parametrize(
    "name", ["X-VO-Api-Key", "apikey", "X-Auth-Token", "Authorization", "Ocp-Apim-Subscription-Key"]
)
def test_a_header_that_names_a_credential_is_no_input(tmp_path: Path, name: str) -> None:
    tool = read(tmp_path, [header(name), header("team", location="query")])
    assert [parameter.name for parameter in tool.parameters] == ["team"]
    assert tool.call is not None
    assert tool.call.security == (Security(schemes=(key(name),)),)
    assert name not in json.dumps(dict(tool.input_schema or {}))


def test_a_key_in_the_query(tmp_path: Path) -> None:
    tool = read(tmp_path, [header("api_key", location="query"), header("token", location="query")])
    assert [parameter.name for parameter in tool.parameters] == ["token"]
    assert tool.call is not None
    assert tool.call.security == (Security(schemes=(key("api_key", "query"),)),)


def test_it_joins_the_schemes_that_are_declared(tmp_path: Path) -> None:
    tool = read(tmp_path, [header("X-Api-Key"), header("Authorization")], security=[{"token": []}])
    assert tool.call is not None
    bearer = SecurityScheme(key="token", type="http", scheme="bearer")
    assert tool.call.security == (Security(schemes=(bearer, key("X-Api-Key"))),)


def test_an_optional_one_is_left_out(tmp_path: Path) -> None:
    tool = read(tmp_path, [header("X-Api-Key", required=False)])
    assert (tool.parameters, tool.call is not None and tool.call.security) == ((), ())
