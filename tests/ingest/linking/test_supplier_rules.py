"""Which tools cannot supply a value, the kinds of values and names of resources, and the registered labels of hosts."""

import pytest

from ingest.linking.identifiers import RESOURCE_NAME, IdentifierReader, kinds_of
from ingest.linking.subjects import registered_label
from ontology import Parameter, load_ontology
from tests.ingest.linking.test_rp_edges import pairs, tool


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
