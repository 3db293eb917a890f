"""Unanswerable requests: each has a reason, and none is made of what a document hints at."""

from collections import Counter
from dataclasses import replace

import pytest

from datagen.requests import SyntheticRequest, ToolPath
from datagen.unanswerable import UnanswerableRequest, UnanswerableRequests, make_unanswerable
from ontology import Parameter, Tool
from tests.datagen.catalogues import catalogue_of

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
    return make_unanswerable(catalogue_of([GET, LIST, *tools]), [ASKED], count, seed=seed)


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


def test_the_object_is_one_that_requests_name_and_that_has_identifiers() -> None:
    assert make_unanswerable(catalogue_of([GET, LIST]), [], 600, seed=0).requests
    for requests, tools in (([], (GET, LIST)), ([ASKED], (replace(GET, parameters=()), replace(LIST, parameters=())))):
        found = make_unanswerable(catalogue_of(tools), requests, 600, seed=0)
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
