"""Drafts by a chat model over HTTP: what it may say, what is refused, and what stays of the rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

from inference.openai_client import OpenAIChat
from inference.retry import RetryPolicy
from planners.graphseek.catalog import check_catalog
from planners.graphseek.draft import LlmDraft, draft_by_llm, draft_by_rules
from planners.stores.graph_schema import GraphSchema, RelationshipEnds, RelationshipType
from tests.harness.chat import Body, ChatServer, Reply, chat_server
from tests.planners.graphseek.catalog.some_types import key, node

_CENSUS = GraphSchema(
    nodes=(
        node(
            "Car", key("price", "number", count=100, distinct=90, least=1, greatest=5), key("hue", samples=("a{0}b",))
        ),
        node("Van"),
    ),
    relationships=(
        RelationshipType(name="BUILT_AT", ends=(RelationshipEnds(source="Car", target="Van", count=3),), count=3),
    ),
)
_RULES = draft_by_rules(_CENSUS)
_GOOD: Mapping[str, Mapping[str, Any]] = {
    "Car": {"description": "A car.", "words": ["Auto", "auto", "van"], "properties": {"price": "What it costs."}},
    "Van": {"description": "A\u200b van\n", "words": [], "properties": {}},
    "BUILT_AT": {"description": "Where", "forward": ["made at"], "backward": ["makes"], "properties": {}},
}


def _of(body: Body) -> str:
    """The type that a request is about: it begins the fenced data."""
    user = str(body["messages"][1]["content"])
    return next(name for name in _GOOD if f"---\n{name}" in user)


def _drafted(glossary: Mapping[str, str] | None = None, **changed: Any) -> tuple[LlmDraft, ChatServer]:
    """Draft with a model that answers by type: a value, or a list of which each is said once and the last again."""
    given = {**_GOOD, **changed}
    answers = {name: list(each) if isinstance(each, list) else [each] for name, each in given.items()}

    def reply(body: Body, _: int) -> Reply:
        left = answers[_of(body)]
        said = left.pop(0) if len(left) > 1 else left[0]
        return said if isinstance(said, Reply) else Reply(text=said if isinstance(said, str) else json.dumps(said))

    with chat_server(reply) as server:
        policy = RetryPolicy(max_retries=0, base_delay_s=0.001, max_delay_s=0.002)
        model = OpenAIChat("m", base_url=server.base_url, policy=policy)
        return draft_by_llm(_CENSUS, model, glossary=glossary or {}), server


def test_descriptions_and_words_are_the_models_and_all_else_is_of_the_rules() -> None:
    made, server = _drafted()
    car, rules = made.catalog.nodes["Car"], _RULES.nodes["Car"]
    assert made.problems == () and not made.catalog.accepted and server.hits == 3
    assert (car.description, car.words) == ("A car (100 nodes)", ("car", "auto")), "van is the word of another type"
    assert car.properties["price"].description == "What it costs: 1 to 5"
    assert car.properties["key"] == rules.properties["key"] and car.properties["key"].role == "key"
    assert made.catalog.nodes["Van"].description == "A van (100 nodes)"
    built = made.catalog.relationships["BUILT_AT"]
    assert (built.forward, built.backward) == (("built at", "made at"), ("builds", "makes"))
    assert check_catalog(made.catalog, _CENSUS) == ()


_REFUSED = {
    "an unknown property": ({**_GOOD["Car"], "properties": {"weight": "heavy"}}, "'weight' was unexpected"),
    "a long text": ({**_GOOD["Car"], "description": "a" * 201}, "it is outside the schema at ['description']"),
    "a member that is missing": ({"description": "A car"}, "'words' is a required property"),
    "prose": ("Sure! A car is a car.", "it is not one JSON object"),
}


@pytest.mark.parametrize(("answer", "problem"), _REFUSED.values(), ids=list(_REFUSED))
def test_a_refused_answer_is_asked_for_again_and_then_left(answer: Any, problem: str) -> None:
    made, server = _drafted(Car=[answer, _GOOD["Car"]])
    assert made.problems == () and made.catalog.nodes["Car"].words == ("car", "auto")
    assert problem in server.requests[1]["messages"][3]["content"]
    made, server = _drafted(Car=answer)
    assert made.catalog.nodes["Car"] == _RULES.nodes["Car"] and server.hits == 4
    (told,) = made.problems
    assert told.startswith("Car: the model's answer was rejected twice") and problem in told
