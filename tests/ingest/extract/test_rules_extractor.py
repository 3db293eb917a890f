"""The rules extractor and the paper's rules: worked example, language, hazards, determinism."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.extract.document_fields import field_texts
from ingest.extract.extractor import Extraction
from ingest.extract.rules_extractor import RulesExtractor
from ingest.extract.sentences import MAX_DESCRIPTION_CHARS, sentences
from ingest.extract.titles import parse_title
from ingest.extract.triple_rules import apply_triple_rules
from ingest.extract.triple_validation import validate
from ontology import InvalidArgumentError, Parameter, Provenance, Tool, Triple, canonical_name, load_ontology
from ontology.errors import CatalogError
from tests.harness.waiting import bounded_work

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
    return extraction


def said(rules: RulesExtractor, text: str, name: str = "x1") -> set[tuple[str, str, str]]:
    """Canonical ``(head, predicate, tail)`` of a tool with this description."""
    tool = Tool(id="the tool", name=name, description=text)
    return {(canonical_name(t.head), t.predicate, canonical_name(t.tail)) for t in one(rules, tool).triples}


def entities(rules: RulesExtractor, text: str) -> set[str]:
    return {tail for _, predicate, tail in said(rules, text) if predicate == "has_entity"}


def test_the_worked_example_of_the_paper(rules: RulesExtractor) -> None:
    extraction = one(rules, REMINDER)
    found = {(canonical_name(t.head), t.predicate, canonical_name(t.tail)) for t in extraction.triples}
    tool = canonical_name(REMINDER.id)
    wanted = {"task", "deadline", "task deadline reminder", "automated email reminder", "team member", "email address"}
    assert wanted <= {tail for head, predicate, tail in found if (head, predicate) == (tool, "has_entity")}
    assert (tool, "has_capability", "send email reminder") in found
    assert ("send email reminder", "acts_on", "email reminder") in found
    assert ("team member", "responsible_for", "task") in found
    assert ("team member", "assigned_to", "task") in found
    assert {(tool, "has_parameter", "priority filter"), (tool, "has_parameter", "recipient list")} <= found
    assert {("priority filter", "has_value", value) for value in ("high", "medium", "low")} <= found
    assert ("recipient list", "refers_to", "recipient") in found
    assert not extraction.rejected
    assert validate(REMINDER, extraction.triples, ONTOLOGY)[1] == []


@pytest.mark.parametrize(
    "text, capability",
    [
        ("Fetches the books of an author", "fetch book"),
        ("List orders", "list order"),
        ("Get details about a user", "get user"),
        ("Get recently played tracks", "get track"),
        ("Returns a list of all airports.", "return airport"),
        ("Cancel the whole reservation.", "cancel reservation"),
        ("Used to write notes to a file", "write note"),
        ("Allows users to log notes about workouts", "log note"),
        ("This endpoint creates a purchase order.", "create purchase order"),
        ("Search for flights by origin", "search flight"),
        ("Retrieving all invoices of a supplier", "retrieve invoice"),
        ("Create or update a customer", "update customer"),
        ("Tracks lease dates for the tenant.", "track lease date"),
    ],
)
def test_what_operations_do(rules: RulesExtractor, text: str, capability: str) -> None:
    assert capability in {tail for _, predicate, tail in said(rules, text) if predicate == "has_capability"}


@pytest.mark.parametrize(
    "text, relation",
    [
        ("Lists the items of an order", ("item", "part_of", "order")),
        ("Returns the department managed by an employee", ("department", "managed_by", "employee")),
        ("Get all invoices created for a supplier", ("invoice", "generated_for", "supplier")),
        ("Shows orders containing damaged goods", ("order", "contains", "goods")),
        ("Shows the customer's bills", ("customer", "has_attribute", "bill")),
        ("Sends the invoice to the customer", ("invoice", "sent_to", "customer")),
        ("A manager approves the leave request.", ("manager", "related_to", "leave request")),
    ],
)
def test_relations_are_mapped_onto_predicates(rules: RulesExtractor, text: str, relation: tuple[str, str, str]) -> None:
    assert relation in said(rules, text)


def test_the_raw_phrase_is_kept_and_what_nothing_fits_falls_back_with_less_confidence(rules: RulesExtractor) -> None:
    tool = Tool(id="t", name="x1", description="A manager approves the invoice. The invoice contains a discount.")
    found = {t.predicate: t for t in one(rules, tool).triples if t.head_type == "business_object"}
    assert found["related_to"].phrase == "approves"
    assert found["contains"].phrase == "contains"
    assert found["related_to"].confidence < found["contains"].confidence


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
    assert not entities(rules, text) & absent


@pytest.mark.parametrize(
    "text, nothing_of",
    [
        ("You need not cancel orders.", "cancel order"),
        ("If there is no user, the function will return an error message.", "return error message"),
        ("The user will receive a follow-up email.", "receive email"),
    ],
)
def test_what_a_tool_does_not_do_is_no_capability(rules: RulesExtractor, text: str, nothing_of: str) -> None:
    assert nothing_of not in {tail for _, predicate, tail in said(rules, text) if predicate == "has_capability"}


def test_literals_and_names_of_inputs_in_prose_are_no_entities(rules: RulesExtractor) -> None:
    inputs = (
        Parameter(name="origin", description="The code of the airport, such as 'JFK'."),
        Parameter(name="fieldManager", description="fieldManager is the actor that makes changes"),
    )
    tool = Tool(id="t", name="x1", parameters=inputs)
    found = {canonical_name(t.tail) for t in one(rules, tool).triples if t.predicate == "has_entity"}
    assert "airport" in found
    assert "jfk" not in found
    assert not any(t.head.lower() == "fieldmanager" and t.head_type == BO for t in one(rules, tool).triples)


def test_a_name_of_only_common_words_still_says_what_the_tool_is_about(rules: RulesExtractor) -> None:
    tool = Tool(id="t", name="get_current_date", description="Returns the current date.")
    assert ("has_entity", "date") in {(t.predicate, t.tail) for t in one(rules, tool).triples}


def test_compounds_stay_whole(rules: RulesExtractor) -> None:
    found = entities(rules, "Reads one purchase order item by its key.")
    assert "purchase order item" in found
    assert "item" not in found


def test_title_case_and_plain_prose_say_the_same(rules: RulesExtractor) -> None:
    assert entities(rules, "Get The Shipping Address Of A Customer") >= {"shipping address", "customer"}


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


def test_names_that_spell_a_path_are_about_its_last_thing(rules: RulesExtractor) -> None:
    tool = Tool(
        id="t",
        name="GET_movie-movie_id-keywords",
        parameters=(Parameter(name="movie_id", location="path"),),
        metadata={"path": "/movie/{movie_id}/keywords", "method": "GET"},
    )
    found = {(t.predicate, t.tail) for t in one(rules, tool).triples if t.head_type == "tool"}
    assert ("has_capability", "get keyword") in found
    assert {("has_entity", "keyword"), ("has_entity", "movie")} <= found


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


# The paper's rules


def triple(head: str, head_type: str, predicate: str, tail: str, tail_type: str, confidence: float = 0.5) -> Triple:
    provenance = Provenance(REMINDER.id, "description", "test.v1")
    return Triple(
        head=head,
        head_type=head_type,
        predicate=predicate,
        tail=tail,
        tail_type=tail_type,
        confidence=confidence,
        provenance=provenance,
    )


BO = "business_object"


def test_every_named_entity_gets_has_entity() -> None:
    extraction = apply_triple_rules(REMINDER, [triple("Team Members", BO, "responsible_for", "tasks", BO)], ONTOLOGY)
    assert {(t.tail, t.predicate) for t in extraction.triples if t.head_type == "tool"} == {
        ("Team Members", "has_entity"),
        ("tasks", "has_entity"),
    }


def test_what_another_has_predicate_ties_needs_no_has_entity() -> None:
    finance = triple(REMINDER.id, "tool", "has_line_of_business", "Finance", "line_of_business")
    assert apply_triple_rules(REMINDER, [finance], ONTOLOGY).triples == (finance,)


def test_of_duplicates_the_most_confident_stays() -> None:
    weak = triple("Team Members", BO, "responsible_for", "tasks", BO, 0.4)
    strong = triple("team member", BO, "responsible_for", "Task", BO, 0.9)
    kept = [
        t for t in apply_triple_rules(REMINDER, [weak, strong], ONTOLOGY).triples if t.predicate == "responsible_for"
    ]
    assert kept == [strong]


def test_the_tool_may_be_written_by_its_title() -> None:
    said = triple("send task deadline reminder to team members", "tool", "has_entity", "task", BO)
    assert [t.head for t in apply_triple_rules(REMINDER, [said], ONTOLOGY).triples] == [REMINDER.id]


@pytest.mark.parametrize(
    "bad, reason",
    [
        (triple("Task", BO, "contains", "tasks", BO), "self-loop"),
        (triple("!!!", BO, "contains", "tasks", BO), "empty-name"),
        (triple("task", BO, "contains", "deadline", BO, 1.5), "confidence-range"),
        (triple("task", BO, "contains", "deadline", BO, float("nan")), "confidence-range"),
        (triple(REMINDER.id, "tool", "contains", "task", BO), "tool-misplaced"),
        (triple("other tool", "tool", "has_entity", "task", BO), "tool-misplaced"),
        (triple("task", BO, "related_to", REMINDER.id, "tool"), "tool-misplaced"),
        (triple("task", BO, "related_to", REMINDER.name, BO), "tool-misplaced"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_reason(bad: Triple, reason: str) -> None:
    extraction = apply_triple_rules(REMINDER, [bad], ONTOLOGY)
    assert extraction.triples == ()
    assert [one.reason for one in extraction.rejected] == [reason]


def test_provenance_must_be_of_this_tool() -> None:
    elsewhere = Tool(id="elsewhere", name="elsewhere")
    extraction = apply_triple_rules(elsewhere, [triple("task", BO, "contains", "deadline", BO)], ONTOLOGY)
    assert [one.reason for one in extraction.rejected] == ["foreign-provenance"]


def test_a_parameter_may_refer_to_the_thing_it_is_named_after() -> None:
    tool = Tool(id=REMINDER.id, name="x1")
    said = triple("city", "parameter", "refers_to", "city", BO)
    assert said in apply_triple_rules(tool, [said], ONTOLOGY).triples


# Hazards


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
            0 <= at.start < at.end <= len(text) for text in field_texts(tool, at.field)
        )


@pytest.mark.parametrize(
    "text",
    [
        "Get orders of the supplier. " * 400_000,
        "x" * 10_000_000,
        "订单管理系统返回所有订单" * 800_000,
        "<" * 10_000_000,
        "[](" * 3_000_000,
        "a@" * 5_000_000,
        "😀" * 5_000_000,
        " \n" * 5_000_000,
    ],
    ids=["words", "one word", "Chinese", "angle", "links", "ats", "emoji", "blank"],
)
def test_ten_megabytes_are_read_with_bounded_work(rules: RulesExtractor, text: str) -> None:
    with bounded_work():
        extraction = one(
            rules, Tool(id="t", name="t", description=text, parameters=(Parameter(name="p", description=text),))
        )
        validate(Tool(id="t", name="t", description=text), extraction.triples, ONTOLOGY)
    assert len(extraction.triples) < 100


def test_only_the_window_of_a_description_is_parsed() -> None:
    text = "Gets the invoice. " * 20 + "x " * MAX_DESCRIPTION_CHARS + "Gets the aardvark."
    read = list(sentences(text, MAX_DESCRIPTION_CHARS))
    assert read
    assert not any("aardvark" in sentence.text for sentence in read)
    assert all(sentence.start < MAX_DESCRIPTION_CHARS for sentence in read)


def test_other_scripts_are_left_to_what_is_declared(rules: RulesExtractor) -> None:
    tool = Tool(id="t", name="查询订单", description="查询所有采购订单。", parameters=(Parameter(name="order_id"),))
    predicates = {t.predicate for t in one(rules, tool).triples}
    assert {"has_parameter", "identifies"} <= predicates
    assert "has_capability" not in predicates


# Determinism, models, workers


def tools() -> Iterator[Tool]:
    for number in range(300):
        yield Tool(
            id=f"tool {number}",
            name=f"list{['Orders', 'Invoices', 'Suppliers'][number % 3]}",
            description=f"Lists the items of order {number}. Sends the invoice to the customer's agent.",
            parameters=(Parameter(name="supplier_id", description=f"The ID of supplier {number % 7}"),),
        )


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.extract.rules_extractor._MAX_SEQUENTIAL_TOOLS", 0)
    catalog = list(tools())
    alone = list(RulesExtractor(ONTOLOGY, workers=1).extract(catalog))
    shared_out = list(RulesExtractor(ONTOLOGY, workers=2).extract(catalog))
    assert [extraction.tool_id for extraction in alone] == [tool.id for tool in catalog]
    assert alone == shared_out


def _workers() -> list[int]:
    """The process ids of the processes that extract."""
    return [process.pid for process in multiprocessing.active_children() if process.pid]


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.extract.rules_extractor._MAX_SEQUENTIAL_TOOLS", 0)
    monkeypatch.setattr("ingest.extract.rules_extractor._CHUNK", 20)
    catalog = list(tools())
    alone = list(RulesExtractor(ONTOLOGY, model="").extract(catalog))
    found = []
    for extraction in RulesExtractor(ONTOLOGY, workers=2, model="").extract(catalog):
        found.append(extraction)
        if len(found) in (1, 121):
            os.kill(_workers()[0], signal.SIGKILL)
    assert found == alone


@pytest.mark.slow
def test_processes_that_are_always_killed_are_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.extract.rules_extractor._MAX_SEQUENTIAL_TOOLS", 0)
    monkeypatch.setattr("ingest.extract.rules_extractor._init", _dies)
    with pytest.raises(CatalogError, match="killed 4 times") as refused:
        list(RulesExtractor(ONTOLOGY, workers=2, model="").extract(list(tools())[:30]))
    assert refused.value.subject == "tool 0"
    assert "--workers" in refused.value.remedy


def _dies(*_: object) -> None:
    """Runs in a child, at its start."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_each_tool_is_read_alone(rules: RulesExtractor) -> None:
    catalog = list(tools())[:40]
    together = list(rules.extract(catalog))
    assert together == [one(RulesExtractor(ONTOLOGY), catalog[0]), *(one(rules, tool) for tool in catalog[1:])]


def test_without_a_model_it_warns_once_and_still_finds_things(caplog: pytest.LogCaptureFixture) -> None:
    extractor = RulesExtractor(ONTOLOGY, model="")
    with caplog.at_level(logging.WARNING):
        first = list(extractor.extract([REMINDER]))
        second = list(extractor.extract([REMINDER]))
    assert first == second
    warnings = [record for record in caplog.records if "relations" in record.getMessage()]
    assert len(warnings) == 1
    predicates = {t.predicate for t in first[0].triples}
    assert {"has_parameter", "has_entity", "has_capability"} <= predicates
    assert "responsible_for" not in predicates


def test_the_fingerprint_follows_what_decides_the_triples(tmp_path: Path) -> None:
    other = tmp_path / "mine.yaml"
    other.write_text("name: mine\nextends: default\nabbreviations: {xyz: example}\n", encoding="utf-8")
    prints = {
        RulesExtractor(ONTOLOGY).fingerprint,
        RulesExtractor(ONTOLOGY, model="").fingerprint,
        RulesExtractor(load_ontology(other)).fingerprint,
    }
    assert len(prints) == 3
    assert RulesExtractor(ONTOLOGY, workers=2).fingerprint in prints
    assert RulesExtractor(ONTOLOGY).name == "rules.v1"


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_must_be_at_least_one(workers: int) -> None:
    with pytest.raises(InvalidArgumentError, match="workers"):
        RulesExtractor(ONTOLOGY, workers=workers)


@pytest.mark.shared
@pytest.mark.parametrize("bench", ["restbench", "gtc", "toollinkos"])
def test_real_documents_give_triples_that_hold(rules: RulesExtractor, shared: Path, bench: str) -> None:
    lines = (shared / "bench" / bench / "tools.jsonl").read_text(encoding="utf-8").splitlines()[:60]
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row["returns"] = [output for output in row.get("returns", ()) if output["name"]]
    catalog = [Tool.from_json(row) for row in rows]
    for tool, extraction in zip(catalog, rules.extract(catalog), strict=True):
        kept, rejected = validate(tool, extraction.triples, ONTOLOGY)
        assert kept
        assert rejected == []


def _canonical(name: str, kind: str) -> str:
    return name if kind == "tool" else canonical_name(name, ONTOLOGY.abbreviations)
