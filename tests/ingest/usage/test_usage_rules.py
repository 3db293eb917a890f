"""Usage lines by rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from egotools import UsageLine, UsageLines
from ingest.usage.action_phrase import ActionPhrase, action_phrase
from ingest.usage.usage_rules import MAX_REQUESTS, MIN_REQUESTS, usage_by_rules
from ontology import Parameter, Tool, load_ontology
from ontology.names import noun_lemma, verb_lemma, words
from ontology.tool_text import tool_text
from ontology.usage_json import usage_from_json, usage_to_json
from tests.conftest import ROOT

ONTOLOGY = load_ontology()
WORD_FILES = (ROOT / "ontology" / "verb_phrases.yaml", ROOT / "ingest" / "usage" / "usage_phrases.yaml")
RULE_WORDS = frozenset(
    "to the get list search create update delete act this deprecated at least most characters items".split()
)


def usage(tool: Tool) -> UsageLines:
    return usage_by_rules(tool, ONTOLOGY)


def texts(lines: tuple[UsageLine, ...]) -> list[str]:
    return [line.text for line in lines]


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_of(inner)
    else:
        yield str(value)


def _forms(word: str) -> set[str]:
    return {word, noun_lemma(word), verb_lemma(word)}


LISTED = {
    form
    for file in WORD_FILES
    for text in _texts_of(yaml.safe_load(Path(file).read_text(encoding="utf-8")))
    for word in words(text)
    for form in _forms(word)
} | RULE_WORDS


def document_words(tool: Tool) -> set[str]:
    parts = [tool.id, tool.name, tool.title, tool.description, str(dict(tool.metadata))]
    parts += [f"{parameter.name} {parameter.bounds}" for parameter in tool.parameters]
    return {form for part in parts for word in words(part) for form in _forms(word)}


NAMES = st.one_of(
    st.builds(
        lambda verb, things, tail, join: join.join([*verb, *things, *tail]),
        st.sampled_from([["get"], ["list"], ["cancel"], ["bulk", "update"], ["send"], ["frobnicate"], [], ["search"]]),
        st.lists(
            st.sampled_from("order orders supplier invoice status v2 my all details Größe 注文".split()), max_size=4
        ),
        st.sampled_from([[], ["by", "customer"], ["for", "me"], ["all"]]),
        st.sampled_from(["_", "-", " ", "."]),
    ).filter(lambda name: bool(name.strip("_-. "))),
    st.text(min_size=1, max_size=20).filter(lambda name: bool(name.strip())),
)
DESCRIPTIONS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            [
                "Gets the orders of a customer.",
                "Use this when the customer asks for a refund.",
                "Only open orders are returned!",
                "At most 50 rows.",
                "* **Deprecated**: see `list_orders`.",
                "Requires an active session\n",
                "List Of Invoices",
            ]
        ),
        max_size=4,
    ).map(" ".join),
)
PARAMETERS = st.lists(
    st.builds(
        Parameter,
        name=st.sampled_from(["order_id", "customerId", "limit", "q"]),
        required=st.booleans(),
        bounds=st.sampled_from([(), (("minimum", 1), ("maximum", 100)), (("maxLength", 5),), (("multipleOf", 2),)]),
    ),
    max_size=3,
).map(tuple)
TOOLS = st.builds(
    Tool,
    id=st.sampled_from(["a/b", "注文/取得"]),
    name=NAMES,
    description=DESCRIPTIONS,
    parameters=PARAMETERS,
    metadata=st.sampled_from(
        [{}, {"title": "Read the price"}, {"path": "/orders/{id}", "method": "get"}, {"deprecated": True}]
    ),
)


@given(TOOLS)
def test_every_tool_has_four_to_eight_requests_about_its_object(tool: Tool) -> None:
    requests = texts(usage(tool).requests)
    assert MIN_REQUESTS <= len(requests) <= MAX_REQUESTS
    assert len(set(requests)) == len(requests)
    phrase = action_phrase(tool, ONTOLOGY)
    front, _, last = phrase.thing.rpartition(" ")
    synonym = yaml.safe_load(WORD_FILES[1].read_text(encoding="utf-8"))["synonyms"].get(noun_lemma(last))
    things = {phrase.thing, phrase.described, f"{front} {synonym}".strip()} - {""}
    assert phrase.thing
    assert [request for request in requests if not any(thing in request for thing in things)] == []


@given(TOOLS)
def test_rules_name_no_word_that_is_neither_in_the_document_nor_in_the_lists(tool: Tool) -> None:
    lines = usage(tool)
    known = document_words(tool) | LISTED
    for line in (*lines.when_to_use, *lines.limitations, *lines.requests):
        assert [word for word in words(line.text) if not _forms(word) & known] == []


@given(TOOLS)
def test_a_quote_is_letter_by_letter_what_the_document_has_at_its_place(tool: Tool) -> None:
    lines = usage(tool)
    for line in (*lines.when_to_use, *lines.limitations, *lines.requests):
        if line.origin == "document":
            assert tool.description[line.start : line.end] == line.text
        else:
            assert (line.origin, line.start, line.end) == ("rule", -1, -1)
            assert line.source.startswith("rules.v1 ")


@given(TOOLS)
def test_lines_are_the_same_each_time_and_survive_their_json_form(tool: Tool) -> None:
    assert usage(tool) == usage(tool)
    assert usage_from_json(usage_to_json(usage(tool))) == usage(tool)


@given(TOOLS)
def test_lines_do_not_change_the_text_that_is_indexed(tool: Tool) -> None:
    before = tool_text(tool), tool.canonical_json()
    usage(tool)
    assert (tool_text(tool), tool.canonical_json()) == before


def test_sentences_that_say_when_and_what_not_are_quoted() -> None:
    description = "Refunds an order. Use this when a customer sends goods back. Only paid orders can be refunded. See also: orders."
    lines = usage(Tool(id="s/refund_order", name="refund_order", description=description))
    assert texts(lines.when_to_use) == ["Use this when a customer sends goods back."]
    assert texts(lines.limitations) == ["Only paid orders can be refunded."]
    assert {line.origin for line in (*lines.when_to_use, *lines.limitations)} == {"document"}


@pytest.mark.parametrize(
    "sentence",
    [
        "Please use the curl command below to try it.",
        "Use limit and offset to page through the orders.",
        "Use the offset query parameter to get the next results.",
        "Use the page token for the next call.",
        "Use this command to execute it.",
        "Call it with a request body to filter.",
    ],
)
def test_a_sentence_that_says_how_a_request_is_written_does_not_say_when(sentence: str) -> None:
    lines = usage(Tool(id="s/refund_order", name="refund_order", description=f"Refunds an order. {sentence}"))
    assert texts(lines.when_to_use) == ["To refund the order."]


@pytest.mark.parametrize(
    "sentence", ["Use this when a customer exceeds the credit limit.", "Use this to search for a page in the wiki."]
)
def test_words_of_paging_may_be_of_the_business(sentence: str) -> None:
    lines = usage(Tool(id="s/x", name="raise_limit", description=f"Raises it. {sentence}"))
    assert texts(lines.when_to_use) == [sentence]


def test_the_object_of_a_made_line_does_not_begin_with_its_verb() -> None:
    lines = usage(Tool(id="s/x", name="record_supplier_invoice", description="Record a supplier invoice."))
    assert texts(lines.when_to_use) == ["To record the supplier invoice."]
    assert not any("record the record" in text or "record a new record" in text for text in texts(lines.requests))


def test_without_such_a_sentence_verb_and_object_say_when() -> None:
    lines = usage(Tool(id="s/refund_order", name="refund_order", description="Refunds an order."))
    assert texts(lines.when_to_use) == ["To refund the order."]
    assert lines.when_to_use[0].source == "rules.v1 verb-object"
    assert lines.limitations == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "Does not return archived orders.",
        "You can't undo this.",
        "At most 50 rows are returned.",
        "This endpoint is deprecated.",
        "Requires the admin role.",
        "Returns up to 100 results.",
        "Fails if the order is closed.",
    ],
)
def test_a_sentence_on_what_it_cannot_is_a_limitation(sentence: str) -> None:
    lines = usage(Tool(id="s/x", name="get_order", description=f"Gets an order. {sentence}"))
    assert texts(lines.limitations) == [sentence]


def test_bounds_and_deprecation_are_limitations_by_rule() -> None:
    parameters = (
        Parameter(name="limit", bounds=(("minimum", 1), ("maximum", 100))),
        Parameter(name="q"),
        Parameter(name="amount", bounds=(("maximum", 1e7), ("multipleOf", 5))),
        Parameter(name="note", bounds=(("maxLength", 2_000_000),)),
    )
    lines = usage(Tool(id="s/x", name="list_orders", parameters=parameters, metadata={"deprecated": True}))
    assert texts(lines.limitations) == [
        "Deprecated.",
        "limit: at least 1, at most 100",
        "amount: at most 10000000",
        "note: at most 2000000 characters",
    ]
    assert [line.source for line in lines.limitations] == ["rules.v1 deprecated", *["rules.v1 bounds"] * 3]


@pytest.mark.parametrize(
    ("name", "description", "expected"),
    [
        ("cancelOrder", "", ActionPhrase(kind="delete", verb="cancel", thing="order")),
        ("list_orders_by_customer", "", ActionPhrase(kind="list", verb="list", thing="orders", tail="by customer")),
        ("orders.list", "", ActionPhrase(kind="list", verb="list", thing="orders")),
        ("core_memory_retrieve_all", "", ActionPhrase(kind="get", verb="retrieve", thing="core memory")),
        ("weather", "", ActionPhrase(kind="get", verb="", thing="weather")),
        (
            "FindProvider",
            "Search for a hair stylist located in a city.",
            ActionPhrase(kind="search", verb="find", thing="provider", described="hair stylist"),
        ),
    ],
)
def test_the_verb_and_the_object_of_a_name(name: str, description: str, expected: ActionPhrase) -> None:
    assert action_phrase(Tool(id="s/x", name=name, description=description), ONTOLOGY) == expected


def test_requests_vary_the_verb_and_the_object() -> None:
    parameters = (Parameter(name="account_id", required=True),)
    lines = usage(Tool(id="s/x", name="cancel_customer_booking", parameters=parameters))
    requests = texts(lines.requests)
    assert any("call off the customer booking" in request for request in requests)
    assert any("customer reservation" in request for request in requests)
    assert any("for this account" in request for request in requests)
