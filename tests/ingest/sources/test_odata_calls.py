"""Schemas and calls of OData tools: types and facets of EDM, keys, filters, functions and actions of version 2 and 4."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from egotools.call import Call
from ingest.sources.odata.types import Property, primitive_schema
from ontology.tool import Tool
from tests.ingest.sources.test_odata import V2, V4, read


def places(tool: Tool) -> dict[str, tuple[str, str]]:
    """Name → location and style."""
    return {each.name: (each.location, each.style) for each in call(tool).arguments}


def call(tool: Tool) -> Call:
    assert tool.call is not None
    return tool.call


def properties(tool: Tool) -> dict[str, Any]:
    assert tool.input_schema is not None
    schema = tool.to_json()["input_schema"]
    Draft202012Validator.check_schema(schema)
    fields: dict[str, Any] = schema["properties"]
    return fields


def test_v2_keys_filters_options_and_body(tmp_path: Path) -> None:
    link = '<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="self" href="https://erp.example.com/odata/WAREHOUSE/$metadata"/>'
    tools, _ = read(tmp_path, V2.replace("<EntityContainer", f"{link}<EntityContainer", 1))
    query = tools["query_A_StockOrder"]
    made = call(query)
    assert (made.protocol, made.service, made.method, made.path) == ("odata", "v2", "GET", "/A_StockOrder")
    assert made.servers == ("https://erp.example.com/odata/WAREHOUSE",)
    assert places(query)["Plant"] == ("filter", "Edm.String")
    assert places(query)["$top"] == ("query", "")
    assert properties(query)["$top"] == {
        "type": "integer",
        "minimum": 0,
        "description": "How many records to return at most",
    }
    results = (query.output_schema or {})["properties"]["d"]["properties"]["results"]
    assert results["items"]["properties"]["Address"]["anyOf"][0] == {"$ref": "#/$defs/WAREHOUSE.Address"}
    reader = tools["read_A_StockOrder"]
    assert call(reader).path == "/A_StockOrder({StockOrder})"
    assert places(reader)["StockOrder"] == ("path", "Edm.String")
    assert call(tools["delete_A_StockOrderItem"]).path == (
        "/A_StockOrderItem(StockOrder={StockOrder},StockOrderItem={StockOrderItem})"
    )
    created = tools["create_A_StockOrder"]
    assert call(created).media_type == "application/json"
    assert places(created)["to_Item"] == ("body", ""), "items are created with their order"
    items = properties(created)["to_Item"]["items"]["properties"]
    assert items["Quantity"] == {
        "type": ["string", "null"],
        "pattern": r"^-?\d+(\.\d+)?$",
        "description": "How much is wanted",
    }
    assert (created.input_schema or {})["required"] == ["Plant"]


def test_v4_types_keys_of_owners_and_related_entities(tmp_path: Path) -> None:
    tools, _ = read(tmp_path, V4)
    created = tools["create_orders"]
    fields = properties(created)
    assert fields["state"] == {"type": ["string", "null"], "enum": ["open", "closed", None]}
    assert fields["tags"] == {"type": "array", "items": {"type": ["string", "null"]}}
    assert fields["customer"]["type"] == "object"
    assert (created.input_schema or {})["$defs"]["shop.sales.Node"]["properties"]["Next"]["anyOf"][0] == {
        "$ref": "#/$defs/shop.sales.Node"
    }
    assert places(tools["query_orders"])["state"] == ("filter", "shop.sales.State")
    assert places(tools["query_orders"])["total"] == ("filter", "Edm.Decimal"), "the type under the definition"
    note = tools["read_customers_notes"]
    assert call(note).path == "/customers({customer_id})/notes({id})"
    assert places(note)["customer_id"] == ("path", "Edm.String")
    assert (tools["query_orders"].output_schema or {})["properties"]["value"]["type"] == "array"


def test_v4_functions_and_actions(tmp_path: Path) -> None:
    tools, _ = read(tmp_path, V4)
    cancel = tools["order.cancel"]
    assert (call(cancel).method, call(cancel).path) == ("POST", "/orders({order_id})/shop.sales.cancel")
    assert places(cancel) == {"order_id": ("path", "Edm.String"), "reason": ("body", "")}
    recent = tools["order.recent"]
    assert call(recent).path == "/orders/shop.sales.recent(days={days})"
    assert places(recent) == {"days": ("path", "Edm.Int32")}
    assert call(tools["ping"]).path == "/ping()"
    assert (tools["ping"].output_schema or {})["properties"]["value"] == {"type": "boolean"}


def test_what_contained_entities_contain_and_linked_collections_are_read_only(tmp_path: Path) -> None:
    nested = V4.replace(
        '<Property Name="text" Type="Edm.String"/></EntityType>',
        '<Property Name="text" Type="Edm.String"/>'
        '<NavigationProperty Name="files" Type="Collection(self.file)" ContainsTarget="true"/>'
        '<NavigationProperty Name="replies" Type="Collection(self.note)" ContainsTarget="true"/></EntityType>'
        '<EntityType Name="file" BaseType="self.entity"><Property Name="size" Type="Edm.Int64"/></EntityType>',
    ).replace(
        '<NavigationProperty Name="profile"',
        '<NavigationProperty Name="friends" Type="Collection(self.customer)"/><NavigationProperty Name="profile"',
    )
    before, _ = read(tmp_path, V4)
    tools, rejected = read(tmp_path, nested)
    assert rejected == []
    added = [id_ for id_ in tools if id_ not in before]
    assert added == [
        "query_customers_friends",
        "query_me_friends",
        "query_customers_notes_files",
        "read_customers_notes_files",
        "query_customers_notes_replies",
        "read_customers_notes_replies",
    ], "each navigation property is followed once, and a note of a note ends"
    file = tools["read_customers_notes_files"]
    assert call(file).path == "/customers({customer_id})/notes({note_id})/files({id})"
    assert [each.name for each in call(file).arguments][:3] == ["customer_id", "note_id", "id"]
    assert [need.tool for need in file.depends_on] == ["query_customers", "query_customers_notes"]
    assert call(tools["query_customers_friends"]).path == "/customers({customer_id})/friends"


@pytest.mark.parametrize(
    ("type_", "version", "literal", "good", "bad"),
    [
        ("Edm.Int32", "v4", False, 7, 2**31),
        ("Edm.Byte", "v2", True, 255, 256),
        ("Edm.Int64", "v2", False, "7", 7),
        ("Edm.Int64", "v2", True, 7, "x"),
        ("Edm.Decimal", "v2", False, "123.45", "1234.5"),
        ("Edm.Decimal", "v4", False, 999.99, 1_000),
        ("Edm.Boolean", "v4", False, True, "true"),
        ("Edm.String", "v4", False, "abcde", "abcdef"),
        ("Edm.DateTime", "v2", False, "/Date(1356998400000)/", "2024-01-31"),
        ("Edm.DateTime", "v2", True, "2024-01-31T10:00:00", "/Date(1356998400000)/"),
        ("Edm.DateTimeOffset", "v2", False, "2024-01-31T10:00:00Z", "2024-01-31T10:00:00"),
        ("Edm.TimeOfDay", "v4", True, "10:00:00", "ten"),
        ("Edm.GeographyPoint", "v4", False, {"type": "Point", "coordinates": [1, 2]}, "POINT"),
    ],
)
def test_primitive_types(type_: str, version: str, literal: bool, good: Any, bad: Any) -> None:
    facets = Property(name="x", type=type_, max_length=5, precision=5, scale=2)
    validator = Draft202012Validator(primitive_schema(type_, facets, version=version, literal=literal))
    assert validator.is_valid(good) and not validator.is_valid(bad)
