"""Which triples hold: one test for each reason to reject, and that nothing true is rejected."""

from collections.abc import Sequence

import pytest

from ingest.extract.triple_validation import validate
from ontology import Dependency, Parameter, Tool, load_ontology
from tests.ingest import triple

ONTOLOGY = load_ontology()
TOOL = Tool(
    id="crm/send_reminder",
    name="send_reminder",
    description="Sends reminders to the suppliers of an open PO.",
    parameters=(
        Parameter(name="supplier_id", description="The id of the supplier"),
        Parameter(name="priority", enum=("High", "Low")),
    ),
    returns=(Parameter(name="reminder_id"),),
    depends_on=(Dependency(tool="crm/list_suppliers"),),
    metadata={"line_of_business": "Procurement"},
)


GOOD = ("reminder", "business_object", "sent_to", "supplier", "business_object")


def reason(
    ends: Sequence[str], *, field: str = "description", span: tuple[int, int] = (-1, -1), confidence: float = 0.5
) -> str:
    head, head_type, predicate, tail, tail_type = ends
    types = head_type, tail_type
    one = triple(head, predicate, tail, types=types, confidence=confidence, tool=TOOL.id, field=field, span=span)
    found = validate(TOOL, [one], ONTOLOGY)
    assert (one in found.triples) + len(found.rejected) == 1
    return found.rejected[0].reason if found.rejected else ""


REASONS = {
    ("reminder", "business_object", "sent_to", "supplier", "business_object"): "",
    ("Reminders", "business_object", "sent_to", "SUPPLIER", "business_object"): "",
    ("open purchase order", "business_object", "has_attribute", "supplier", "business_object"): "",
    ("open PO", "business_object", "has_attribute", "supplier", "business_object"): "",
    (TOOL.id, "tool", "has_capability", "send reminder", "capability"): "",
    (TOOL.id, "tool", "has_parameter", "supplier id", "parameter"): "",
    (TOOL.id, "tool", "returns", "reminder_id", "parameter"): "",
    (TOOL.id, "tool", "has_line_of_business", "procurement", "line_of_business"): "",
    (TOOL.id, "tool", "depends_on", "crm/list_suppliers", "tool"): "",
    ("priority", "parameter", "has_value", "high", "value"): "",
    ("supplier_id", "parameter", "identifies", "supplier", "business_object"): "",
    ("reminder", "gizmo", "sent_to", "supplier", "business_object"): "unknown-type",
    ("reminder", "business_object", "teleports", "supplier", "business_object"): "unknown-predicate",
    (TOOL.id, "tool", "supplies", "crm/list_suppliers", "tool"): "derived-predicate",
    ("reminder", "business_object", "has_parameter", "supplier_id", "parameter"): "outside-domain",
    ("reminder", "business_object", "sent_to", "invoice", "business_object"): "no-evidence",
    (TOOL.id, "tool", "has_capability", "cancel reminder", "capability"): "no-evidence",
    (TOOL.id, "tool", "has_parameter", "reminder_id", "parameter"): "contradicts-declared",
    (TOOL.id, "tool", "returns", "supplier_id", "parameter"): "contradicts-declared",
    (TOOL.id, "tool", "has_line_of_business", "open", "line_of_business"): "contradicts-declared",
    ("crm/list_suppliers", "tool", "depends_on", TOOL.id, "tool"): "tool-misplaced",
    ("priority", "parameter", "has_value", "open", "value"): "contradicts-declared",
    ("po", "parameter", "has_value", "open", "value"): "contradicts-declared",
    ("order_id", "parameter", "identifies", "supplier", "business_object"): "contradicts-declared",
    ("Supplier", "business_object", "contains", "suppliers", "business_object"): "self-loop",
    ("!!!", "business_object", "contains", "supplier", "business_object"): "empty-name",
    ("other tool", "tool", "has_entity", "supplier", "business_object"): "tool-misplaced",
    ("supplier", "business_object", "related_to", TOOL.id, "tool"): "outside-domain",
    ("supplier", "business_object", "related_to", TOOL.name, "business_object"): "tool-misplaced",
}


def test_each_reason_to_refuse_and_what_the_document_says_is_kept() -> None:
    assert {ends: reason(ends) for ends in REASONS} == REASONS


@pytest.mark.parametrize("confidence", [1.5, float("nan")])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    assert reason(GOOD, confidence=confidence) == "confidence-range"


@pytest.mark.parametrize(
    "field, span",
    [
        ("description", (0, 10_000)),
        ("description", (5, 5)),
        ("description", (-3, 4)),
        ("parameters.priority", (0, 1)),
        ("parameters.nothing", (-1, -1)),
        ("nowhere", (-1, -1)),
    ],
)
def test_evidence_lies_in_its_field(field: str, span: tuple[int, int]) -> None:
    assert reason(GOOD, field=field, span=span) == "span-outside-field"
