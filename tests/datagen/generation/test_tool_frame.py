"""The frames of tools."""

from __future__ import annotations

import pytest

from datagen.generation.lexicon import load_lexicon
from datagen.generation.tool_frame import ToolFrame, parse_tool
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of, enterprise


def _frame(tool_id: str) -> ToolFrame:
    frame = parse_tool(enterprise(), tool_id, load_lexicon())
    return frame


@pytest.mark.parametrize(
    ("tool", "kind", "noun", "identity", "owner"),
    [
        ("travel/submitExpenseReport", "act", "expense report", "reportId", ""),
        ("procurement/listQuotations", "list", "supplier quotation", "", "rfqId"),
        ("sales/createQuote", "create", "quote", "", "customerId"),
        ("hr/searchCandidates", "search", "candidate", "", ""),
        ("purchasing/delete_PurchaseOrderItem", "act", "purchase order item", "PurchaseOrderItem", "PurchaseOrder"),
        ("travel/approveTrip", "act", "trip", "tripId", ""),
        ("manufacturing/update_InspectionLots", "update", "inspection lot", "InspectionLotId", ""),
        ("finance/getPayment", "get", "payment", "paymentId", ""),
    ],
)
def test_the_frame_of_a_tool(tool: str, kind: str, noun: str, identity: str, owner: str) -> None:
    frame = _frame(tool)
    assert (frame.kind, frame.noun.key) == (kind, noun)
    assert (frame.identity.names[0] if frame.identity else "") == identity
    assert (frame.owner.names[0] if frame.owner else "") == owner


def _parsed(tool: Tool) -> ToolFrame:
    return parse_tool(catalogue_of(tool), tool.id, load_lexicon())


def _call(name: str, description: str, *inputs: str, path: str = "") -> Tool:
    parameters = tuple(Parameter(name=one, required=True, location="path" if path else "") for one in inputs)
    metadata = {"method": name[:3].upper(), "path": path} if path else {}
    return Tool(id="x", name=name, description=description, parameters=parameters, metadata=metadata)


@pytest.mark.parametrize(
    ("tool", "kind", "phrase", "preposition"),
    [
        (_call("addUserToGroup", "Adds a user to a group.", "userId", "groupId"), "act", "add ~", "to"),
        (
            _call("removeUserFromGroup", "Removes a user from the group.", "userId", "groupId"),
            "act",
            "remove ~",
            "from",
        ),
        (
            _call("listUserPolicies", "Lists all policies attached to the user.", "userId"),
            "list",
            "list ~",
            "attached to",
        ),
        (_call("assignIssue", "Assigns an issue to a user.", "issueId", "userId"), "act", "assign ~", "to"),
        (_call("headBucket", "Checks if a bucket exists.", "bucketName"), "get", "check whether ~ exists", ""),
    ],
    ids=lambda value: value.name if isinstance(value, Tool) else "",
)
def test_what_is_done_to_which_thing_and_to_what_it_belongs(
    tool: Tool, kind: str, phrase: str, preposition: str
) -> None:
    frame = _parsed(tool)
    assert (frame.kind, frame.preposition) == (kind, preposition)
    assert phrase in frame.phrases
