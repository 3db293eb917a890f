"""What OpenAPI 3.1 and real documents add: path-level descriptions, cookies, callbacks, media types, security."""

import json
from pathlib import Path
from typing import Any

from egotools.call import Security, SecurityScheme
from ingest.sources import read_catalog
from ontology.tool import Tool


def read(folder: Path, document: dict[str, Any]) -> dict[str, Tool]:
    path = folder / "api.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return {tool.name: tool for tool in read_catalog([str(path)], strict=True).tools}


def body(schema: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}


def test_null_alternatives_lists_and_maps_are_kept(tmp_path: Path) -> None:
    fields = {
        "tags": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        "until": {"type": "string", "format": "date", "nullable": True},
        "who": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"id": {"type": "integer"}}}]},
    }
    tool = read(
        tmp_path, {"openapi": "3.0.0", "paths": {"/x": {"post": {"operationId": "x", **body({"properties": fields})}}}}
    )
    kept = (tool["x"].input_schema or {})["properties"]
    assert kept["tags"] == fields["tags"] and kept["labels"] == fields["labels"] and kept["who"] == fields["who"]
    assert kept["until"] == {"type": ["string", "null"], "format": "date"}


def test_media_types_and_security_with_scopes(tmp_path: Path) -> None:
    form = {
        "operationId": "form",
        "security": [],
        **body({"properties": {"a": {"type": "string"}}}, "application/x-www-form-urlencoded"),
    }
    signed = {"operationId": "signed", "security": [{"login": ["write", "read"], "key": []}, {"basic": []}]}
    schemes = {
        "login": {"type": "oauth2", "flows": {}},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "basic": {"type": "http", "scheme": "Basic"},
    }
    document = {
        "openapi": "3.0.0",
        "security": [{"basic": []}],
        "paths": {"/f": {"post": form, "get": {"operationId": "plain"}}, "/s": {"get": signed}},
        "components": {"securitySchemes": schemes},
    }
    calls = {name: tool.call for name, tool in read(tmp_path, document).items()}
    basic = Security(schemes=(SecurityScheme(key="basic", type="http", scheme="basic"),))
    assert calls["form"] is not None and calls["plain"] is not None and calls["signed"] is not None
    assert (calls["form"].media_type, calls["form"].security) == ("application/x-www-form-urlencoded", ())
    assert [each.location for each in calls["form"].arguments] == ["form"]
    assert calls["plain"].security == (basic,)
    oauth = SecurityScheme(key="login", type="oauth2", scopes=("write", "read"))
    key = SecurityScheme(key="key", type="apiKey", location="header", name="X-Key")
    assert calls["signed"].security == (Security(schemes=(oauth, key)), basic)
