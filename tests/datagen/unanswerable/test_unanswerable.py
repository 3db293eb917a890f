"""Unanswerable requests: each has a reason, and none is made of what a document hints at."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from datagen.synthetic_request import SyntheticRequest
from datagen.tool_path import ToolPath
from datagen.unanswerable import UnanswerableRequest, UnanswerableRequests, make_unanswerable
from ontology import Parameter, Tool
from ontology.yaml_data import read_yaml
from research.confidence.unserved import background_lines
from research.enterprise_benchmark import read_rows
from tests.conftest import ROOT
from tests.datagen.llm.shop import catalogue

FOLDER = ROOT / "datagen" / "unanswerable"
GET = Tool(
    id="shop/get_order",
    name="get_order",
    description="Returns one purchase.",
    parameters=(Parameter(name="order_id", required=True),),
    metadata={"title": "Get order", "namespace": "shop"},
)
LIST = replace(GET, id="shop/list_orders", name="list_orders", metadata={"title": "List orders", "namespace": "shop"})
ASKED = SyntheticRequest(
    id="1", text="Where is my order 4411?", request_class="single-intent", path=ToolPath(tools=(GET.id,))
)


def other(name: str, description: str = "Does it.", *inputs: str) -> Tool:
    parameters = tuple(Parameter(name=one) for one in inputs)
    return Tool(
        id=f"desk/{name}", name=name, description=description, parameters=parameters, metadata={"namespace": "desk"}
    )


def made(*tools: Tool, count: int = 600, seed: int = 0) -> UnanswerableRequests:
    return make_unanswerable(catalogue(GET, LIST, *tools), [ASKED], count, seed=seed)


def of(found: UnanswerableRequests, kind: str, subject: str) -> list[UnanswerableRequest]:
    return [one for one in found.requests if one.kind == kind and f"'{subject}'" in one.reason]


def test_three_kinds_are_made_in_equal_numbers_each_with_its_reason() -> None:
    found = made(count=30)
    assert Counter(one.kind for one in found.requests) == {"missing-action": 10, "other-domain": 10, "chit-chat": 10}
    assert len({one.id for one in found.requests}) == len({one.text for one in found.requests}) == 30
    for one in found.requests:
        assert one.reason and not one.reason.endswith(".") and "{" not in one.text
        row = one.to_json()
        assert (row["tools"], row["class"], row["query"]) == ([], "none", one.text)
    assert made(count=30) == found
    assert made(count=30, seed=1) != found


def test_a_kind_for_which_nothing_was_found_is_named_with_the_reason() -> None:
    assert made(count=30).absent == ()
    found = made(other("answer_guest", "Has a conversation with them."), count=30)
    assert {one.kind for one in found.requests} == {"missing-action", "other-domain"}
    assert found.absent == (
        "no request is of the kind chit-chat "
        "(small talk is left out: desk/answer_guest may answer it, its document mentions 'has a conversation')",
    )


def test_a_word_of_the_documents_removes_the_messages_that_a_tool_for_it_could_serve() -> None:
    every, found = made(), made(other("list_conversations", "Lists the conversations of a ticket."))
    before, after = ({one.text for one in made.requests if one.kind == "chit-chat"} for made in (every, found))
    assert after < before
    assert before - after == {
        message["text"]
        for message in read_yaml(FOLDER / "small_talk.yaml")["messages"]
        if "conversation" in message.get("signs", ())
    }
    assert len(after) > 30
    assert found.absent == ()
    assert any("the documents mention 'conversation'" in reason for reason in found.left_out)


def test_a_sign_of_several_words_stands_in_one_document_as_it_is() -> None:
    apart = made(other("one", "You can have a look."), other("two", "A conversation ends."))
    together = made(other("talk", "Lets guests have a conversation."))
    for found, there in ((apart, True), (together, False)):
        assert any(one.kind == "chit-chat" for one in found.requests) is there


def test_a_sign_among_thousands_of_inputs_is_read() -> None:
    inputs = [f"a_long_name_of_the_input_with_number_{number}" for number in range(1_000)]
    assert not of(made(other("form", "Does it.", *inputs, "weather")), "other-domain", "weather")


@pytest.mark.parametrize(
    ("action", "tool"),
    [
        ("delete", other("cancel_order", "Cancels it.")),  # a synonym, in a name
        ("delete", other("write_back", "Sets the status of an order to cancelled.")),  # in a description
        ("print", other("render_things", "Makes a paper of an order.")),
        ("watch", other("tell_me", "Sends you a notification about orders.")),
        ("delete", other("delete_record", "Deletes any of them.")),  # for objects of any kind
        ("translate", replace(GET, id="shop/x", name="translate_reviews")),  # another object of the same system
        ("predict", other("outlook_per_month", "For orders.", "forecast")),  # an input
    ],
)
def test_an_action_that_a_tool_may_serve_is_not_missing(action: str, tool: Tool) -> None:
    assert of(made(), "missing-action", action)
    assert not of(made(tool), "missing-action", action)


def test_a_tool_for_another_object_of_another_system_serves_nothing_here() -> None:
    assert of(made(other("translate_poem", "Turns a poem into another tongue.")), "missing-action", "translate")


def test_the_object_is_one_that_requests_name_and_that_has_identifiers() -> None:
    assert make_unanswerable(catalogue(GET, LIST), [], 600, seed=0).requests
    for requests, tools in (([], (GET, LIST)), ([ASKED], (replace(GET, parameters=()), replace(LIST, parameters=())))):
        found = make_unanswerable(catalogue(*tools), requests, 600, seed=0)
        assert not [one for one in found.requests if one.kind == "missing-action"]


@pytest.mark.parametrize(
    ("domain", "tool"),
    [
        ("weather", other("is_it_wet", "Says whether there is rain.")),
        ("pets", other("find_walker", "For each dog.")),
        ("music", other("play", "Plays a track of an artist.")),  # two hints
        ("arithmetic", other("ask", "Finds answers with a search engine.")),  # of the web
        ("small talk", other("chatbot")),
    ],
)
def test_a_domain_that_a_document_mentions_is_left_out_with_the_reason(domain: str, tool: Tool) -> None:
    kind = "chit-chat" if domain == "small talk" else "other-domain"
    without, found = made(), made(tool)
    assert [
        one for one in without.requests if one.kind == kind and (kind == "chit-chat" or f"'{domain}'" in one.reason)
    ]
    assert not [
        one for one in found.requests if one.kind == kind and (kind == "chit-chat" or f"'{domain}'" in one.reason)
    ]
    assert any(domain in reason for reason in found.left_out)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("tierarzt_buchen", "Bucht einen Termin beim Tierarzt für die Katze oder den Hund."),
        ("reservar_veterinario", "Reserva una cita con el veterinario para el gato o el perro."),
        ("umow_weterynarza", "Umawia wizytę u weterynarza dla kota lub psa."),
        ("预约兽医", "为宠物猫狗预约兽医看诊和打疫苗。"),
        ("book_it", "为宠物猫狗预约兽医看诊和打疫苗。"),
        ("xq7", ""),
    ],
)
def test_nothing_is_said_to_be_missing_where_a_document_cannot_be_read(name: str, description: str) -> None:
    tool = replace(other(name, description), id=name)
    found = made(tool)
    assert not found.requests, "it may be a tool for pets"
    assert len(found.left_out) == 1 and "plain English" in found.left_out[0]


def test_of_many_documents_a_few_may_be_jargon() -> None:
    jargon = other("adjust", "Readjusts ephemeral photomultipliers.")
    found = made(*(replace(jargon, id=f"desk/{number}") for number in range(3)))
    assert not found.requests and "3 of 5 tools" in found.left_out[0]
    english = [
        other(name, "Says how much is left.") for name in ("show_stock", "show_rest", "show_budget", "show_area")
    ]
    for few in (jargon, other("list_orders", "WOs"), other("x17", "")):
        assert made(few, *english).requests


def test_one_tool_in_another_language_may_serve_what_the_others_do_not() -> None:
    english = [other(f"show_{number}", "Says how much is left.") for number in range(100)]
    for described in (
        "Bucht einen Termin beim Tierarzt für die Katze oder den Hund.",
        "为宠物猫狗预约兽医看诊和打疫苗。",
    ):
        found = made(*english, other("book_it", described))
        assert not found.requests and "book_it" in found.left_out[0]


def test_one_hint_alone_is_no_domain() -> None:
    assert of(made(other("track", "Follows a thing.")), "other-domain", "music")


def test_no_domain_would_serve_its_own_sentences_by_a_word_that_is_no_sign_of_it() -> None:
    for domain in read_yaml(FOLDER / "other_domains.yaml")["domains"]:
        assert domain["signs"] and domain["hints"] and len(domain["requests"]) > 1
        assert not set(domain["signs"]) & set(domain["hints"])


def test_no_sentence_is_one_of_those_that_measure_or_fit_abstention() -> None:
    files: list[Path] = [*(ROOT / "examples" / "unserved").glob("*.jsonl")]
    files += [
        ROOT / "examples" / "real" / "unanswerable.jsonl",
        ROOT / "examples/enterprise/benchmark/unanswerable.jsonl",
    ]
    known = {row["query"].lower() for file in files for row in read_rows(file)}
    known |= {line.lower() for name in ("talk", "tasks") for line in background_lines(name)}
    assert len(known) > 300
    assert sorted(known & {one.text.lower() for one in made().requests}) == []
