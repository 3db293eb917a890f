"""The conformance suite of parsers: rules, and a chat model that is played by a script."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest
import yaml

from benchmarks.planners.accuracy import same_graph
from inference import Message
from ontology.errors import EgotoolsError
from planners.query import load_parser
from planners.query.domain import read_domain
from planners.query.graph_faults import graph_faults
from planners.query.llm_reader import LlmParser, WrittenGraph
from planners.query.query_graph import Parser, QueryGraph, request_set
from tests.inference.scripted_chat import ScriptedChat

TODAY = date(2026, 2, 15)
LIBRARY = read_domain(Path(__file__).parent / "library.yaml")
PERSONAL = read_domain("personal")
EASY = [
    each
    for name in ("personal", "enterprise")
    for each in request_set(name)
    if each.paper or (each.hops <= 1 and each.split == "dev")
][:12]


def _scripted() -> Parser:
    """A model that knows the answers; of what it does not know it says nothing usable."""
    known = {
        each.request: WrittenGraph.of(each.graph).model_dump_json()
        for name in ("personal", "enterprise")
        for each in request_set(name)
    }

    def answer(messages: Sequence[Message]) -> str:
        return known.get(messages[-1].content, "I cannot say.")

    return LlmParser(ScriptedChat(answer))


PARSERS: dict[str, Callable[[], Parser]] = {"rules.v1": lambda: load_parser("rules.v1"), "llm.v1": _scripted}


@pytest.fixture(params=PARSERS, scope="module")
def parser(request: pytest.FixtureRequest) -> Parser:
    return PARSERS[request.param]()


def test_a_request_becomes_its_graph(parser: Parser, subtests: pytest.Subtests) -> None:
    for gold in EASY:
        with subtests.test(ascii(gold)):
            domain = read_domain(gold.domain)
            parsed = parser.parse(gold.request, domain, TODAY)
            assert graph_faults(parsed.graph, domain) == ()
            assert same_graph(parsed.graph, gold.graph), parsed.graph.to_json()


def test_dates_stay_as_they_are_written_and_their_reading_is_said(parser: Parser) -> None:
    parsed = parser.parse("How many emails did I get yesterday?", PERSONAL, TODAY)
    assert [each.value for each in parsed.graph.filters] == ["yesterday"]
    assert '"yesterday" is read as 2026-02-14.' in parsed.notes


@pytest.mark.parametrize("request_", ["", "x" * 1_001, "Please sing a song.", "42", "?"])
def test_what_the_domain_does_not_know_is_a_named_error(parser: Parser, request_: str) -> None:
    with pytest.raises(EgotoolsError) as refused:
        parser.parse(request_, PERSONAL, TODAY)
    assert refused.value.remedy


LIBRARY_REQUESTS = {
    request: QueryGraph.model_validate(graph)
    for request, graph in yaml.safe_load((Path(__file__).parent / "library_requests.yaml").read_text("utf-8")).items()
}


@pytest.mark.parametrize(("request_", "graph"), LIBRARY_REQUESTS.items(), ids=list(LIBRARY_REQUESTS))
def test_a_second_domain_needs_nothing_but_its_file(request_: str, graph: QueryGraph) -> None:
    parsed = load_parser("rules.v1").parse(request_, LIBRARY, TODAY)
    assert same_graph(parsed.graph, graph), parsed.graph.to_json()
