"""Ablations: each takes its feature away, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import networkx as nx
import pytest

from egotools.values import RankedTool, Response
from inference import Floats2d, HashingEncoder
from retrieval.ablations import ABLATIONS, make_ablations
from retrieval.candidates.entry_nodes import SEMANTIC_ENTRIES
from retrieval.config import DEFAULT, DEPENDENCIES, PAPER, RetrievalConfig
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import make_presets
from retrieval.query.decompose import decompose
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.weights import BASELINE, SHIPPED
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.to_networkx import snapshot_graph

QUERIES = (
    "give a spot award of 100",
    "find the supplier and create a purchase order for an amount",
    "list the pending items of purchase orders",
    "manager and department of an employee",
    "find the supplier Acme in Leeds and give Jan Smith a spot award",
)
WITH_A_VALUE = "approve the items of AW-20418 in award/budget-2025.xlsx"  # the baselines match it as words
STAGES = [field.name for field in fields(RetrievalConfig)]
PLAINLY_FUSED = {"bm25_text", "bm25_params", "cosine_text", "cosine_name"}


@pytest.fixture(scope="module")
def ablations(snapshot: Snapshot) -> dict[str, Retriever]:
    return make_ablations(snapshot, HashingEncoder())


@pytest.fixture
def small_pools(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pools that do not hold the whole of a small catalogue."""
    monkeypatch.setattr("retrieval.candidates.candidate_generation.POOL", 1)
    monkeypatch.setattr("retrieval.candidates.candidate_generation.CLAUSE_POOL", 1)
    yield


def _answers(retriever: Retriever, queries: Sequence[str] = QUERIES) -> list[Response]:
    return [retriever.retrieve(Request(query=query, k=MAX_K)) for query in queries]


def _ranked(retriever: Retriever) -> list[tuple[RankedTool, ...]]:
    return [answer.tools for answer in _answers(retriever, (*QUERIES, WITH_A_VALUE))]


def _features(retriever: Retriever) -> set[str]:
    return {name for answer in _answers(retriever) for tool in answer.tools for name in tool.reasons.features}


def _tools(response: Response) -> list[str]:
    return [tool.id for tool in response.tools]


def _scores(response: Response) -> list[tuple[str, float]]:
    return [(tool.id, tool.score) for tool in response.tools]


def test_every_stage_and_feature_has_an_ablation_and_no_ablation_is_served(snapshot: Snapshot) -> None:
    off = {name for ablation in ABLATIONS.values() for name in ablation.without}
    measured_elsewhere = {"query_decomposition", "resolver_margin"}  # in `paper`, and by tuning
    assert off == {*STAGES, *SHIPPED} - measured_elsewhere
    assert not PAPER.query_decomposition
    assert all(name.startswith("default-no-") for name in ABLATIONS)
    assert len(set(ABLATIONS.values())) == len(ABLATIONS)
    assert not set(ABLATIONS) & set(make_presets(snapshot, HashingEncoder()))


def test_all_stages_on_is_the_preset_default(snapshot: Snapshot) -> None:
    presets = make_presets(snapshot, HashingEncoder())
    for name, config, weights in (("default", DEFAULT, SHIPPED), ("paper", PAPER, BASELINE)):
        same = GraphRetriever(snapshot, HashingEncoder(), name=name, config=config, weights=weights)
        assert [answer.tools for answer in _answers(same)] == [answer.tools for answer in _answers(presets[name])]


@pytest.mark.parametrize("name", [*STAGES, *(name for name in SHIPPED if name != "resolver_margin")])
def test_no_stage_and_no_weight_is_without_effect(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With pools of one tool the ensemble matters, with pools of all the pools do."""
    without = (
        GraphRetriever(snapshot, HashingEncoder(), config=replace(DEFAULT, **{name: False}))
        if name in STAGES
        else GraphRetriever(snapshot, HashingEncoder(), weights=SHIPPED.replace(**{name: 0.0}))
    )
    default = GraphRetriever(snapshot, HashingEncoder())
    differs = False
    for pool in (1, 100):
        monkeypatch.setattr("retrieval.candidates.candidate_generation.POOL", pool)
        monkeypatch.setattr("retrieval.candidates.candidate_generation.CLAUSE_POOL", pool)
        differs |= _ranked(without) != _ranked(default)
    assert differs


@pytest.mark.parametrize(
    ("ablation", "gone"),
    [
        ("default-no-support", {"graph_support"}),
        ("default-no-resolvers", {"resolver_boost"}),
        ("default-no-dependency-expansion", {"dependency_boost"}),
        ("default-no-bm25", {"bm25_text"}),
        ("default-no-bm25-params", {"bm25_params"}),
        ("default-no-bm25-returns", {"bm25_returns"}),
        ("default-no-bm25-values", {"bm25_values"}),
        ("default-no-cosine", {"cosine_text"}),
        ("default-no-cosine-name", {"cosine_name"}),
        ("default-no-name-coverage", {"name_coverage"}),
        ("default-no-graph", {"graph_support", "resolver_boost", "dependency_boost"}),
    ],
)
def test_a_signal_that_is_taken_away_is_in_no_reason(
    ablations: dict[str, Retriever], snapshot: Snapshot, ablation: str, gone: set[str]
) -> None:
    default = make_presets(snapshot, HashingEncoder())["default"]
    assert _features(default) - _features(ablations[ablation]) == gone
    assert _answers(ablations[ablation])[0].preset == ablation


@pytest.mark.parametrize(
    ("ablation", "kinds"),
    [("default-no-semantic-entries", {"ngram"}), ("default-no-ngrams", {"semantic"}), ("default-no-graph", set())],
)
def test_entry_nodes_that_are_taken_away_lead_to_no_tool(
    ablations: dict[str, Retriever], ablation: str, kinds: set[str]
) -> None:
    answers = _answers(ablations[ablation])
    assert {entry.kind for answer in answers for tool in answer.tools for entry in tool.reasons.entries} == kinds


def test_without_graph_and_clauses_and_with_plain_weights_the_default_is_the_flat_fusion(snapshot: Snapshot) -> None:
    """The pools hold the whole of a small catalogue, so what is left is the sum of the four text features."""
    flat = make_presets(snapshot, HashingEncoder())["fusion"]
    config = ABLATIONS["default-no-graph"].config
    plain = GraphRetriever(snapshot, HashingEncoder(), config=config, weights=BASELINE)
    for bare, fused in zip(_answers(plain), _answers(flat), strict=True):
        assert [(tool.id, tool.score) for tool in bare.tools] == [(tool.id, tool.score) for tool in fused.tools]
        assert all(set(tool.reasons.features) == PLAINLY_FUSED for tool in bare.tools)


@pytest.mark.usefixtures("small_pools")
def test_candidates_come_from_the_ensemble_and_from_text_and_either_can_go(
    snapshot: Snapshot, ablations: dict[str, Retriever]
) -> None:
    presets = make_presets(snapshot, HashingEncoder())
    for query in QUERIES:
        every = Request(query=query, k=MAX_K)
        ensemble = set(_tools(presets["paper"].retrieve(every)))
        assert set(_tools(ablations["default-no-text-candidates"].retrieve(every))) == ensemble
        nearest = presets["semantic"].retrieve(Request(query=query, k=1)).tools[0].id
        pooled = set(_tools(ablations["default-no-ego-candidates"].retrieve(every)))
        assert nearest in pooled
        assert 1 <= len(pooled) <= 2 * (1 + len(decompose(query))), "one by words and one by meaning, for each"
        answer = presets["default"].retrieve(every).tools
        assert {tool.id for tool in answer} >= ensemble | pooled
        entries = _tools(presets["semantic"].retrieve(Request(query=query, k=SEMANTIC_ENTRIES)))
        assert {tool.id for tool in answer} <= ensemble | pooled | set(entries), (
            "one search finds entries and candidates"
        )


def test_without_dependencies_no_such_edge_is_walked_or_lifted(
    snapshot: Snapshot, ablations: dict[str, Retriever]
) -> None:
    default, bare = make_presets(snapshot, HashingEncoder())["default"], ablations["default-no-dependencies"]
    for retriever, seen in ((default, True), (bare, False)):
        answer = retriever.retrieve(Request(query=QUERIES[0], k=MAX_K))
        walked = {edge.predicate for tool in answer.tools for edge in tool.reasons.edges}
        supplied = {binding.supplier for tool in answer.tools for binding in tool.reasons.bindings} - {""}
        lifted = [tool.id for tool in answer.tools if tool.reasons.features["resolver_boost"]]
        assert bool(walked & DEPENDENCIES) is bool(supplied) is bool(lifted) is seen
        assert "has_parameter" in walked or "has_entity" in walked, "all other edges are still walked"


def test_a_snapshot_without_some_edges_is_the_graph_without_them(snapshot: Snapshot) -> None:
    whole = snapshot_graph(snapshot)
    degrees = snapshot.tool_degrees.tolist()
    bare = snapshot.without(DEPENDENCIES)
    graph = snapshot_graph(bare)
    left = [(h, t, k, d) for h, t, k, d in whole.edges(keys=True, data=True) if d["predicate"] not in DEPENDENCIES]
    assert 0 < len(left) < whole.number_of_edges()
    assert sorted(graph.edges(keys=True)) == sorted((h, t, k) for h, t, k, _ in left)
    for head, tail, key, said in left:
        assert graph.edges[head, tail, key] == said, "an edge keeps what is known of it"
    assert len(bare.edges) == len(bare.adjacency.heads) == len(list(bare.edges)) == len(left)
    assert set(graph) == set(whole)
    assert bare.id == snapshot.id
    assert snapshot.tool_degrees.tolist() == degrees
    assert nx.utils.graphs_equal(snapshot_graph(snapshot), whole), "the snapshot itself is as it was"
    keys = [bare.node_key(number) for number in range(len(bare.nodes))]
    touching = [
        sum(head == key and tail.startswith("tool:") for head, tail, _, _ in left)
        + sum(tail == key and head.startswith("tool:") for head, tail, _, _ in left)
        for key in keys
    ]
    assert bare.tool_degrees.tolist() == touching


def test_without_clause_fusion_a_request_is_still_decomposed_and_in_paper_it_is_not(
    snapshot: Snapshot, ablations: dict[str, Retriever]
) -> None:
    """The ablation takes clause fusion away; the clauses still lead to candidates."""
    encoded: list[list[str]] = []

    class Watched(HashingEncoder):
        def encode(self, texts: Sequence[str]) -> Floats2d:
            encoded.append(list(texts))
            return super().encode(texts)

    query = QUERIES[-1]
    assert len(decompose(query)) == 2
    for name, texts in (("default-no-clauses", [query, *decompose(query)]), ("paper", [query])):
        retrievers = {**make_presets(snapshot, Watched()), **make_ablations(snapshot, Watched())}
        encoded.clear()
        retrievers[name].retrieve(Request(query=query))
        assert encoded == [texts], name
    without = GraphRetriever(snapshot, HashingEncoder(), weights=SHIPPED.replace(clause_fusion=0.0))
    assert [_tools(answer) for answer in _answers(without)] == [
        _tools(answer) for answer in _answers(ablations["default-no-clauses"])
    ]
    assert [_scores(answer) for answer in _answers(without)] != [
        _scores(answer) for answer in _answers(GraphRetriever(snapshot, HashingEncoder()))
    ]


def test_without_typed_values_needs_are_matched_as_they_are(snapshot: Snapshot) -> None:
    encoded: list[Sequence[str]] = []

    class Watched(HashingEncoder):
        def encode(self, texts: Sequence[str]) -> Floats2d:
            encoded.append(texts)
            return super().encode(texts)

    needs = [WITH_A_VALUE, QUERIES[0]]
    for retriever in (
        make_presets(snapshot, Watched())["default"],
        make_ablations(snapshot, Watched())["default-no-typed-values"],
    ):
        retriever.retrieve(Request(needs=[*needs, needs[0]]))  # equal needs are ranked once
    default, without = (list(texts) for texts in encoded if len(texts) == len(needs))
    assert default != needs and without == needs
