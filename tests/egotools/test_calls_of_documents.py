"""Calls of tools that were read from documents, against servers on loopback that are made from the same documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx
import pytest

from egotools import build_request
from egotools.calling.http_call import ToolHttpRequest
from ingest.sources import read_catalog
from ontology.tool import Tool
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.stores import ToolsOf


def tools_of(path: Path) -> dict[str, Tool]:
    return {tool.id.rpartition("/")[2]: tool for tool in read_catalog([str(path)]).tools}


def send(tool: Tool, arguments: Mapping[str, Any], server: str, **options: Any) -> httpx.Response:
    assert tool.call is not None
    request = build_request(tool.call, arguments, schema=tool.input_schema, server=server, **options)
    assert isinstance(request, ToolHttpRequest)
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.send(request)


# A server that knows the paths of a document, and says which operation it took a request for and what it read.


def _operations(root: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for path, item in root["paths"].items():
        for method, body in item.items():
            if method in ("get", "put", "post", "delete", "patch", "head", "options"):
                shared = [_resolved(one, root) for one in item.get("parameters", [])]
                own = [_resolved(one, root) for one in body.get("parameters", [])]
                yield method.upper(), path, body.get("operationId", ""), {**body, "parameters": [*shared, *own]}


def _resolved(node: Any, root: Mapping[str, Any]) -> Any:
    while isinstance(node, Mapping) and "$ref" in node:
        found: Any = root
        for word in node["$ref"].removeprefix("#/").split("/"):
            found = found[word.replace("~1", "/").replace("~0", "~")]
        node = found
    return node


class DocumentServer:
    """Answers a request with the operation that its document has for it, and with the values that it read."""

    def __init__(self, root: Mapping[str, Any], base: str) -> None:
        self.last: dict[str, Any] = {}
        self._routes = [
            (method, re.compile(base + re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path))), path, body)
            for method, path, _, body in sorted(_operations(root), key=lambda row: row[1].count("{"))
        ]

    def __call__(self, arrived: Arrived) -> Reply:
        read = self._read(arrived)
        self.last = read  # the answer to HEAD has no body
        return Reply(status=200 if "operation" in read else 404, body=json.dumps(read).encode())

    def _read(self, arrived: Arrived) -> dict[str, Any]:
        for method, pattern, path, body in self._routes:
            match = pattern.fullmatch(arrived.path)
            if method == arrived.method and match:
                query = dict(arrived.query)
                read: dict[str, Any] = {
                    "path": {name: unquote(value) for name, value in match.groupdict().items()},
                    "query": query,
                    "body": json.loads(arrived.body) if arrived.body else None,
                }
                missing = [
                    one["name"]
                    for one in body["parameters"]
                    if one.get("required") and one["in"] in ("path", "query") and one["name"] not in read[one["in"]]
                ]
                problems = {"missing": missing} if missing else {}
                return {"operation": f"{method} {path}", **read, **problems}
        return {"no_route": arrived.target}


def sample(schema: Any, root: Any, depth: int = 0) -> Any:
    """A value of a schema: small, with characters that must be encoded where the schema allows any text."""
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping):
        return "x"
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("allOf", "anyOf", "oneOf"):
        if schema.get(key):
            return sample(schema[key][0], root, depth)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = next(one for one in kind if one != "null") if isinstance(kind, list) else kind
    if kind == "object":
        properties, needed = schema.get("properties", {}), schema.get("required", ())
        further = [name for name in properties if name not in needed] if depth < 4 else []
        return {name: sample(properties[name], root, depth + 1) for name in (*needed, *further[:4])}
    if kind == "array":
        return [] if depth > 4 else [sample(schema.get("items", {}), root, depth + 1)]
    return {"integer": 7, "number": 1.5, "boolean": True}.get(kind, "a/b c&d=é?#")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "base", "count"), [("spotify", "/v1", 40), ("tmdb", "", 54), ("k8s_core_v1", "", 248)]
)
def test_every_operation_of_a_public_document_arrives_as_it_was_meant(
    tools_of: ToolsOf, shared: Path, name: str, base: str, count: int
) -> None:
    path = shared / "specs" / f"{name}.openapi.json"
    root = json.loads(path.read_text(encoding="utf-8"))
    tools = tools_of(str(path))
    assert len(tools) == count
    document = DocumentServer(root, base)
    with Loopback(document) as server:
        for tool in tools:
            call, schema = tool.call, tool.input_schema
            assert call is not None and schema is not None
            credentials = {one.key: "token" for each in call.security for one in each.schemes}
            given = {one: sample(inner, schema) for one, inner in schema["properties"].items()}
            given = {one: value for one, value in given.items() if value != {} or one in schema.get("required", ())}
            send(tool, given, server.url + base, credentials=credentials)
            read = document.last
            assert read.get("operation") == f"{call.method} {call.path}", tool.id
            assert "missing" not in read, tool.id
            for place in call.arguments:
                if place.name not in given:
                    continue
                value = given[place.name]
                if place.location in ("path", "query") and not isinstance(value, list | dict):
                    wire = value if isinstance(value, str) else json.dumps(value)
                    assert read[place.location][place.wire_name or place.name] == wire, (tool.id, place.name)
                elif place.location == "body":
                    body = read["body"] if place.whole_body else read["body"][place.wire_name or place.name]
                    assert body == value, (tool.id, place.name)
            if credentials:
                assert "token" in json.dumps([server.arrived[-1].headers, server.arrived[-1].query])


SHOP = """
openapi: 3.0.3
info: {title: Shop, version: '1'}
servers: [{url: 'https://{region}.shop.test/{version}', variables: {region: {default: eu}, version: {default: v2}}}]
paths:
  /orders/{id}:
    post:
      operationId: charge
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: expand, in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: X-Trace, in: header, schema: {type: array, items: {type: integer}}}
        - {name: where, in: query, content: {application/json: {schema: {type: object}}}}
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              properties:
                id: {type: integer}
                amount: {type: integer}
                lines: {type: array, items: {type: string}}
                address: {type: object, properties: {city: {type: string}, zip: {type: string}}}
                tags: {type: array, items: {type: string}}
            encoding:
              tags: {style: form, explode: false}
  /photos:
    put:
      operationId: upload
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              properties:
                title: {type: string}
                picture: {type: string, format: binary}
                pages: {type: array, items: {type: string, format: binary}}
                details: {type: object}
  /notes:
    patch:
      operationId: note
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties: {name: {type: string}, gone: {type: string}, kept: {type: string, nullable: true}}
              additionalProperties: {type: string}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tool]:
    path = tmp_path_factory.mktemp("shop") / "shop.yaml"
    path.write_text(SHOP, encoding="utf-8")
    return tools_of(path)


def test_a_form_arrives(shop: dict[str, Tool]) -> None:
    arguments = {
        "id": "a b/1",
        "form_id": 9,
        "amount": 100,
        "lines": ["x&y", "z"],
        "address": {"city": "Zürich", "zip": "8001"},
        "tags": ["new", "big"],
        "expand": {"customer": "all"},
        "X-Trace": [1, 2],
        "where": {"a": [1]},
    }
    with Loopback() as server:
        assert send(shop["charge"], arguments, server.url).status_code == 200
    arrived = server.only
    assert arrived.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qsl(arrived.body.decode()) == [
        ("id", "9"), ("amount", "100"), ("lines", "x&y"), ("lines", "z"), ("address[city]", "Zürich"),
        ("address[zip]", "8001"), ("tags", "new,big"),
    ]  # fmt: skip
    assert unquote(arrived.path) == "/orders/a b/1"
    assert arrived.path.count("/") == 2
    assert arrived.query == [("expand[customer]", "all"), ("where", '{"a":[1]}')]
    assert arrived.headers["x-trace"] == "1,2"


def _multipart(arrived: Arrived) -> list[Any]:
    head = f"Content-Type: {arrived.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + arrived.body)
    return list(message.iter_parts())


def test_files_arrive(shop: dict[str, Tool]) -> None:
    arguments = {
        "title": "Über",
        "picture": ("me.png", b"\x89PNG\r\n\x00", "image/png"),
        "pages": [b"one", ("two.txt", b"two", "text/plain")],
        "details": {"a": [1]},
    }
    with Loopback() as server:
        assert send(shop["upload"], arguments, server.url).status_code == 200
    parts = _multipart(server.only)
    found = [
        (part.get_param("name", header="content-disposition"), part.get_filename(), part.get_content_type(),
         part.get_payload(decode=True))
        for part in parts
    ]  # fmt: skip
    assert found == [
        ("title", None, "text/plain", "Über".encode()),
        ("picture", "me.png", "image/png", b"\x89PNG\r\n\x00"),
        ("pages", "pages", "application/octet-stream", b"one"),
        ("pages", "two.txt", "text/plain", b"two"),
        ("details", None, "application/json", b'{"a":[1]}'),
    ]


def test_lists_of_swagger_2_are_one_field_unless_it_says_otherwise(tmp_path: Path) -> None:
    inputs = [
        {"name": name, "in": "query", "type": "array", "items": {"type": "string"}, **form}
        for name, form in (("a", {}), ("b", {"collectionFormat": "multi"}))
    ]
    find = {"operationId": "find", "parameters": inputs, "responses": {}}
    path = tmp_path / "old.json"
    head = {"swagger": "2.0", "info": {"title": "old", "version": "1"}, "host": "old.test", "basePath": "/api"}
    path.write_text(json.dumps({**head, "paths": {"/find": {"get": find}}}), encoding="utf-8")
    tool = tools_of(path)["find"]
    assert tool.call is not None and tool.call.servers == ("https://old.test/api",)
    with Loopback() as server:
        send(tool, {"a": ["1", "2"], "b": ["3", "4"]}, server.url)
    assert server.only.query == [("a", "1,2"), ("b", "3"), ("b", "4")]
