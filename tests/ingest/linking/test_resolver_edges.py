"""Resolver edges: which tool turns words into the identifier that another needs; and which parameters are identifiers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.linking.derive import derive_edges
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.identifiers import Identifier, IdentifierReader
from ingest.linking.resolver_edges import MAX_RESOLVERS
from ontology import Parameter, Tool, load_ontology
from tests.ingest.linking.test_rp_edges import links, tool

ONTOLOGY = load_ontology()


def _identifier(owner: Tool, parameter: Parameter) -> Identifier | None:
    return IdentifierReader(owner, ONTOLOGY).identifier(parameter)


def resolvers(tools: list[Tool], of: str) -> list[DerivedEdge]:
    return [edge for edge in links(tools, "resolved_by") if edge.source == of]


def test_a_search_resolves_the_identifier_that_a_sibling_needs() -> None:
    tools = [
        tool("search_person", "query page?", "results[].id results[].name", path="/search/person", method="GET"),
        tool("search_movie", "query page?", "results[].id results[].title", path="/search/movie", method="GET"),
        tool("movie_credits", "person_id", "cast[].id", path="/person/{person_id}/movie_credits", method="GET"),
        tool("credits", "movie_id", "cast[].id", path="/movie/{movie_id}/credits", method="GET"),
    ]
    assert [(e.target, e.parameter, e.output, e.entity) for e in resolvers(tools, "movie_credits")] == [
        ("search_person", "person_id", "results[].id", "person")
    ]
    assert [e.target for e in resolvers(tools, "credits")] == ["search_movie"]
    assert resolvers(tools, "search_movie") == []


def test_one_search_of_many_entities_resolves_each() -> None:
    tools = [
        tool("search", "q type?", "albums.items[].id artists.items[].id", path="/search", method="GET"),
        tool("get_artist", "artist_id"),
        tool("get_album", "album_id"),
    ]
    assert [(e.target, e.output) for e in resolvers(tools, "get_artist")] == [("search", "artists.items[].id")]
    assert [(e.target, e.output) for e in resolvers(tools, "get_album")] == [("search", "albums.items[].id")]


def test_search_before_query_with_filter_and_a_plain_list_takes_no_words() -> None:
    tools = [
        tool("list_suppliers", "", "suppliers[].supplier_id"),
        tool("list_suppliers_named", "name", "suppliers[].supplier_id"),
        tool("search_suppliers", "query", "suppliers[].supplier_id"),
        tool("create_supplier", "name", "supplier_id"),
        tool("block_supplier", "supplier_id"),
    ]
    found = resolvers(tools, "block_supplier")
    assert [e.target for e in found] == ["search_suppliers", "list_suppliers_named"]
    assert found[0].confidence > found[1].confidence > 0


def test_the_tool_about_an_entity_and_not_one_that_only_refers_to_it() -> None:
    tools = [
        tool("DescribeAddresses", "filters?", "Addresses[].AddressId Addresses[].VpcId"),
        tool("DescribeVpcs", "filters?", "Vpcs[].VpcId"),
        tool("CreateSubnet", "VpcId"),
        tool("ReleaseAddress", "AddressId"),
    ]
    assert [e.target for e in resolvers(tools, "CreateSubnet")] == ["DescribeVpcs"]


def test_an_optional_field_deep_in_a_body_is_not_asked_for() -> None:
    tools = [tool("search_users", "query", "users[].user_id"), tool("update_file", "lastModifiedBy.user_id? user_id?")]
    assert [e.parameter for e in resolvers(tools, "update_file")] == ["user_id"]


def test_undocumented_outputs_are_concluded_from_the_name() -> None:
    tools = [tool("find_customer", "email"), tool("get_customer_by_phone", "phone"), tool("get_bills", "customer_id")]
    found = resolvers(tools, "get_bills")
    assert {e.target for e in found} == {"find_customer", "get_customer_by_phone"}
    assert all(e.output == "" and e.entity == "customer" for e in found)


def test_a_tool_that_needs_the_same_identifier_resolves_nothing() -> None:
    tools = [tool("search_order", "order_id query", "order_id"), tool("ship_order", "order_id")]
    assert resolvers(tools, "ship_order") == []


def test_at_most_three_resolvers_are_kept() -> None:
    tools = [tool(f"search_orders_{n}", "query", "orders[].order_id") for n in range(9)] + [tool("ship", "order_id")]
    assert [e.target for e in resolvers(tools, "ship")] == [f"search_orders_{n}" for n in range(MAX_RESOLVERS)]


def test_an_order_is_a_sales_order_where_nothing_nearer_is() -> None:
    tools = [tool("search_sales_orders", "query", "items[].sales_order_id"), tool("ship", "order_id")]
    nearer = [tool("search_orders", "query", "items[].order_id")]
    (head,) = resolvers(tools, "ship")
    exact = resolvers(tools + nearer, "ship")[0]
    assert (head.target, exact.target) == ("search_sales_orders", "search_orders")
    assert exact.confidence > head.confidence


def in_path(name: str, path: str) -> tuple[Tool, Parameter]:
    parameter = Parameter(name=name, required=True, location="path")
    return Tool(id="t", name="t", parameters=(parameter,), metadata={"path": path, "method": "GET"}), parameter


@pytest.mark.parametrize(
    ("case", "entity", "field"),
    [
        (in_path("movie_id", "/movie/{movie_id}"), "movie", "id"),
        (in_path("id", "/v1/albums/{id}/tracks"), "album", "id"),
        (in_path("repo", "/repos/{owner}/{repo}"), "repository", "id"),
        (in_path("username", "/users/{username}"), "user", "name"),
        (in_path("name", "/api/v1/namespaces/{namespace}/pods/{name}"), "pod", "name"),
        (in_path("season_number", "/tv/{tv_id}/season/{season_number}"), "season", "number"),
    ],
)
def test_identifiers_by_path(case: tuple[Tool, Parameter], entity: str, field: str) -> None:
    found = _identifier(*case)
    assert found is not None
    assert (found.entity, found.field) == (entity, field)
    assert "path" in found.evidence


@pytest.mark.parametrize(
    ("parameter", "entity", "evidence"),
    [
        (Parameter(name="purchaseOrderId"), "purchase order", "name"),
        (Parameter(name="po_id"), "purchase order", "name"),
        (Parameter(name="from_account_id"), "account", "name"),
        (Parameter(name="item_ids", type="array"), "item", "name"),
        (Parameter(name="countryCode"), "country", "name"),
        (Parameter(name="lines[].product.id"), "product", "parent"),
        (
            Parameter(name="id", description="The unique ID of the customer who owns the line."),
            "customer",
            "description",
        ),
        (Parameter(name="customer", format="uuid"), "customer", "format"),
        (Parameter(name="assignee", description="ID of the user"), "assignee", "description"),
    ],
)
def test_identifiers_by_name_format_and_description(parameter: Parameter, entity: str, evidence: str) -> None:
    found = _identifier(Tool(id="t", name="t", parameters=(parameter,)), parameter)
    assert found is not None
    assert found.entity == entity
    assert evidence in found.evidence
    assert 0 < found.confidence <= 1


@pytest.mark.parametrize(
    "parameter",
    [
        Parameter(name="query"),
        Parameter(name="phone_number"),
        Parameter(name="api_key"),
        Parameter(name="zip_code"),
        Parameter(name="page_number", type="integer"),
        Parameter(name="has_id", type="boolean"),
        Parameter(name="order_id", enum=("a", "b")),
        Parameter(name="grid"),
        Parameter(name="email", description="Email of the customer"),
        Parameter(name="…"),
    ],
)
def test_what_identifies_nothing(parameter: Parameter) -> None:
    assert _identifier(Tool(id="t", name="t", parameters=(parameter,)), parameter) is None


def test_evidence_that_agrees_is_worth_more() -> None:
    plain = Parameter(name="order_id")
    said = Parameter(name="order_id", description="The ID of the order")
    owner = Tool(id="t", name="t")
    one, two = _identifier(owner, plain), _identifier(owner, said)
    assert one is not None and two is not None
    assert two.confidence > one.confidence


def test_the_films_of_a_real_specification(shared: Path) -> None:
    from ingest.sources import read_catalog

    tools = read_catalog([str(shared / "bench" / "restbench" / "tools.jsonl")]).tools
    resolved = {
        (edge.source.split("GET ", 1)[-1], edge.parameter): edge.target.split("GET ", 1)[-1]
        for edge in reversed([edge for edge in derive_edges(tools, ONTOLOGY) if edge.predicate == "resolved_by"])
    }
    assert resolved["/movie/{movie_id}/credits", "movie_id"] == "/search/movie"
    assert resolved["/person/{person_id}/movie_credits", "person_id"] == "/search/person"
    assert resolved["/tv/{tv_id}/season/{season_number}", "tv_id"] == "/search/tv"
    assert resolved["/collection/{collection_id}/images", "collection_id"] == "/search/collection"
    assert resolved["/artists/{id}/albums", "id"] == "/search"
