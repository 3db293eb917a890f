"""The rules extractor: worked example, language, hazards, determinism."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.extract.extractor import Extraction
from ingest.extract.object_names import parse_title
from ingest.extract.rules_extractor import RulesExtractor
from ingest.extract.structure import field_texts
from ingest.extract.triple_validation import validate
from ontology import Parameter, Tool, canonical_name, load_ontology

ONTOLOGY = load_ontology()
REMINDER = Tool(
    id="send_task_deadline_reminder",
    name="Send Task Deadline Reminder to Team Members",
    description="Sends an automated email reminder to team members responsible for tasks nearing their deadline.",
    parameters=(
        Parameter(
            name="priority_filter",
            description="Filters for high-priority tasks requiring immediate attention.",
            type="enum",
            enum=("High", "Medium", "Low"),
        ),
        Parameter(
            name="recipient_list",
            description="Email addresses of team members assigned to tasks, extracted from task_list_upcoming_deadlines.",
            type="list<user_email>",
        ),
    ),
)


@pytest.fixture(scope="module")
def rules() -> RulesExtractor:
    return RulesExtractor(ONTOLOGY)


def one(rules: RulesExtractor, tool: Tool) -> Extraction:
    (extraction,) = rules.extract([tool])
    return validate(tool, extraction.triples, ONTOLOGY)


def said(rules: RulesExtractor, text: str, name: str = "x1") -> set[tuple[str, str, str]]:
    """Canonical ``(head, predicate, tail)`` of a tool with this description."""
    tool = Tool(id="the tool", name=name, description=text)
    return {(canonical_name(t.head), t.predicate, canonical_name(t.tail)) for t in one(rules, tool).triples}


def tails(rules: RulesExtractor, text: str, predicate: str) -> set[str]:
    return {tail for _, of, tail in said(rules, text) if of == predicate}


def test_the_worked_example_of_the_paper(rules: RulesExtractor) -> None:
    extraction = one(rules, REMINDER)
    found = {(canonical_name(t.head), t.predicate, canonical_name(t.tail)) for t in extraction.triples}
    tool = canonical_name(REMINDER.id)
    wanted = {"task", "deadline", "task deadline reminder", "automated email reminder", "team member", "email address"}
    assert wanted <= {tail for head, predicate, tail in found if (head, predicate) == (tool, "has_entity")}
    assert (tool, "has_capability", "send email reminder") in found
    assert ("send email reminder", "acts_on", "email reminder") in found
    assert {(tool, "has_parameter", "priority filter"), (tool, "has_parameter", "recipient list")} <= found
    assert {("priority filter", "has_value", value) for value in ("high", "medium", "low")} <= found
    assert ("recipient list", "refers_to", "recipient") in found
    assert not extraction.rejected


DONE = {
    "Fetches the books of an author": "fetch book",
    "List orders": "list order",
    "Get details about a user": "get user",
    "Get recently played tracks": "get track",
    "Returns a list of all airports.": "return airport",
    "Cancel the whole reservation.": "cancel reservation",
    "Allows users to log notes about workouts": "log note",
    "This endpoint creates a purchase order.": "create purchase order",
    "Search for flights by origin": "search flight",
    "Retrieving all invoices of a supplier": "retrieve invoice",
    "Create or update a customer": "update customer",
    "Tracks lease dates for the tenant.": "track lease date",
    "Updates a user's password.": "update password",
    "Sends customers' invoices": "send invoice",
    "Gets the details of the user's playlists": "get playlist",
    "Lists, creates, and deletes orders.": "create order",
    "You can also list orders": "list order",
    "This endpoint will delete the account.": "delete account",
}


def test_what_operations_do(rules: RulesExtractor) -> None:
    assert [text for text in DONE if DONE[text] not in tails(rules, text, "has_capability")] == []


@pytest.mark.parametrize(
    "text, absent",
    [
        ("Returns a list of results in the response", {"list", "result", "response"}),
        ("See https://example.org/orders/list?x=1 for **details**.", {"http", "org", "order", "detail"}),
        ("<p>Gets the <b>shipment</b></p>", {"p", "b"}),
        ("In order to do this, wait", {"order"}),
        ("The 25 first of these", {"25", "first"}),
    ],
)
def test_what_names_nothing_is_no_entity(rules: RulesExtractor, text: str, absent: set[str]) -> None:
    assert not tails(rules, text, "has_entity") & absent


@pytest.mark.parametrize(
    "text, nothing_of",
    [
        ("You need not cancel orders.", "cancel order"),
        ("If there is no user, the function will return an error message.", "return error message"),
        ("The user will receive a follow-up email.", "receive email"),
    ],
)
def test_what_a_tool_does_not_do_is_no_capability(rules: RulesExtractor, text: str, nothing_of: str) -> None:
    assert nothing_of not in tails(rules, text, "has_capability")


@pytest.mark.parametrize(
    "name, capabilities, things",
    [
        ("listPurchaseOrders", ("list purchase order",), ("purchase order",)),
        ("send_reminder_to_team_members", ("send reminder",), ("reminder", "team member")),
        ("createOrUpdateCustomer", ("create customer", "update customer"), ("customer",)),
        ("file_delete", ("delete file",), ("file",)),
        ("getMovieById", ("get movie",), ("movie",)),
        ("lufthansa_select_seat", ("select seat",), ("seat",)),
        ("purchase_order", (), ("purchase order",)),
        ("purchase_order_item_approve", ("approve purchase order item",), ("purchase order item",)),
        ("x1", (), ()),
        ("", (), ()),
    ],
)
def test_names_written_as_code(name: str, capabilities: tuple[str, ...], things: tuple[str, ...]) -> None:
    title = parse_title(name, {})
    assert title.capabilities == capabilities
    assert tuple(thing for thing in (title.target, *title.others) if thing)[: len(things)] == things


def test_spans_point_into_the_original_text(rules: RulesExtractor) -> None:
    text = "  Intro.\n\n## Use\nFetches the **overdue invoices** of a [supplier](https://x.y) by name."
    tool = Tool(id="t", name="x1", description=text)
    spans = {
        canonical_name(t.tail): text[t.provenance.start : t.provenance.end]
        for t in one(rules, tool).triples
        if t.predicate == "has_entity"
    }
    assert spans["overdue invoice"] == "overdue invoices"
    assert spans["supplier"] == "supplier"
    capability = next(t for t in one(rules, tool).triples if t.predicate == "has_capability")
    assert text[capability.provenance.start : capability.provenance.end].startswith("Fetches the")


@settings(max_examples=60)
@given(
    name=st.text(min_size=1, max_size=40),
    description=st.text(max_size=400)
    | st.lists(
        st.sampled_from(
            "Get list the order of a supplier, 😀 订单 managed by #1. `id` <b> Sends items' to https://a.b/c for \n\n | x".split(
                " "
            )
        ),
        max_size=40,
    ).map(" ".join),
    parameter=st.text(min_size=1, max_size=20),
)
def test_any_text_gives_sound_triples(rules: RulesExtractor, name: str, description: str, parameter: str) -> None:
    tool = Tool(
        id="t1",
        name=name,
        description=description,
        parameters=(Parameter(name=parameter, description=description[::-1], enum=(name,)),),
    )
    triples = one(rules, tool).triples
    keys = [
        (t.head_type, _canonical(t.head, t.head_type), t.predicate, t.tail_type, _canonical(t.tail, t.tail_type))
        for t in triples
    ]
    assert len(keys) == len(set(keys))
    for t in triples:
        same_node = (t.head_type, canonical_name(t.head)) == (t.tail_type, canonical_name(t.tail))
        assert not same_node
        assert 0 <= t.confidence <= 1
        assert t.provenance.tool_id == "t1"
        assert ONTOLOGY.allows(t.head_type, t.predicate, t.tail_type)
        at = t.provenance
        assert (at.start, at.end) == (-1, -1) or any(
            0 <= at.start < at.end <= len(text) for text in field_texts(tool)[at.field]
        )


def _canonical(name: str, kind: str) -> str:
    return name if kind == "tool" else canonical_name(name, ONTOLOGY.abbreviations)
