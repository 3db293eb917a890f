"""The parser by rules: what it reads, what it notes, what it refuses by the word, and that it survives any text."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.query.domain import Domain, read_domain
from planners.query.graph_faults import graph_faults
from planners.query.query_graph import ParsedRequest, QueryGraph, request_set
from planners.query.rules_reader import RulesParser

TODAY = date(2026, 2, 15)
PARSER = RulesParser()
PERSONAL = read_domain("personal")
TABLE = yaml.safe_load((Path(__file__).parent / "rules.yaml").read_text("utf-8"))


def _read(request: str, domain: str = "personal", *, best_effort: bool = False) -> ParsedRequest:
    return PARSER.parse(request, read_domain(domain), TODAY, best_effort=best_effort)


def _graph(request: str, domain: str = "personal") -> QueryGraph:
    return _read(request, domain).graph


def _values(request: str, domain: str = "personal") -> list[str]:
    return sorted(str(each.value) for each in _graph(request, domain).filters)


@pytest.mark.parametrize(
    "request_",
    [
        "Block the supplier Acme Pumps GmbH",
        "Approve purchase order 4500012317",
        "I want to delete the orders of Acme Pumps GmbH",
        "Find the orders of Acme Pumps GmbH and delete them",
    ],
)
def test_an_order_is_not_answered_as_a_question(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not understood") as refused:
        _graph(request_, "enterprise")
    assert "egotools plan" in refused.value.remedy


@pytest.mark.parametrize(("request_", "values"), TABLE["values"].items())
def test_what_asks_is_no_order_and_a_name_may_begin_it(request_: str, values: list[str]) -> None:
    assert _values(request_) == values


NAMES: list[str] = [
    "Zoë Çelik",
    "Karl Ångström",
    "Nguyễn Văn An",
    "Анна Каренина",
    "J. R. Ewing",
    "J.R.R. Tolkien",
    "Dr. House",
]


def test_a_name_is_one_value(subtests: pytest.Subtests) -> None:
    for request_ in ["Which files did {} send me?", "Find emails from {} to Bo."]:
        for name in NAMES:
            with subtests.test(ascii(name)):
                assert _values(request_.format(name)) == sorted([name, *(["Bo"] if "Bo" in request_ else [])])


def test_a_request_that_mentions_more_than_a_graph_has_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgumentError, match=r"mentions 30 things, .* at most 24 variables"):
        _graph("Find " + "attachments, " * 29 + "attachments")


def test_what_the_graph_does_not_say_is_named(subtests: pytest.Subtests) -> None:
    for request_, unread in TABLE["unread"].items():
        with subtests.test(ascii(request_)):
            with pytest.raises(InvalidArgumentError, match=f'"{unread}" is not understood'):
                _read(request_)
            best = _read(request_, best_effort=True)
            assert f'"{unread}" is not understood and left out.' in best.left_out


@pytest.mark.parametrize(
    ("request_", "edge"),
    [
        ("Find emails without attachments.", "has_attachment"),
        ("Which meetings did I not attend?", "attended"),
        ("Find emails with no links.", "mentions_url"),
    ],
)
def test_what_is_not_so_is_a_negated_edge(request_: str, edge: str) -> None:
    assert [each.edge for each in _graph(request_).edges if each.negated] == [edge]


@pytest.mark.parametrize("request_", ["Find emails except those from Jane Doe.", "Find emails or meetings."])
def test_an_exclusion_or_alternative_that_no_graph_has_is_refused(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"exclude|joins"):
        _graph(request_)


def test_names_joined_by_or_are_alternatives_of_one_filter() -> None:
    graph = _graph("Find emails from Jane Doe, Bob Ray or Mark Olsen.")
    assert [each.values for each in graph.filters] == [("Jane Doe", "Bob Ray", "Mark Olsen")]


@pytest.mark.parametrize(("request_", "note"), TABLE["notes"].items())
def test_what_was_assumed_or_left_out_is_said(request_: str, note: str) -> None:
    assert note in " ".join(_read(request_, best_effort=True).notes)


@pytest.mark.parametrize(("request_", "wanted"), TABLE["ordinals"].items())
def test_ordinals_and_whether_one_is_asked_for(request_: str, wanted: list[str]) -> None:
    assert [_graph(request_).return_mode, *_values(request_)] == wanted


def test_two_of_a_type_that_nothing_joins_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match='two Employees are joined "Lisbon"'):
        _graph("Which trips to Lisbon did people from the Sales department make?", "enterprise")


def _fields(**fields: dict[str, Any]) -> Domain:
    types = {"File": {"variable": "f", "words": ["file"], "fields": fields}}
    return Domain.model_validate({"name": "files", "description": "Files.", "types": types, "extended": True})


MADE = {"operators": ["=", "<", ">"], "kind": "date", "words": ["created at"]}


def test_a_date_that_may_be_of_two_fields_or_of_none_is_refused() -> None:
    domain = _fields(made=MADE, seen={**MADE, "words": ["seen at"]})
    with pytest.raises(InvalidArgumentError, match="which date is meant: made or seen"):
        PARSER.parse("List the files since March.", domain, TODAY)


def test_a_name_in_a_domain_without_names_is_refused() -> None:
    domain = _fields(kind={"operators": ["="], "words": ["kind"], "values": ["csv"]})
    with pytest.raises(InvalidArgumentError, match=r'nothing in this domain is called by a name.*"East"'):
        PARSER.parse("Find the sales in the region East", domain.model_copy(update={"extended": False}), TODAY)


WORDS = sorted({word for each in request_set("personal") if each.split == "dev" for word in each.request.split()})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join) | st.text(min_size=1, max_size=60))
def test_any_text_becomes_a_graph_without_fault_or_a_named_error(text: str) -> None:
    try:
        graph = PARSER.parse(text, PERSONAL, TODAY).graph
    except EgotoolsError as error:
        assert error.remedy
    else:
        assert graph_faults(graph, PERSONAL) == ()
