"""OData v2 and v4: sets, contained collections, operations, navigation, annotations, and documents that are broken; schemas and calls of
their tools: types and facets of EDM, keys, filters, functions and actions.
"""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from egotools.call import Call
from ingest.sources.odata.source import ODataSource
from ingest.sources.odata.types import Property, primitive_schema
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Dependency, Tool
from tests.ingest.sources import read_file

V2 = """<?xml version="1.0" encoding="utf-8"?>
<edmx:Edmx Version="1.0" xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx"
    xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
    xmlns:sap="http://www.sap.com/Protocols/SAPData">
 <edmx:DataServices m:DataServiceVersion="2.0">
  <Schema Namespace="WAREHOUSE" xmlns="http://schemas.microsoft.com/ado/2008/09/edm">
   <EntityType Name="A_StockOrderType" sap:label="Stock Order">
    <Key><PropertyRef Name="StockOrder"/></Key>
    <Property Name="StockOrder" Type="Edm.String" Nullable="false" sap:label="Stock Order" sap:updatable="false"/>
    <Property Name="Plant" Type="Edm.String" Nullable="false" sap:label="Plant" sap:quickinfo="Plant that receives"/>
    <Property Name="CreatedAt" Type="Edm.DateTime" sap:creatable="false" sap:updatable="false" sap:filterable="false"/>
    <Property Name="Address" Type="WAREHOUSE.Address"/>
    <NavigationProperty Name="to_Item" Relationship="WAREHOUSE.OrderItem" FromRole="Order" ToRole="Item"/>
   </EntityType>
   <EntityType Name="A_StockOrderItemType">
    <Key><PropertyRef Name="StockOrder"/><PropertyRef Name="StockOrderItem"/></Key>
    <Property Name="StockOrder" Type="Edm.String" Nullable="false"/>
    <Property Name="StockOrderItem" Type="Edm.String" Nullable="false"/>
    <Property Name="Quantity" Type="Edm.Decimal">
     <Documentation><Summary>How much is  wanted.</Summary><LongDescription/></Documentation>
    </Property>
   </EntityType>
   <ComplexType Name="Address"><Property Name="City" Type="Edm.String"/></ComplexType>
   <Association Name="OrderItem">
    <End Type="WAREHOUSE.A_StockOrderType" Multiplicity="1" Role="Order"/>
    <End Type="WAREHOUSE.A_StockOrderItemType" Multiplicity="*" Role="Item"/>
    <ReferentialConstraint>
     <Principal Role="Order"><PropertyRef Name="StockOrder"/></Principal>
     <Dependent Role="Item"><PropertyRef Name="StockOrder"/></Dependent>
    </ReferentialConstraint>
   </Association>
   <EntityContainer Name="C">
    <EntitySet Name="A_StockOrder" EntityType="WAREHOUSE.A_StockOrderType" sap:deletable="false" sap:searchable="true"/>
    <EntitySet Name="A_StockOrderItem" EntityType="WAREHOUSE.A_StockOrderItemType" sap:addressable="false"
      sap:creatable="true" sap:updatable="false"/>
    <AssociationSet Name="OI" Association="WAREHOUSE.OrderItem">
     <End EntitySet="A_StockOrder" Role="Order"/><End EntitySet="A_StockOrderItem" Role="Item"/>
    </AssociationSet>
    <FunctionImport Name="ReleaseOrder" ReturnType="WAREHOUSE.Address" m:HttpMethod="POST">
     <Parameter Name="StockOrder" Type="Edm.String" Mode="In"/>
     <Parameter Name="Note" Type="Edm.String" Mode="In" Nullable="true"/>
    </FunctionImport>
   </EntityContainer>
  </Schema>
 </edmx:DataServices>
</edmx:Edmx>"""

V4 = """<?xml version="1.0"?>
<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx">
 <edmx:Reference Uri="x"><edmx:Include Namespace="Org.OData.Core.V1" Alias="Words"/></edmx:Reference>
 <edmx:DataServices>
  <Schema Namespace="shop.sales" Alias="self" xmlns="http://docs.oasis-open.org/odata/ns/edm">
   <EnumType Name="State"><Member Name="open"/><Member Name="closed"/></EnumType>
   <TypeDefinition Name="Money" UnderlyingType="Edm.Decimal"/>
   <ComplexType Name="Node"><Property Name="Label" Type="Edm.String"/><Property Name="Next" Type="self.Node"/></ComplexType>
   <EntityType Name="entity" Abstract="true"><Key><PropertyRef Name="id"/></Key>
    <Property Name="id" Type="Edm.String" Nullable="false"/></EntityType>
   <EntityType Name="customer" BaseType="self.entity">
    <Property Name="name" Type="Edm.String" Nullable="false"><Annotation Term="Words.Description" String="Legal name"/></Property>
    <NavigationProperty Name="notes" Type="Collection(self.note)" ContainsTarget="true"/>
    <NavigationProperty Name="profile" Type="self.profile" ContainsTarget="true"/>
   </EntityType>
   <EntityType Name="order" BaseType="self.entity">
    <Property Name="customerId" Type="Edm.String" Nullable="false"/>
    <Property Name="state" Type="self.State"/>
    <Property Name="total" Type="self.Money"><Annotation Term="Org.OData.Core.V1.Computed" Bool="true"/></Property>
    <Property Name="tags" Type="Collection(Edm.String)"/>
    <Property Name="chain" Type="Collection(self.Node)"/>
    <NavigationProperty Name="customer" Type="self.customer">
     <ReferentialConstraint Property="customerId" ReferencedProperty="id"/>
    </NavigationProperty>
   </EntityType>
   <EntityType Name="note" BaseType="self.entity"><Property Name="text" Type="Edm.String"/></EntityType>
   <EntityType Name="profile" BaseType="self.entity"><Property Name="bio" Type="Edm.String"/></EntityType>
   <Action Name="cancel" IsBound="true"><Parameter Name="it" Type="self.order"/>
    <Parameter Name="reason" Type="Edm.String" Nullable="false"/><ReturnType Type="self.order"/></Action>
   <Action Name="cancel" IsBound="true"><Parameter Name="it" Type="self.order"/></Action>
   <Function Name="recent" IsBound="true"><Parameter Name="all" Type="Collection(self.order)"/>
    <Parameter Name="days" Type="Edm.Int32"/><ReturnType Type="Collection(self.order)"/></Function>
   <Function Name="ping"><ReturnType Type="Edm.Boolean"/></Function>
   <EntityContainer Name="C">
    <EntitySet Name="customers" EntityType="self.customer"/>
    <EntitySet Name="orders" EntityType="self.order">
     <NavigationPropertyBinding Path="customer" Target="customers"/>
     <Annotation Term="Org.OData.Capabilities.V1.DeleteRestrictions">
      <Record><PropertyValue Property="Deletable" Bool="false"/></Record></Annotation>
    </EntitySet>
    <Singleton Name="me" Type="self.customer"/>
    <FunctionImport Name="ping" Function="self.ping"/>
   </EntityContainer>
   <Annotations Target="self.cancel(self.order, Edm.String)">
    <Annotation Term="Org.OData.Core.V1.Description" String="Cancels an order for a reason"/></Annotations>
   <Annotations Target="self.customer/notes">
    <Annotation Term="Org.OData.Capabilities.V1.InsertRestrictions">
     <Record><PropertyValue Property="Insertable" Bool="false"/></Record></Annotation></Annotations>
  </Schema>
 </edmx:DataServices>
</edmx:Edmx>"""


def read(folder: Path, text: str | bytes, name: str = "service.edmx") -> tuple[dict[str, Tool], list[RejectedRecord]]:
    return read_file(ODataSource(), folder / name, text)


def inputs(tool: Tool) -> dict[str, bool]:
    return {parameter.name: parameter.required for parameter in tool.parameters}


def outputs(tool: Tool) -> list[str]:
    return [output.name for output in tool.returns]


def test_v2_tools_that_capabilities_allow_with_inputs_outputs_and_texts(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path, V2)
    assert rejected == []
    assert list(tools) == [
        *(f"{verb}_A_StockOrder" for verb in ("query", "read", "create", "update")),
        *("create_A_StockOrderItem", "delete_A_StockOrderItem", "ReleaseOrder"),
    ]
    query = tools["query_A_StockOrder"]
    assert query.title == "Query stock order"
    assert query.metadata["entity"] == "stock order"
    assert {"$filter", "$search", "$orderby", "$top", "$skip", "$select", "$expand", "Plant"} <= set(inputs(query))
    assert "CreatedAt" not in inputs(query)
    assert outputs(query)[0] == "value[].StockOrder"
    read_ = tools["read_A_StockOrder"]
    assert inputs(read_)["StockOrder"] is True
    assert outputs(read_) == ["StockOrder", "Plant", "CreatedAt", "Address", "Address.City"]
    assert read_.returns[1].description == "Plant that receives"
    assert (read_.returns[2].type, read_.returns[2].format) == ("string", "date-time")
    # A lone key is given by the server; both keys of an item have to be said.
    optional = {"Address": False, "Address.City": False}
    assert inputs(tools["create_A_StockOrder"]) == {"StockOrder": False, "Plant": True, **optional}
    item = tools["create_A_StockOrderItem"]
    assert inputs(item) == {"StockOrder": True, "StockOrderItem": True, "Quantity": False}
    assert item.parameters[2].description == "How much is wanted"
    assert inputs(tools["update_A_StockOrder"]) == {"StockOrder": True, "Plant": False, **optional}
    assert tools["update_A_StockOrder"].metadata["path"] == "/A_StockOrder({StockOrder})"
    assert tools["delete_A_StockOrderItem"].metadata["method"] == "DELETE"
    release = tools["ReleaseOrder"]
    assert inputs(release) == {"StockOrder": True, "Note": False}
    assert outputs(release) == ["City"]
    assert release.metadata["method"] == "POST"
    assert release.metadata["service"] == "WAREHOUSE"


def test_v2_navigation_becomes_dependencies(tmp_path: Path) -> None:
    readable = V2.replace('sap:addressable="false"', "")
    tools, _ = read(tmp_path, readable)
    item = partial(Dependency, parameter="StockOrder", reason="navigation to_Item")
    assert tools["read_A_StockOrder"].depends_on == (item(tool="read_A_StockOrderItem", output="StockOrder"),)
    creation = tools["create_A_StockOrderItem"]
    assert creation.depends_on == (item(tool="query_A_StockOrder", output="value[].StockOrder"),)
    hidden, _ = read(tmp_path, V2)
    assert hidden["read_A_StockOrder"].depends_on == ()  # nothing reads the items


def test_v4_sets_singletons_and_contained_collections(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path, V4)
    assert rejected == []
    assert list(tools) == [
        *(f"{verb}_customers" for verb in ("query", "read", "create", "update", "delete")),
        *(f"{verb}_customers_notes" for verb in ("query", "read", "update", "delete")),
        *("read_customers_profile", "update_customers_profile"),
        *(f"{verb}_orders" for verb in ("query", "read", "create", "update")),
        *("read_me", "update_me"),
        *(f"{verb}_me_notes" for verb in ("query", "read", "update", "delete")),
        *("read_me_profile", "update_me_profile", "ping", "order.cancel", "order.recent"),
    ]
    note = tools["read_customers_notes"]
    assert {name: required for name, required in inputs(note).items() if required} == {"customer_id": True, "id": True}
    assert note.title == "Read note of a customer"
    assert note.metadata["path"] == "/customers({customer_id})/notes({id})"
    assert note.depends_on == (
        Dependency(
            tool="query_customers", parameter="customer_id", output="value[].id", reason="contained in customers"
        ),
    )
    assert "customer_id" not in inputs(tools["read_me_notes"])
    assert tools["read_me_notes"].depends_on == ()


def test_v4_types_enums_inheritance_and_cycles(tmp_path: Path) -> None:
    tools, _ = read(tmp_path, V4)
    order = {output.name: output for output in tools["read_orders"].returns}
    assert order["state"].enum == ("open", "closed")
    assert (order["total"].type, order["total"].format) == ("number", "decimal")
    assert order["tags"].type == "array"
    assert [name for name in order if name.startswith("chain")] == ["chain", "chain[].Label", "chain[].Next"]
    assert inputs(tools["create_orders"])["customerId"] is True
    assert "total" not in inputs(tools["create_orders"])
    assert tools["create_customers"].parameters[1].description == "Legal name"
    assert tools["create_orders"].depends_on == (
        Dependency(tool="query_customers", parameter="customerId", output="value[].id", reason="navigation customer"),
    )
    followed = Dependency(tool="read_customers", reason="navigation customer", required=False)
    assert followed in tools["read_orders"].depends_on


def test_an_operation_bound_to_a_base_type_is_called_below_a_set_of_a_derived_one(tmp_path: Path) -> None:
    bound = """<Action Name="archive" IsBound="true"><Parameter Name="it" Type="self.entity"/></Action>
      <Function Name="newest" IsBound="true"><Parameter Name="all" Type="Collection(self.entity)"/><ReturnType Type="self.entity"/></Function>
      <Function Name="ping">"""
    tools, rejected = read(tmp_path, V4.replace('<Function Name="ping">', bound))
    archive, newest = tools["entity.archive"], tools["entity.newest"]
    assert rejected == [] and archive.call is not None and newest.call is not None
    assert archive.call.path == "/customers({entity_id})/shop.sales.archive"
    assert [(each.name, each.required) for each in archive.parameters] == [("entity_id", True)]
    assert newest.call.path == "/customers/shop.sales.newest()"


def test_a_type_defined_nowhere_refuses_only_the_tools_that_need_it(tmp_path: Path) -> None:
    tools, rejected = read(
        tmp_path, V4.replace('Name="chain" Type="Collection(self.Node)"', 'Name="chain" Type="self.Gone"')
    )
    assert Counter(record.reason for record in rejected) == {"dangling-type": 6}
    assert {record.subject.partition("#")[2] for record in rejected} == {
        "query_orders",
        "read_orders",
        "create_orders",
        "update_orders",
        "order.cancel",
        "order.recent",
    }
    assert "shop.sales.Gone" in rejected[0].detail
    assert "read_customers" in tools


BOMB = """<?xml version="1.0"?>
<!DOCTYPE bomb [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<Edmx><Schema Namespace="&b;"/></Edmx>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
<Edmx><Schema Namespace="&secret;"/></Edmx>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "entities"),
        (OUTSIDE, "entities"),
        ("", "empty"),
        ("  \n", "empty"),
        ("<Edmx>\n<Schema>\n</Edmx>", "broken.edmx:3: invalid XML"),
        ("<Edmx></Edmx>", "no Schema"),
        (b"<Edmx>\n\xff\xfe</Edmx>", "broken.edmx:2: invalid XML"),
        (b'<?xml version="1.0" encoding="no-such"?><Edmx/>', "invalid XML"),
        ("{}", "broken.edmx:1: invalid XML"),
    ],
)
def test_broken_documents_are_refused_with_the_reason(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text, "broken.edmx")
    assert said in str(caught.value)
    assert str(caught.value).startswith("broken.edmx")


def test_utf_16_and_metadata_without_a_telling_name_are_known(tmp_path: Path) -> None:
    wide = V2.replace('encoding="utf-8"', 'encoding="utf-16"').encode("utf-16")
    tools, _ = read(tmp_path, wide, "metadata.xml")
    assert "read_A_StockOrder" in tools


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
