"""OpenAPI 3.0, 3.1 and Swagger 2.0."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from egotools.call import Security, SecurityScheme
from ingest.sources import Document, RejectedRecord, read_catalog
from ingest.sources.openapi.source import OpenApiSource
from ontology.errors import EgotoolsError
from ontology.tool import Parameter, Tool
from tests.ingest.sources import any_json, read_file

ORDERS = """
openapi: 3.0.3
info: {title: Orders API, version: 2.1.0, x-department: Purchasing, x-line-of-business: Logistics}
servers: [{url: https://orders.example.com/v2}]
tags:
  - {name: Orders, x-line-of-business: Procurement}
paths:
  /orders/{orderId}:
    parameters:
      - {name: orderId, in: path, required: true, description: The <b>order</b>, schema: {type: string, format: uuid}}
      - {name: lang, in: query, schema: {type: string}}
      - {name: session, in: cookie, schema: {type: string}}
      - {name: Authorization, in: header, schema: {type: string}}
      - {name: Accept, in: header, schema: {type: string}}
      - {name: X-Trace, in: header, schema: {type: string}}
    get:
      operationId: getOrder
      summary: Read an order
      description: Reads **one** order, see [the guide](https://example.com/a_(b)).
      tags: [Orders]
      deprecated: true
      parameters:
        - {name: lang, in: query, description: Language, schema: {type: string, enum: [en, de, no]}}
      responses:
        404: {description: none}
        200:
          description: ok
          content:
            application/xml: {schema: {type: string}}
            application/json: {schema: {$ref: '#/components/schemas/Order'}}
          links:
            lines:
              operationId: listLines
              parameters: {path.orderId: $response.body#/id, first: $response.body#/lines/0/material_id}
            cancel:
              operationRef: '#/paths/~1orders~1{orderId}/delete'
              parameters: {orderId: $request.path.orderId}
            gone: {operationId: nowhere}
    put:
      x-line-of-business: Sales
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Order'}
      responses: {default: {description: ok, content: {application/problem+json: {schema: {type: array, items: {$ref: '#/components/schemas/Line'}}}}}}
    delete:
      responses: {204: {description: gone}}
  /orders/{orderId}/lines:
    get:
      operationId: listLines
      parameters:
        - name: filter
          in: query
          style: deepObject
          schema: {type: object, properties: {status: {type: string}, size: {type: integer}}, required: [status]}
      responses:
        201: {description: ok, content: {application/json: {schema: {type: string, description: A receipt}}}}
  x-note: not a path
components:
  schemas:
    Base: {type: object, required: [id], properties: {id: {type: string, readOnly: true}, secret: {type: string, writeOnly: true}}}
    Line:
      type: object
      required: [material_id]
      properties:
        material_id: {type: string, description: What is ordered}
        quantity: {type: number}
        parent: {$ref: '#/components/schemas/Line'}
    Order:
      allOf:
        - $ref: '#/components/schemas/Base'
        - type: object
          required: [lines, ship_to]
          properties:
            lines: {type: array, items: {$ref: '#/components/schemas/Line'}}
            ship_to:
              oneOf:
                - {type: object, required: [city], properties: {city: {type: string}, street: {type: string}}}
                - {type: object, required: [city], properties: {city: {type: string}, box: {type: integer}}}
            labels: {type: object, additionalProperties: {type: string}}
            prices: {type: object, additionalProperties: {type: object, properties: {amount: {type: number}}}}
"""


read = partial(read_file, OpenApiSource())


def named(parameters: tuple[Parameter, ...]) -> dict[str, tuple[str, bool, str]]:
    return {p.name: (p.type, p.required, p.location) for p in parameters}


@pytest.fixture
def orders(tmp_path: Path) -> dict[str, Tool]:
    tools, rejected = read(tmp_path / "orders.yaml", ORDERS)
    assert rejected == []
    return tools


def test_members_of_a_body_that_are_not_named_are_allowed_where_the_document_allows_them(tmp_path: Path) -> None:
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": {"type": "string"}}
    body = {"content": {"application/json": {"schema": form}}}
    paths = {"/notes": {"patch": {"operationId": "note", "requestBody": body}}}
    tools, _ = read(tmp_path / "notes.json", {"openapi": "3.0.3", "info": {"title": "Notes"}, "paths": paths})
    assert (tools["note"].input_schema or {})["additionalProperties"] == {"type": "string"}


def test_parameters_of_path_and_operation_are_merged(orders: dict[str, Tool]) -> None:
    tool = orders["getOrder"]
    assert named(tool.parameters) == {
        "orderId": ("string", True, "path"),
        "lang": ("string", False, "query"),
        "X-Trace": ("string", False, "header"),
    }
    assert tool.parameters[0].description == "The order"
    assert tool.parameters[0].format == "uuid"
    assert tool.parameters[1].enum == ("en", "de", "no")  # YAML 1.1 would make the last one false


def test_descriptions_and_metadata(orders: dict[str, Tool]) -> None:
    tool = orders["getOrder"]
    assert tool.description == "Read an order. Reads one order, see the guide."
    assert tool.metadata == {
        "title": "Read an order",
        "method": "GET",
        "path": "/orders/{orderId}",
        "tags": ["Orders"],
        "servers": ["https://orders.example.com/v2"],
        "api": "Orders API",
        "api_version": "2.1.0",
        "deprecated": True,
        "department": "Purchasing",
        "line_of_business": "Procurement",
    }
    assert orders["put_orders_orderId"].metadata["line_of_business"] == "Sales"
    assert orders["listLines"].metadata["line_of_business"] == "Logistics"


def test_the_body_by_dotted_path_with_required_along_the_path(orders: dict[str, Tool]) -> None:
    body = {p.name: p for p in orders["put_orders_orderId"].parameters if p.location == "body"}
    assert {name: p.required for name, p in body.items()} == {
        "secret": False,
        "lines": True,
        "lines[].material_id": True,
        "lines[].quantity": False,
        "lines[].parent": False,
        "ship_to": True,
        "ship_to.city": True,
        "ship_to.street": False,
        "ship_to.box": False,
        "labels": False,
        "prices": False,
        "prices.*.amount": False,
    }
    assert body["lines"].type == "array"
    assert body["ship_to"].type == "object"
    assert body["lines[].material_id"].description == "What is ordered"


def test_links_are_declared_dependencies(orders: dict[str, Tool]) -> None:
    assert [need.to_json() for need in orders["listLines"].depends_on] == [
        {"tool": "getOrder", "parameter": "orderId", "output": "id", "reason": "openapi link lines"},
        {"tool": "getOrder", "parameter": "first", "output": "lines[].material_id", "reason": "openapi link lines"},
    ]
    assert [need.to_json() for need in orders["delete_orders_orderId"].depends_on] == [
        {"tool": "getOrder", "parameter": "orderId", "reason": "openapi link cancel"}
    ]


OPENAPI_31 = """
openapi: 3.1.0
info: {title: New}
webhooks: {ping: {post: {operationId: not a tool}}}
paths:
  /a:
    post:
      callbacks: {done: {'{$request.body#/url}': {post: {operationId: not a tool either}}}}
      requestBody:
        content:
          application/json:
            schema:
              type: [object, 'null']
              properties:
                a: {type: [string, 'null']}
                b: {const: fixed}
                c: {anyOf: [{type: integer}, {type: string}, {type: 'null'}]}
                d: {$ref: '#/components/schemas/D', description: beside the reference}
                e: {type: array, prefixItems: [{type: string}]}
                f: true
      responses: {2XX: {content: {application/json: {schema: {type: object}}}}}
components: {schemas: {D: {type: integer, description: behind it}}}
"""


def test_openapi_31(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path / "a.yaml", OPENAPI_31)
    assert rejected == []
    (tool,) = tools.values()
    assert [(p.name, p.type, p.enum) for p in tool.parameters] == [
        ("a", "string", ()),
        ("b", "string", ("fixed",)),
        ("c", "integer|string", ()),
        ("d", "integer", ()),
        ("e", "array", ()),
        ("f", "any", ()),
    ]
    assert tool.parameters[3].description == "beside the reference"


SWAGGER_2 = """
swagger: '2.0'
info: {title: Old, version: '1'}
host: old.example.com
basePath: /api
schemes: [https, http]
paths:
  /pets:
    post:
      operationId: addPet
      parameters:
        - {name: limit, in: query, type: integer, required: true, format: int32}
        - {name: kinds, in: query, type: array, items: {type: string, enum: [cat]}}
        - {name: photo, in: formData, type: file}
        - {name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}
      responses: {201: {schema: {$ref: '#/definitions/Pet'}}}
definitions: {Pet: {type: object, required: [name], properties: {name: {type: string}}}}
"""


def test_swagger_2(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path / "old.yaml", SWAGGER_2)
    assert rejected == []
    tool = tools["addPet"]
    assert named(tool.parameters) == {
        "limit": ("integer", True, "query"),
        "kinds": ("array", False, "query"),
        "photo": ("file", False, "body"),
        "name": ("string", True, "body"),
    }
    assert tool.parameters[1].enum == ("cat",)
    assert [output.name for output in tool.returns] == ["name"]
    assert tool.metadata["servers"] == ["https://old.example.com/api", "http://old.example.com/api"]


def minimal(responses: object, **operation: object) -> dict[str, Any]:
    return {
        "openapi": "3.0.0",
        "info": {},
        "paths": {"/a": {"get": {"responses": responses, **operation}}, "/ok": {"get": {}}},
    }


def answer(schema: object) -> dict[str, Any]:
    return {"200": {"content": {"application/json": {"schema": schema}}}}


def test_references_across_files(tmp_path: Path) -> None:
    main = minimal({"200": {"$ref": "shared/common.yaml#/components/responses/Page"}})
    main["paths"]["/b"] = {"$ref": "paths/b.yaml"}
    (tmp_path / "shared").mkdir()
    (tmp_path / "paths").mkdir()
    common = {
        "components": {
            "responses": {"Page": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Page"}}}}},
            "schemas": {
                "Page": {"type": "object", "properties": {"next": {"type": "string"}, "items": {"$ref": "item.yaml"}}}
            },
        }
    }
    (tmp_path / "shared" / "common.yaml").write_text(yaml.safe_dump(common), encoding="utf-8")
    item = "type: array\nitems: {type: object, properties: {id: {type: string}, up: {$ref: 'common.yaml#/components/schemas/Page'}}}"
    (tmp_path / "shared" / "item.yaml").write_text(item, encoding="utf-8")
    (tmp_path / "paths" / "b.yaml").write_text(
        "get: {operationId: b, parameters: [{$ref: '#/p'}]}\np: {name: q, in: query}\n", encoding="utf-8"
    )
    (tmp_path / "api.json").write_text(json.dumps(main), encoding="utf-8")
    catalog = read_catalog([str(tmp_path)], strict=True)
    by_id = {tool.id: tool for tool in catalog.tools}
    assert [output.name for output in by_id["api/get_a"].returns] == ["items", "items[].id", "items[].up", "next"]
    assert [parameter.name for parameter in by_id["api/b"].parameters] == ["q"]
    assert [Path(document.address).name for document in catalog.documents] == ["api.json"]


@pytest.mark.parametrize(
    "ref",
    [
        "#/components/schemas/Missing",
        "missing.yaml#/x",
        "../outside.yaml#/x",
        "/etc/passwd",
        "file:///etc/hostname",
        "https://example.com/x.json",
        "//example.com/x.json",
        "broken.yaml#/x",
        "list.json#/0",
        "list.json#/0/0/x",
        "#/openapi/x",
        "//[",
        "#/paths/%2Fa%00",
        "inside/link.yaml#/x",
    ],
)
def test_a_reference_to_nowhere_costs_its_operation_or_the_answer_of_it(tmp_path: Path, ref: str) -> None:
    folder = tmp_path / "api"
    (folder / "inside").mkdir(parents=True)
    (tmp_path / "outside.yaml").write_text("x: {type: string}", encoding="utf-8")
    (folder / "inside" / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (folder / "broken.yaml").write_text("x: [", encoding="utf-8")
    (folder / "list.json").write_text("[[1]]", encoding="utf-8")
    asked = [{"name": "q", "in": "query", "schema": {"$ref": ref}}]
    for spec, kept in (
        (minimal({}, parameters=asked), ["get_ok"]),
        (minimal(answer({"$ref": ref})), ["get_a", "get_ok"]),
    ):
        text = json.dumps(spec, indent=1)
        tools, rejected = read(folder / "a.json", text)
        assert list(tools) == kept and all(tool.output_schema is None for tool in tools.values())
        (record,) = rejected
        assert (record.subject, record.reason) == ("a.json#get_a", "dangling-ref")
        line = next(number for number, row in enumerate(text.split("\n"), 1) if "$ref" in row)
        assert f"a.json:{line}" in record.detail


VEHICLE = """
Vehicle:
  type: object
  discriminator: {propertyName: kind}
  required: [kind]
  properties: {kind: {type: string}, tows: {$ref: '#/components/schemas/Vehicle'}}
Truck: {allOf: [{$ref: '#/components/schemas/Vehicle'}, {properties: {payload: {type: number}}, required: [payload]}]}
Tipper: {allOf: [{$ref: '#/components/schemas/Truck'}, {properties: {angle: {type: integer}}}]}
"""


def test_members_of_the_subtypes_of_a_discriminator_are_inputs_and_outputs(tmp_path: Path) -> None:
    vehicle = {"$ref": "#/components/schemas/Vehicle"}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"lead": vehicle}}}}}
    spec = minimal(answer({"type": "array", "items": vehicle}), requestBody=body)
    spec["components"] = {"schemas": yaml.safe_load(VEHICLE)}
    tools, rejected = read(tmp_path / "a.json", spec)
    tool = tools["get_a"]
    assert rejected == []
    assert [each.name for each in tool.parameters] == ["lead", "lead.kind", "lead.tows", "lead.payload", "lead.angle"]
    assert {"[].kind", "[].payload", "[].angle"} <= {each.name for each in tool.returns}
    check = Draft202012Validator(tool.input_schema or {})
    assert check.is_valid(
        {"lead": {"kind": "Truck", "payload": 2.5, "tows": {"kind": "Tipper", "payload": 1, "angle": 30}}}
    )
    assert not check.is_valid({"lead": {"payload": 2.5}})


def test_headers_and_variables_that_differ_in_case_are_one_input(tmp_path: Path) -> None:
    named = [("customerid", "path"), ("X-Trace", "header"), ("x-trace", "header"), ("Q", "query"), ("q", "query")]
    declared = [
        {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}} for name, place in named
    ]
    spec = minimal({}, parameters=declared)
    spec["paths"]["/a/{customerId}"] = spec["paths"].pop("/a")
    tool = next(each for name, each in read(tmp_path / "a.json", spec)[0].items() if name != "get_ok")
    assert [each.name for each in tool.parameters] == ["customerId", "X-Trace", "Q", "q"]
    assert tool.call is not None and [(each.name, each.location) for each in tool.call.arguments][:2] == [
        ("customerId", "path"),
        ("X-Trace", "header"),
    ]


def test_a_large_schema_is_cut_and_the_cut_is_said(tmp_path: Path) -> None:
    wide = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(500)}}
    deep: dict[str, Any] = {"type": "object", "properties": {"end": {"type": "string"}}}
    for _ in range(50):
        deep = {"type": "object", "properties": {"in": deep}}
    spec = minimal(answer(wide))
    spec["paths"]["/b"] = {"get": {"responses": answer(deep)}}
    tools, _ = read(tmp_path / "a.json", spec)
    assert len(tools["get_a"].returns) == 120
    assert [output.name for output in tools["get_b"].returns] == ["in", "in.in", "in.in.in", "in.in.in.in"]
    assert all(tools[name].metadata["cut"] for name in ("get_a", "get_b"))


ODD_OPERATIONS: list[Any] = [
    {"parameters": [{"in": "query"}]},
    {"parameters": "x", "responses": [], "tags": "t", "servers": {}, "summary": 3},
    {"responses": {"200": 7}},
    {"requestBody": {"content": {"application/json": None}}},
    {"responses": {"200": {"content": {"application/json": {"schema": [1]}}, "links": []}}},
    [],
]


def test_operations_of_the_wrong_shape_stop_nothing(tmp_path: Path) -> None:
    paths: dict[str, Any] = {f"/{number}": {"get": each} for number, each in enumerate(ODD_OPERATIONS)}
    spec = {"openapi": "3.0.0", "paths": {**paths, "/ok": {"get": {}}, "/null": None, "/text": "x"}}
    tools, rejected = read(tmp_path / "a.json", spec)
    assert "get_ok" in tools and len(tools) + len(rejected) == len(ODD_OPERATIONS) + 2
    text = next(record for record in rejected if record.subject.endswith("#/text"))
    assert text.detail == "A path item must be an object."


JSON = any_json(
    "get post parameters name in schema properties items $ref allOf oneOf required type enum responses 200 content application/json "
    "requestBody links operationId tags servers x-a additionalProperties description",
    *("#/paths", "#", "object", "array"),
)


@settings(max_examples=150)
@given(item=JSON, info=JSON)
def test_whatever_stands_in_a_document_only_our_own_errors_come_out(tmp_path: Path, item: object, info: object) -> None:
    path = tmp_path / "a.json"
    spec = {"openapi": "3.0.0", "info": info, "tags": info, "paths": {"/a": item, "/b": {"get": item, "post": item}}}
    path.write_text(json.dumps(spec), encoding="utf-8")
    try:
        items = list(OpenApiSource().read(Document("a.json", path=path)))
    except EgotoolsError:
        return
    assert all(isinstance(found, (Tool, RejectedRecord)) for found in items)


SECURED = """
openapi: 3.0.0
security: [{basic: []}]
paths:
  /f:
    get: {operationId: plain}
    post:
      operationId: form
      security: []
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {properties: {a: {type: string}}}}}}
  /s: {get: {operationId: signed, security: [{login: [write, read], key: []}, {basic: []}]}}
components:
  securitySchemes:
    login: {type: oauth2, flows: {}}
    key: {type: apiKey, in: header, name: X-Key}
    basic: {type: http, scheme: Basic}
"""


def test_media_types_and_security_with_scopes(tmp_path: Path) -> None:
    calls = {name: tool.call for name, tool in read(tmp_path / "api.yaml", SECURED)[0].items()}
    basic = Security(schemes=(SecurityScheme(key="basic", type="http", scheme="basic"),))
    assert calls["form"] is not None and calls["plain"] is not None and calls["signed"] is not None
    assert (calls["form"].media_type, calls["form"].security) == ("application/x-www-form-urlencoded", ())
    assert [each.location for each in calls["form"].arguments] == ["form"]
    assert calls["plain"].security == (basic,)
    oauth = SecurityScheme(key="login", type="oauth2", scopes=("write", "read"))
    key = SecurityScheme(key="key", type="apiKey", location="header", name="X-Key")
    assert calls["signed"].security == (Security(schemes=(oauth, key)), basic)
