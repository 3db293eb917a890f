"""Dependency expansion: what the best tools need joins the answer, within a budget."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inference import HashingEncoder
from ingest.canonical.canonicalize import canonicalize
from ingest.extract.structure import structural_triples
from ingest.graph import build_graph
from ingest.linking.derive import derive_edges
from ontology import Dependency, Ontology, Tool
from retrieval.completion.dependencies import (
    DependenciesOf,
    RequiredTool,
    direct_dependencies,
    expand_dependencies,
    transitive_dependencies,
)
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import published


def _ranking(scores: dict[int, float]) -> Ranking:
    values = np.asarray(list(scores.values()), dtype=np.float32)
    return Ranking(tools=np.asarray(list(scores), dtype=np.int64), scores=values, features={"bm25_text": values})


def _dependencies_of(needs: dict[int, list[RequiredTool]]) -> DependenciesOf:
    return lambda tool: needs.get(tool, [])


def _best(scores: dict[int, float], needs: dict[int, list[RequiredTool]], k: int = 10) -> list[int]:
    expanded = expand_dependencies(_ranking(scores), _dependencies_of(needs))
    return [int(tool) for tool in expanded.tools[expanded.best(k)]]


def test_what_the_best_tool_needs_ends_just_below_it_candidate_or_not() -> None:
    needs = {5: [RequiredTool(9, 0.05), RequiredTool(2, 0.1)]}
    assert _best({2: 0, 5: 3, 6: 1, 7: 0}, needs) == [5, 9, 2, 6, 7]


def test_what_joins_has_the_feature_that_says_why() -> None:
    completed = expand_dependencies(_ranking({2: 0, 5: 3, 6: 1}), _dependencies_of({5: [RequiredTool(4, 0.05)]}))
    assert completed.tools.tolist() == [2, 4, 5, 6]
    assert completed.features["bm25_text"].tolist() == [0, 0, 3, 1]
    boost = completed.features["dependency_boost"]
    assert boost.tolist()[0::2] == [0, 0] and boost[3] == 0
    assert boost[1] == pytest.approx(completed.scores[1] - 0)  # counted from the lowest candidate
    assert completed.scores.dtype == np.float32


def test_none_falls_and_nothing_is_needed_by_what_is_not_among_the_best_three() -> None:
    needs = {1: [RequiredTool(2, 5.0)], 4: [RequiredTool(9, 0.01)]}
    completed = expand_dependencies(_ranking({1: 4, 2: 3, 3: 2, 4: 1}), _dependencies_of(needs))
    assert completed.tools.tolist() == [1, 2, 3, 4]
    assert completed.scores.tolist() == [4, 3, 2, 1]


def test_two_strong_tools_share_the_places_and_what_both_need_takes_one() -> None:
    needs = {
        1: [RequiredTool(11, 0.02), RequiredTool(20, 0.3), RequiredTool(12, 0.4)],
        2: [RequiredTool(20, 0.02), RequiredTool(13, 0.3)],
    }
    best = _best({1: 5.0, 2: 4.8, 3: -5.0}, needs)
    assert best[:4] == [1, 11, 2, 20]
    assert sorted(best) == [1, 2, 3, 11, 12, 13, 20]


def test_a_clear_winner_brings_its_needs_before_those_of_the_next() -> None:
    needs = {1: [RequiredTool(11, 0.1), RequiredTool(12, 0.2)], 2: [RequiredTool(13, 0.02)]}
    assert _best({1: 9, 2: 2, 3: 0, 4: 0}, needs, k=3) == [1, 11, 12]


def test_a_tool_that_the_request_may_not_see_stays_out() -> None:
    allowed = np.ones(20, dtype=bool)
    allowed[9] = False
    needs = _dependencies_of({5: [RequiredTool(9, 0.05), RequiredTool(10, 0.1)]})
    assert expand_dependencies(_ranking({5: 3, 6: 1}), needs, allowed=allowed).tools.tolist() == [5, 6, 10]


def test_equal_needs_are_ordered_by_number_and_no_candidates_give_none() -> None:
    assert _best({5: 3, 6: 0}, {5: [RequiredTool(9, 0.1), RequiredTool(8, 0.1)]}) == [5, 8, 9, 6]
    empty = expand_dependencies(_ranking({}), _dependencies_of({}))
    assert len(empty.scores) == len(empty.tools) == 0


def test_dependencies_are_followed_along_the_nearest_way_also_round_in_circles() -> None:
    chain = _dependencies_of(
        {
            1: [RequiredTool(2, 0.1), RequiredTool(4, 0.9)],
            2: [RequiredTool(3, 0.1)],
            3: [RequiredTool(1, 0.1), RequiredTool(4, 0.1)],
        }
    )
    found = transitive_dependencies(chain, 1)
    assert [need.tool for need in found] == [2, 3, 4]
    assert [need.penalty for need in found] == sorted(need.penalty for need in found)
    assert found[-1].penalty < 0.9  # by way of 2 and 3


def test_an_own_need_goes_before_one_that_a_need_names_as_late() -> None:
    own = _dependencies_of(
        {1: [RequiredTool(2, 0.02), RequiredTool(3, 0.14)], 2: [RequiredTool(4, 0.14)], 3: [RequiredTool(5, 0.02)]}
    )
    assert [need.tool for need in transitive_dependencies(own, 1)] == [2, 3, 5, 4]


def test_a_long_way_ends_after_fifteen() -> None:
    endless: DependenciesOf = lambda tool: [RequiredTool(tool + 1, 0.1)]  # noqa: E731
    assert [need.tool for need in transitive_dependencies(endless, 0)] == list(range(1, 16))


def test_what_the_request_gives_need_not_be_fetched() -> None:
    needs = _dependencies_of({1: [RequiredTool(2, 0.1, fills=True), RequiredTool(3, 0.2)], 2: [RequiredTool(4, 0.1)]})
    assert [need.tool for need in transitive_dependencies(needs, 1)] == [2, 3, 4]
    assert [need.tool for need in transitive_dependencies(needs, 1, identified=True)] == [3]


def _snapshot(folder: Path, ontology: Ontology, tools: list[Tool]) -> Snapshot:
    triples = [triple for tool in tools for triple in structural_triples(tool, ontology, "rules.v1")]
    canonical = canonicalize(triples, tools, ontology)
    derived = derive_edges(tools, ontology)
    content = SnapshotContent(
        tools=tools,
        graph=build_graph(tools, canonical.triples, ontology, canonical.surface_forms, derived=derived),
        ontology=ontology,
        encoder=HashingEncoder(),
        extractor="rules.v1",
        abbreviations=canonical.abbreviations,
        created_by="egotools test",
    )
    return open_snapshot(published(folder, content))


def _direct(snapshot: Snapshot, tool_id: str) -> list[str]:
    return [snapshot.tool_id(need.tool) for need in direct_dependencies(snapshot, snapshot.tool_number(tool_id))]


@pytest.fixture(scope="module")
def declaring(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Snapshot:
    def needing(name: str, *needs: Dependency) -> Tool:
        return Tool(id=name, name=name, description=f"Does {name}.", depends_on=needs)

    order_key = Dependency(tool="find_order", parameter="order", output="orders[].key")
    tools = [
        needing("cancel_order", Dependency(tool="sign_in"), order_key, Dependency(tool="check_rights")),
        needing("check_rights"),
        needing("find_order", Dependency(tool="check_rights", required=False)),
        needing("sign_in", Dependency(tool="check_rights")),
        needing("transform", *(Dependency(tool=f"step_{number}") for number in range(8))),
        *(needing(f"step_{number}") for number in range(8)),
    ]
    return _snapshot(tmp_path_factory.mktemp("declaring"), ontology, sorted(tools, key=lambda tool: tool.id))


def test_declared_needs_keep_the_order_of_their_author(declaring: Snapshot) -> None:
    assert _direct(declaring, "cancel_order") == ["sign_in", "find_order", "check_rights"]
    everything = transitive_dependencies(partial(direct_dependencies, declaring), declaring.tool_number("cancel_order"))
    falls = {declaring.tool_id(need.tool): need.penalty for need in everything}
    assert set(falls) == {"sign_in", "find_order", "check_rights"}
    [itself] = [
        need for need in direct_dependencies(declaring, declaring.tool_number("cancel_order")) if need.penalty > 0.06
    ]
    assert falls["check_rights"] < itself.penalty  # by way of the login, which needs them first of all


def test_a_declared_output_that_fills_an_input_is_a_value_and_a_road_is_no_need(declaring: Snapshot) -> None:
    needs = direct_dependencies(declaring, declaring.tool_number("cancel_order"))
    assert [need.fills for need in needs] == [False, True, False]
    assert _direct(declaring, "find_order") == []


def test_a_long_list_says_what_can_come_before_not_what_must(declaring: Snapshot) -> None:
    assert _direct(declaring, "transform") == []


def test_a_catalogue_without_dependencies_needs_nothing(snapshot: Snapshot) -> None:
    assert all(direct_dependencies(snapshot, tool) == [] for tool in range(snapshot.tool_count))
