"""Resolver edges: which tool turns words into the identifier that another needs; which parameters are identifiers, and of what kind; which
tools cannot supply a value; and the registered labels of hosts.
"""

import pytest

from ingest.linking.edges import DerivedEdge
from ingest.linking.identifiers import RESOURCE_NAME, Identifier, IdentifierReader, kinds_of
from ingest.linking.subjects import registered_label
from ontology import Parameter, Tool, load_ontology
from tests.ingest.linking.test_rp_edges import links, pairs, tool

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


def test_at_most_three_resolvers_are_kept() -> None:
    tools = [tool(f"search_orders_{n}", "query", "orders[].order_id") for n in range(9)] + [tool("ship", "order_id")]
    assert [e.target for e in resolvers(tools, "ship")] == [f"search_orders_{n}" for n in range(3)]


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
        (Parameter(name="id", description="The ID of the customer who owns the line."), "customer", "description"),
        (Parameter(name="assignee", description="ID of the user"), "assignee", "description"),
        *((Parameter(name=name), "", "") for name in ("query", "phone_number", "api_key", "zip_code", "grid", "…")),
        (Parameter(name="page_number", type="integer"), "", ""),
        (Parameter(name="has_id", type="boolean"), "", ""),
        (Parameter(name="order_id", enum=("a", "b")), "", ""),
        (Parameter(name="email", description="Email of the customer"), "", ""),
    ],
)
def test_identifiers_by_name_and_description_and_none(parameter: Parameter, entity: str, evidence: str) -> None:
    found = _identifier(Tool(id="t", name="t", parameters=(parameter,)), parameter)
    assert (found.entity if found else "") == entity
    assert found is None or (evidence in found.evidence and 0 < found.confidence <= 1)


def test_a_supplier_does_not_need_the_value_itself() -> None:
    tools = [
        tool("ListRoles", "", "Roles[].RoleName"),
        tool("GetRolePolicy", "RoleName PolicyName", "RoleName PolicyName"),
        tool("DeleteRole", "RoleName"),
    ]
    assert pairs(tools) >= {("ListRoles", "DeleteRole")}
    assert ("GetRolePolicy", "DeleteRole") not in pairs(tools)


@pytest.mark.parametrize(
    ("parameter", "kinds"),
    [
        (Parameter(name="FunctionName", description="The name or ARN of the function."), {"name", "arn"}),
        (Parameter(name="recipient", description="Email address of the person"), {"email"}),
        (Parameter(name="id", type="integer"), {"id", "integer"}),
        (Parameter(name="PolicyArn"), {"arn"}),
        (Parameter(name="owner"), set()),
    ],
)
def test_kinds_of_values(parameter: Parameter, kinds: set[str]) -> None:
    assert kinds_of(parameter) == kinds


@pytest.mark.parametrize(
    ("pattern", "description", "collection"),
    [
        ("^projects/[^/]+/snapshots/[^/]+$", "", "snapshot"),
        ("", "Format is `projects/{project}/snapshots/{snap}`.", "snapshot"),
        ("", "Format: properties/{property_id}", "property"),
        ("", "Either and/or both.", ""),
        ("[a-z]+", "", ""),
    ],
)
def test_resource_names(pattern: str, description: str, collection: str) -> None:
    parameter = Parameter(name="parent", pattern=pattern, description=description)
    found = IdentifierReader(tool("list"), load_ontology()).identifier(parameter)
    assert (found.entity if found and found.field == RESOURCE_NAME else "") == collection


LABELS = {
    "https://api.acme.com/v1": "acme",
    "https://user@billing.acme.co.uk:8443/x": "acme",
    "blue-yonder.io": "blueyonder",
    "https://alpha.azurewebsites.net": "alpha",
    "https://eu.alpha.herokuapp.com": "alpha",
    "calendar.googleapis.com": "googleapis",
    "https://com.com": "com",
    "http://192.168.1.10/v1": "",
    "10.0.1.10": "",
    "http://localhost:80": "",
    "https://x.execute-api.eu-1.amazonaws.com": "",
    "": "",
    "crm": "",
}


def test_the_label_that_somebody_registered() -> None:
    assert {address: registered_label(address) for address in LABELS} == LABELS
