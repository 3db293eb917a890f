"""How many of the shipped requests the rules read as their gold graph: the rules were written in view of ``dev`` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference import ScriptedChat
from planners.dfs import graph_faults
from planners.dfs.domain import read_domain
from planners.dfs.parsing import load_parser
from planners.dfs.parsing.llm_parser import LlmParser
from planners.dfs.request_set import request_set
from scripts.parser_accuracy import ParsedGold, kept_graphs, losses, measure, sampled, table

PARSER = load_parser("rules.v1")
FLOORS = {
    ("personal", "dev"): 0.95,
    ("personal", "test"): 0.85,
    ("enterprise", "dev"): 0.95,
    ("enterprise", "test"): 0.85,
}


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "split"), FLOORS)
def test_the_rules_read_no_fewer_than_before(domain: str, split: str) -> None:
    requests = sampled(domain, split)
    outcomes = list(measure(PARSER, requests))
    wrong = [gold.id for gold, each in zip(requests, outcomes, strict=True) if not each.is_right(gold)]
    assert len(outcomes) > 45
    assert 1 - len(wrong) / len(outcomes) >= FLOORS[domain, split], wrong
    assert table(requests, outcomes)[-1].startswith(f"all: {len(outcomes) - len(wrong)} of {len(outcomes)}")


def test_what_is_kept_is_not_asked_for_again_and_a_sample_is_the_beginning_of_a_fixed_shuffle(tmp_path: Path) -> None:
    few, more = sampled("personal", "dev", 2), sampled("personal", "dev", 3)
    assert few == more[:2] and few != sampled("personal", "dev")[:2]
    silent = LlmParser(ScriptedChat(lambda _messages: "I cannot say."))
    first = list(measure(PARSER, few, tmp_path / "kept.jsonl"))
    again = list(measure(silent, more, tmp_path / "kept.jsonl"))
    assert again[:2] == first and again[2].graph is None and "is no graph" in again[2].said
    assert list(kept_graphs(tmp_path / "kept.jsonl").values()) == again


def test_a_loss_of_the_half_test_is_shown_by_its_number_alone() -> None:
    (dev,), (test,) = sampled("personal", "dev", 1), sampled("personal", "test", 1)
    refused = [
        ParsedGold(id=gold.id, graph=None, seconds=0.1, said=f"of “{gold.request}” no word is known")
        for gold in (dev, test)
    ]
    shown, hidden = losses([dev, test], refused)
    assert dev.request in shown and "no word is known" in shown
    assert hidden == f"wrong: {test.id}"


@pytest.mark.parametrize("domain", ["personal", "enterprise"])
def test_the_sets_are_large_enough_and_every_graph_is_without_fault(domain: str) -> None:
    requests, schema = request_set(domain), read_domain(domain)
    assert len(requests) >= 100 and len({each.request for each in requests}) == len(requests)
    assert {"find", "count"} == {each.graph.action for each in requests}
    assert {"one", "all"} == {each.graph.return_mode for each in requests}
    assert {1, 2, 3, 4} <= {each.hops for each in requests}
    for each in requests:
        assert each.hops == len(each.graph.edges)
        assert graph_faults(each.graph, schema) == (), each.id
    assert sum(each.paper for each in requests) == (8 if domain == "personal" else 0)
