"""The parser by rules: what it notes, what it refuses, and that it survives any text."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.dfs import QueryGraph, graph_faults
from planners.query.domain import Domain, read_domain
from planners.query.query_graph import request_set
from planners.query.rules_reader import RulesParser

TODAY = date(2026, 2, 15)
PERSONAL = read_domain("personal")
PARSER = RulesParser()


def _parse(request: str) -> QueryGraph:
    return PARSER.parse(request, PERSONAL, TODAY).graph


def _notes(request: str) -> str:
    return " ".join(PARSER.parse(request, PERSONAL, TODAY, best_effort=True).notes)


def test_a_value_of_the_domain_is_read_in_any_letters_and_written_as_the_domain_has_it() -> None:
    written = read_domain("enterprise").model_dump_json(by_alias=True).replace('"blocked"', '"Blocked"')
    graph = PARSER.parse("Find blocked orders", Domain.model_validate_json(written), TODAY).graph
    assert [each.value for each in graph.filters] == ["Blocked"]


@pytest.mark.parametrize(
    ("request_", "edge"),
    [
        ("Find emails without attachments.", "has_attachment"),
        ("Which meetings did I not attend?", "attended"),
        ("Find emails with no links.", "mentions_url"),
    ],
)
def test_what_is_not_so_is_a_negated_edge(request_: str, edge: str) -> None:
    assert [each.edge for each in _parse(request_).edges if each.negated] == [edge]


@pytest.mark.parametrize("request_", ["Find emails except those from Jane Doe.", "Find emails or meetings."])
def test_an_exclusion_or_alternative_that_no_graph_has_is_refused(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"exclude|joins"):
        _parse(request_)


def test_names_joined_by_or_are_alternatives_of_one_filter() -> None:
    graph = _parse("Find emails from Jane Doe, Bob Ray or Mark Olsen.")
    assert [each.values for each in graph.filters] == [("Jane Doe", "Bob Ray", "Mark Olsen")]


@pytest.mark.parametrize(
    ("request_", "note"),
    [
        ("Find emails of the lawnmower.", '"lawnmower" is not understood and left out.'),
        ("Which meetings did I cancel?", "It is assumed that"),
        ("Find the last folder.", '"last" is left out: the type Folder has no order in the domain.'),
        ("Find emails sent in March.", '"in March" is read as 2025-03-01 to 2025-03-31, its last occurrence'),
    ],
)
def test_what_was_assumed_or_left_out_is_said(request_: str, note: str) -> None:
    assert note in _notes(request_)


@pytest.mark.parametrize(
    ("request_", "mode"),
    [
        ("Find the latest email.", "one"),
        ("Find the second email from Jane Doe.", "one"),
        ("Find the folder named Photos.", "one"),
        ("Find the webpage mentioned in the email from Jane Doe.", "all"),
        ("How many emails are from Jane Doe?", "all"),
    ],
)
def test_one_is_for_an_ordinal_or_one_certain_thing(request_: str, mode: str) -> None:
    assert _parse(request_).return_mode == mode


@pytest.mark.parametrize(
    ("request_", "filters", "mode"),
    [
        ("Find the last three emails from Jane Doe.", ["last 3", "Jane Doe"], "all"),
        ("Find my next meeting with Jane Doe.", ["first", "Jane Doe", "today"], "one"),
        ("Find the next two meetings with Jane Doe.", ["first 2", "Jane Doe", "today"], "all"),
        ("How many times did I meet Jane Doe since March?", ["Jane Doe", "since March", "tomorrow"], "all"),
    ],
)
def test_the_last_ones_the_next_ones_and_until_now(request_: str, filters: list[str], mode: str) -> None:
    graph = _parse(request_)
    assert sorted(str(each.value) for each in graph.filters) == sorted(filters)
    assert graph.return_mode == mode


def test_two_of_a_type_that_nothing_joins_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match='two Employees are joined "Lisbon"'):
        request = "Which trips to Lisbon did people from the Sales department make?"
        PARSER.parse(request, read_domain("enterprise"), TODAY)


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


def test_a_name_in_a_domain_without_names_is_refused() -> None:
    kind = {"operators": ["="], "words": ["kind"], "values": ["csv"]}
    types = {"File": {"variable": "f", "words": ["file"], "fields": {"kind": kind}}}
    domain = Domain.model_validate({"name": "files", "description": "Files.", "types": types})
    with pytest.raises(InvalidArgumentError, match=r'nothing in this domain is called by a name.*"East"'):
        PARSER.parse("Find the sales in the region East", domain, TODAY)
