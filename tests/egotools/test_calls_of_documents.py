"""Calls of tools that were read from documents, against a server on loopback."""

from collections.abc import Mapping
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
from tests.harness.http_server import Arrived, Loopback


def tools_of(path: Path) -> dict[str, Tool]:
    return {tool.id.rpartition("/")[2]: tool for tool in read_catalog([str(path)]).tools}


def send(tool: Tool, arguments: Mapping[str, Any], server: str, **options: Any) -> httpx.Response:
    assert tool.call is not None
    request = build_request(tool.call, arguments, schema=tool.input_schema, server=server, **options)
    assert isinstance(request, ToolHttpRequest)
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.send(request)


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
