"""The parser by a chat model: what the model is told, and what becomes of bad answers."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from inference import ScriptedChat
from ontology.errors import ModelError
from planners.dfs.domain import Domain, read_domain
from planners.dfs.graph_match import same_graph
from planners.dfs.parsing.llm_parser import LlmParser
from planners.dfs.parsing.model_slips import mended
from planners.dfs.parsing.worked_examples import worked_examples
from planners.dfs.parsing.written_graph import WrittenGraph
from planners.dfs.query_graph import QueryGraph
from planners.dfs.request_set import request_set

TODAY = date(2026, 2, 15)
PERSONAL = read_domain("personal")
REQUEST = "How many emails did I get from Jane Doe in February?"
GOOD: dict[str, Any] = {
    "ask": "count all e",
    "edges": ["e to self", "e from p", "e sent_on d"],
    "filters": ["p.name = Jane Doe", "d.value = in February"],
}


def _changed(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def _parse(*answers: Any, request: str = REQUEST) -> QueryGraph:
    model = ScriptedChat([each if isinstance(each, str) else json.dumps(each) for each in answers])
    return LlmParser(model).parse(request, PERSONAL, TODAY).graph


def test_the_prompt_holds_the_domain_worked_examples_and_the_request_and_nothing_else() -> None:
    model = ScriptedChat([json.dumps(GOOD)])
    LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    system, *examples, asked = model.calls[0]
    assert asked.content == REQUEST
    for source, edge, target in PERSONAL.signatures():
        assert f"- {PERSONAL.types[source].variable} {edge} {PERSONAL.types[target].variable}:" in system.content
    for kind in PERSONAL.types.values():
        for field, each in kind.fields.items():
            assert f"- {kind.variable}.{field} {' or '.join(each.operators)}" in system.content
    shown = worked_examples(REQUEST, PERSONAL)
    assert [each.content for each in examples[::2]] == [each.request for each in shown]
    assert [each.content for each in examples[1::2]] == [WrittenGraph.of(each.graph).text() for each in shown]


def test_the_instructions_are_the_same_for_every_request_and_day() -> None:
    """Servers that keep the beginning of a prompt read them once."""
    model = ScriptedChat([json.dumps(GOOD)] * 2)
    LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    LlmParser(model).parse(f"{REQUEST} Please.", PERSONAL, date(2026, 6, 1))
    assert model.calls[0][0] == model.calls[1][0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("The user wants to count emails.", "is no graph"),
        (json.dumps(GOOD)[:-20], "is no graph"),
        (_changed(ask="delete all e"), "is not an ask such as 'find all e'"),
        (_changed(edges=["e to x"]), "'x' is no variable; variables are named e (Email), p (Person)"),
        (_changed(edges=["e goes out to p"]), "is not an edge such as 'e from p'"),
        (_changed(filters=["Jane Doe"]), "is not a filter such as 'p.name = Jane Doe'"),
        (_changed(filters=[*GOOD["filters"], "pl.name = Jane"]), "No path of edges joins the variable pl"),
        (_changed(edges=["e has_attachment self", *GOOD["edges"][1:]]), "does not lead from Email to Self"),
        (_changed(filters=["p.subject contains Jane Doe", GOOD["filters"][1]]), "has no field subject"),
        (
            _changed(edges=GOOD["edges"][:2], filters=GOOD["filters"][:1]),
            'The request says "in February", so there must be a variable of the type Date',
        ),
        (_changed(filters=["d.value = 2026-02"]), "is not in the request; write its words unchanged"),
        (_changed(edges=GOOD["edges"][1:]), 'The request says "I"'),
        (_changed(edges=GOOD["edges"] * 20), "is no graph: 'edges'"),
        (_changed(vars={}), "is no graph: 'vars'"),
    ],
)  # fmt: skip
def test_a_bad_answer_goes_back_with_its_fault_and_is_repaired(bad: Any, said: str) -> None:
    text = bad if isinstance(bad, str) else json.dumps(bad)
    model = ScriptedChat([text, json.dumps(GOOD)])
    parsed = LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    assert parsed.graph == WrittenGraph(**GOOD).graph(PERSONAL)
    assert "The model needed 2 attempts." in parsed.notes
    *_, rejected, repair = model.calls[1]
    assert rejected.content == text[:4_000]
    assert said in repair.content


def test_all_faults_go_back_at_once() -> None:
    bad = {"ask": "find all e", "edges": ["e to self", "e attended p"], "filters": ["p.url = Jane Doe"]}
    model = ScriptedChat([json.dumps(bad), json.dumps(GOOD)])
    LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    told = model.calls[1][-1].content
    assert "has no field url" in told and "does not lead from Email to Person" in told


def test_the_attempts_are_bounded_and_the_error_names_the_faults() -> None:
    model = ScriptedChat([f"{number} prose without end " * 10_000 for number in range(9)])
    with pytest.raises(ModelError) as failed:
        LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    assert len(model.calls) == 3
    assert "is no graph" in failed.value.problem and "rules.v1" in failed.value.remedy
    assert sum(len(message.content) for message in model.calls[-1]) < 40_000


def test_an_edge_written_the_wrong_way_round_is_turned_and_an_extension_loses_its_dot() -> None:
    answer = {
        "ask": "find all f",
        "edges": ["f has_attachment e", "f has_attachment e"],
        "filters": ["f.extension = .txt"],
    }
    graph = _parse(answer, request="Find .txt attachments.")
    assert [(each.source, each.target) for each in graph.edges] == [("e", "f")]
    assert graph.filters[0].value == "txt"


def test_examples_are_the_nearest_of_the_half_dev_and_neither_the_paper_s_nor_the_request_itself() -> None:
    for name in ("personal", "enterprise"):
        domain, requests = read_domain(name), request_set(name)
        for each in requests:
            shown = worked_examples(each.request, domain)
            assert len(shown) == 4 and each not in shown
            assert all(one.split == "dev" and not one.paper and one in requests for one in shown)
    nearest = worked_examples("Find all mails from Ann Reed to Omar Haddad with files.", PERSONAL)[-1]
    assert nearest.request == "Find files attached to mails from Jane Doe to Mark Olsen."


def test_a_domain_of_the_callers_own_that_has_the_name_of_a_shipped_one_shows_no_example_that_does_not_fit() -> None:
    data = PERSONAL.model_dump()
    data["edges"] = [each for each in data["edges"] if each["name"] != "mentions_url"]
    links = "What links did Kenji Sato send to me?"
    assert any(edge.edge == "mentions_url" for each in worked_examples(links, PERSONAL) for edge in each.graph.edges)
    shown = worked_examples(links, Domain.model_validate(data))
    assert shown and all(edge.edge != "mentions_url" for each in shown for edge in each.graph.edges)
    mine = Domain.model_validate({**data, "name": "mine"})
    model = ScriptedChat([json.dumps(GOOD)])
    parsed = LlmParser(model).parse(REQUEST, mine, TODAY)
    assert same_graph(parsed.graph, WrittenGraph(**GOOD).graph(PERSONAL))
    assert len(model.calls[0]) == 2 and "of another domain" in model.calls[0][0].content


def test_an_answer_that_comes_twice_is_not_asked_for_again() -> None:
    model = ScriptedChat(lambda _messages: json.dumps(_changed(edges=GOOD["edges"][1:])))
    with pytest.raises(ModelError):
        LlmParser(model, attempts=5).parse(REQUEST, PERSONAL, TODAY)
    assert len(model.calls) == 2


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ({"edges": [*GOOD["edges"], "e has_attachment f", "f parent dir"]}, ['"f parent dir" is left out: the request names no Folder.',
                                                                             '"e has_attachment f" is left out: the request names no File.']),
        ({"edges": GOOD["edges"][:2]}, ['"e sent_on d" is added: no other edge joins d.']),
        ({"filters": [*GOOD["filters"], "e.ordinal = first"]}, ['"e.ordinal = first" is left out: the request names no ordinal.']),
    ],
)  # fmt: skip
def test_slips_of_the_model_are_mended_and_said(added: dict[str, Any], said: list[str]) -> None:
    parsed = LlmParser(ScriptedChat([json.dumps(_changed(**added))])).parse(REQUEST, PERSONAL, TODAY)
    assert same_graph(parsed.graph, WrittenGraph(**GOOD).graph(PERSONAL))
    assert [each for each in parsed.notes if "left out" in each or "added" in each] == said


@pytest.mark.parametrize("name", ["personal", "enterprise"])
def test_no_gold_graph_has_a_slip(name: str) -> None:
    domain = read_domain(name)
    for each in (each for each in request_set(name) if each.split == "dev"):
        assert mended(each.graph, each.request, domain) == (each.graph, ()), each.id
