"""The short form of query graphs: every gold graph can be written in it, and its schema admits nothing that the domain lacks."""

from __future__ import annotations

import json
from datetime import date

import pytest
from jsonschema import Draft202012Validator

from planners.dfs.domain import read_domain
from planners.dfs.graph_match import same_graph
from planners.dfs.parsing.written_graph import WrittenGraph, written_schema
from planners.dfs.request_set import request_set

TODAY = date(2026, 2, 15)
NAMES = ["personal", "enterprise"]


@pytest.mark.parametrize("name", NAMES)
def test_every_gold_graph_is_admitted_and_read_back(name: str) -> None:
    domain = read_domain(name)
    for each in (each for each in request_set(name) if each.split == "dev"):
        text = WrittenGraph.of(each.graph).text()
        Draft202012Validator(written_schema(domain, each.request, TODAY)).validate(json.loads(text))
        assert same_graph(WrittenGraph.model_validate_json(text).graph(domain), each.graph), each.id


def test_where_the_request_says_a_date_the_graph_can_say_no_other() -> None:
    schema = Draft202012Validator(written_schema(read_domain("personal"), "Mails since 1.2.2025", TODAY))
    good = {"filters": ["d.value > since 1.2.2025"], "edges": ["e sent_on d"], "ask": "find all e"}
    assert schema.is_valid(good)
    for value in ("= since 1.2.2025", "> since 1x2.2025", "> 2025-02-01"):
        assert not schema.is_valid({**good, "filters": [f"d.value {value}"]})
    assert schema.is_valid({**good, "filters": ["e.subject contains 1.2.2025"]})


def test_values_are_words_of_the_request_or_declared_ones_and_ordinals_need_an_ordinal() -> None:
    request = """Show me Ann's first .txt or pdf with the words 'blue "moon'."""
    schema = Draft202012Validator(written_schema(read_domain("personal"), request, TODAY))
    good = {"filters": [], "edges": ["e from p", "e has_attachment f"], "ask": "find all f"}
    said = ["p.name = Ann", "f.extension = txt", "f.extension = docx", "e.subject contains blue", "e.ordinal = last"]
    unsaid = [
        "p.name = Bea",
        "p.name = ",
        "e.subject contains Moon",
        'e.content contains "moon',
        "e.ordinal = x",
        "d.value = ",
    ]
    assert [each for each in (*said, *unsaid) if schema.is_valid({**good, "filters": [each]})] == said
    without = Draft202012Validator(written_schema(read_domain("personal"), "The 3 mails of Ann", TODAY))
    assert not without.is_valid({**good, "filters": ["e.ordinal = last"]})


@pytest.mark.parametrize(
    "answer",
    [
        {"edges": ["f has_attachment e"]},  # the wrong way round
        {"edges": ["e has_attachment p"]},
        {"edges": ["e from e1"]},
        {"edges": ["e4 from p"]},
        {"edges": ["e to self1"]},
        {"filters": ["p.subject contains x"]},
        {"filters": ["p.name contains x"]},
        {"filters": ["p.name = "]},
        {"ask": "delete all e"},
        {"ask": "find all x"},
        {"vars": {}},
    ],
    ids=str,
)
def test_what_the_domain_lacks_is_outside_the_schema(answer: dict[str, object]) -> None:
    schema = Draft202012Validator(written_schema(read_domain("personal"), "Mails of Jane Doe: x", TODAY))
    good = {"ask": "find all e", "edges": ["e from p"], "filters": ["p.name = Jane Doe"]}
    assert schema.is_valid(good)
    assert not schema.is_valid({**good, **answer})
