"""Which tools cannot supply a value, and which are nearest to the consumer."""

from __future__ import annotations

import pytest

from ingest.linking.derive import derive_edges
from ingest.linking.resource_names import named_collection
from ingest.linking.value_kinds import agreement, kinds_of
from ontology import Parameter, Tool, load_ontology
from tests.ingest.linking.test_rp_edges import pairs, tool

ONTOLOGY = load_ontology()


def http(method: str, path: str, *outputs: str, body: tuple[Parameter, ...] = (), name: str = "") -> Tool:
    places = [part.split("}")[0] for part in path.split("{")[1:]]
    return Tool(
        id=f"{method} {path}",
        name=name or f"{method} {path}",
        parameters=(*(Parameter(name=place, required=True, location="path") for place in places), *body),
        returns=tuple(Parameter(name=output) for output in outputs),
        metadata={"path": path, "method": method, "namespace": "acme"},
    )


def suppliers(tools: list[Tool], of: str, parameter: str) -> set[str]:
    edges = [edge for edge in derive_edges(tools, ONTOLOGY) if edge.predicate == "supplies"]
    return {edge.source for edge in edges if edge.target == of and edge.parameter == parameter}


def test_a_supplier_does_not_need_the_value_itself() -> None:
    tools = [
        tool("ListRoles", "", "Roles[].RoleName"),
        tool("GetRolePolicy", "RoleName PolicyName", "RoleName PolicyName"),
        tool("DeleteRole", "RoleName"),
    ]
    assert pairs(tools) >= {("ListRoles", "DeleteRole")}
    assert ("GetRolePolicy", "DeleteRole") not in pairs(tools)


def test_only_an_input_that_must_be_given_is_the_value_itself() -> None:
    for need, expected in (("role_name", False), ("role_name?", True), ("role_path", True)):
        tools = [tool("find_roles", need, "roles[].role_name"), tool("delete_role", "role_name")]
        assert (("find_roles", "delete_role") in pairs(tools)) == expected, need


def test_the_value_itself_may_have_another_name() -> None:
    one = http("GET", "/roles/{role_id}", "id", "name")
    all_ = http("GET", "/roles", "roles[].id")
    change = http("DELETE", "/roles/{role}")
    assert suppliers([one, change], change.id, "role") == set()
    assert suppliers([one, all_, change], change.id, "role") == {all_.id}


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_the_network_of_a_gateway_is_not_that_of_another_gateway(method: str) -> None:
    body = (Parameter(name="network_id", required=True, location="body"),)
    change = http(method, "/gateways" if method == "POST" else "/gateways/{gateway_id}", body=body)
    gateways = http("GET", "/gateways", "gateways[].id", "gateways[].network_id")
    networks = http("GET", "/networks", "networks[].id")
    assert suppliers([gateways, change], change.id, "network_id") == set()
    assert suppliers([gateways, networks, change], change.id, "network_id") == {networks.id}


def test_an_item_comes_from_the_list_of_its_own_collection() -> None:
    tools = [
        http("GET", "/groups/{group_id}/events", "value[].id"),
        http("GET", "/users/{user_id}/events", "value[].id"),
        http("GET", "/me/events", "value[].id"),
        http("DELETE", "/groups/{group_id}/events/{id}"),
    ]
    assert suppliers(tools, "DELETE /groups/{group_id}/events/{id}", "id") == {"GET /groups/{group_id}/events"}


def test_an_arn_is_not_an_id() -> None:
    tools = [
        tool("list_policies", "", "policies[].policy_id policies[].policy_arn"),
        tool("attach_policy", "policy_arn"),
    ]
    (edge,) = [edge for edge in derive_edges(tools, ONTOLOGY) if edge.predicate == "supplies"]
    assert edge.output == "policies[].policy_arn"


def test_a_key_that_is_not_called_id_is_the_objects() -> None:
    tools = [
        http("GET", "/teams", "[].slug", "[].name"),
        http("GET", "/teams/{team}/members", "members[].username"),
    ]
    assert suppliers(tools, "GET /teams/{team}/members", "team") == {"GET /teams"}


def test_the_customer_of_a_charge_is_a_reference() -> None:
    tools = [
        http("GET", "/customers", "data[].id", "data[].email"),
        http("GET", "/charges", "data[].id", "data[].customer.id"),
        http("GET", "/customers/{customer}/cards", "data[].id"),
    ]
    assert suppliers(tools, "GET /customers/{customer}/cards", "customer") == {"GET /customers"}


def test_the_key_of_what_is_created_comes_from_nowhere() -> None:
    body = (Parameter(name="queue_name", required=True, location="body"),)
    tools = [
        http("GET", "/queues", "queues[].queue_name"),
        http("POST", "/queues", "queue_name", body=body, name="create_queue"),
        http("DELETE", "/queues/{queue_name}"),
    ]
    assert suppliers(tools, "POST /queues", "queue_name") == set()
    assert suppliers(tools, "DELETE /queues/{queue_name}", "queue_name") >= {"GET /queues"}


def test_a_person_in_a_role_is_reached_by_what_returns_an_address() -> None:
    tools = [
        Tool(
            id="find_employee",
            name="find_employee",
            parameters=(Parameter(name="query", required=True),),
            returns=(Parameter(name="employees[].email_address"),),
        ),
        tool("invite", "participant_email"),
    ]
    assert ("find_employee", "invite") in pairs(tools)


def test_the_callers_own_record_resolves_the_callers_id() -> None:
    tools = [
        Tool(id="get_my_profile", name="get_my_profile", returns=(Parameter(name="employeeId"),)),
        tool("list_absences", "employeeId"),
    ]
    edges = [edge for edge in derive_edges(tools, ONTOLOGY) if edge.predicate == "resolved_by"]
    assert [(edge.source, edge.target) for edge in edges] == [("list_absences", "get_my_profile")]


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


def test_kinds_agree_or_not() -> None:
    arn, id_, name, nothing = frozenset({"arn"}), frozenset({"id"}), frozenset({"name"}), frozenset[str]()
    assert agreement(arn, id_) == 0.0
    assert agreement(arn, name | arn) == agreement(nothing, arn) == agreement(id_, frozenset({"integer"})) == 1.0
    assert 0 < agreement(id_, name) < 1


@pytest.mark.parametrize(
    ("pattern", "description", "collection"),
    [
        ("^projects/[^/]+/snapshots/[^/]+$", "", "snapshots"),
        ("", "Format is `projects/{project}/snapshots/{snap}`.", "snapshots"),
        ("", "Format: properties/{property_id}", "properties"),
        ("", "Either and/or both.", ""),
        ("[a-z]+", "", ""),
    ],
)
def test_resource_names(pattern: str, description: str, collection: str) -> None:
    assert named_collection(pattern, description) == collection
