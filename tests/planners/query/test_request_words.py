"""The parser by rules and the words of a request: orders are not answered, names of any letters are whole, and no request takes long."""

from __future__ import annotations

from datetime import date

import pytest

from ontology.errors import InvalidArgumentError
from planners.dfs import QueryGraph
from planners.query.domain import read_domain
from planners.query.query_graph import ParsedRequest
from planners.query.rules_reader import RulesParser

TODAY = date(2026, 2, 15)
PARSER = RulesParser()


def _read(request: str, domain: str = "personal") -> ParsedRequest:
    return PARSER.parse(request, read_domain(domain), TODAY)


def _graph(request: str, domain: str = "personal") -> QueryGraph:
    return _read(request, domain).graph


def _values(request: str, domain: str = "personal") -> list[str]:
    return sorted(str(each.value) for each in _graph(request, domain).filters)


@pytest.mark.parametrize(
    "request_",
    [
        "Block the supplier Acme Pumps GmbH",
        "Create an invoice for Acme Pumps GmbH",
        "Approve purchase order 4500012317",
        "Order the pumps of Acme Pumps GmbH",
        "I want to delete the orders of Acme Pumps GmbH",
        "Find the orders of Acme Pumps GmbH and delete them",
    ],
)
def test_an_order_is_not_answered_as_a_question(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not understood") as refused:
        _graph(request_, "enterprise")
    assert "egotools plan-tools" in refused.value.remedy


@pytest.mark.parametrize(
    "request_",
    [
        "Retrieve Jane Doe's emails",
        "Please look up emails from Jane Doe",
        "Mails from Jane Doe",
        "Email messages from Jane Doe",
        "Do I have emails from Jane Doe?",
        "Can you find the emails from Jane Doe?",
        "Could you please tell me which emails are from Jane Doe?",
    ],
)
def test_what_asks_is_no_order(request_: str) -> None:
    assert _values(request_) == ["Jane Doe"]


def test_a_name_or_a_value_may_begin_a_request_though_it_is_a_verb() -> None:
    assert _values("Mark Olsen's emails") == ["Mark Olsen"]
    assert _values("Mark's emails") == ["Mark"]
    assert _values("Open orders of Acme Pumps GmbH", "enterprise") == ["Acme Pumps GmbH", "open"]


@pytest.mark.parametrize(
    "name",
    [
        "Hana Öztürk",
        "Zoë Çelik",
        "Émile Zola",
        "Karl Ångström",
        "Ivan Žižka",
        "Mehmet Şahin",
        "Nguyễn Văn An",
        "Øyvind Łukasz",
        "Анна Каренина",
        "J. R. Ewing",
        "J.R.R. Tolkien",
        "Dr. House",
        "April March",
        "John March",
    ],
)
@pytest.mark.parametrize(
    "request_", ["Which files did {} send me?", "Find emails from {}.", "Find emails from {} to Bo."]
)
def test_a_name_is_one_value(request_: str, name: str) -> None:
    if "March" in name and "did" in request_:
        request_ = "Find files from {}."
    assert _values(request_.format(name)) == sorted([name, *(["Bo"] if "Bo" in request_ else [])])


def test_a_request_that_mentions_more_than_a_graph_has_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgumentError, match=r"mentions 30 things, .* at most 24 variables"):
        _graph("Find " + "attachments, " * 29 + "attachments")


@pytest.mark.parametrize(
    ("request_", "unread"),
    [
        ("Find documents longer than 2 pages", "longer than 2"),
        ("Find files larger than 1 MB", "larger than 1 MB"),
        ("Find emails sent on 30 February 2026", "30"),
        ("Find unread emails from Jane Doe", "unread"),
        ("Find the three emails from Jane Doe", "three"),
        ("Find emails that I quickly answered", "quickly answered"),
        ("Which meetings did I cancel?", "cancel"),
        ("Who last emailed me?", "last"),
        ("Which emails are paid?", "paid"),
        ("Which files did jane doe send me?", "jane doe"),
        ("Find emails from Polish people", "Polish"),
        ("Jane Doe sent me how many emails?", "how many"),
        ("Why did Jane Doe send me emails?", "Why"),
    ],
)
def test_what_the_graph_does_not_say_is_named(request_: str, unread: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f'"{unread}" is not understood'):
        _read(request_)
    best = PARSER.parse(request_, read_domain("personal"), TODAY, best_effort=True)
    assert f'"{unread}" is not understood and left out.' in best.left_out


@pytest.mark.parametrize(
    ("request_", "superlative"),
    [
        ("Find the largest attachment", "largest"),
        ("Who emails me most often?", "most often"),
        ("Find the most important email", "most important"),
        ("Find the longest meeting", "longest"),
    ],
)
def test_an_order_that_no_domain_knows_is_refused_by_name(request_: str, superlative: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f'"{superlative}" is not understood'):
        _graph(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "how many emails did Jane Doe send",
        "I would like to know how many emails Jane Doe sent",
        "Tell me how many emails Jane Doe sent",
    ],
)
def test_how_many_counts_wherever_a_request_begins_with_it(request_: str) -> None:
    graph = _graph(request_)
    assert graph.action == "count" and set(graph.vars.values()) == {"Email", "Person"}


def test_a_name_in_lower_case_is_whole() -> None:
    assert _values("find emails from jane doe") == ["jane doe"]
    assert _values("emails from jane doe about budget") == ["budget", "jane doe"]
    assert _values("emails from Jane Doe about the leaving party") == ["Jane Doe", "leaving party"]
