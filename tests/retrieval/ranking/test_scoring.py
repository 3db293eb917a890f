"""Candidates: what they are scored and ranked by is what the retriever does with the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import Floats2d, HashingEncoder
from ontology import Dependency, Ontology, Tool
from ontology.errors import ModelError
from retrieval.config import RetrievalConfig
from retrieval.graph_retriever import GraphRetriever
from retrieval.ranking.clause_fusion import votes
from retrieval.ranking.fusion import Ranking, standardise, weighed
from retrieval.ranking.scoring import Candidates
from retrieval.retriever import MAX_K, Request
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.weights import FUSED, PLAIN, SHIPPED, RankingWeights
from tests.retrieval.conftest import REQUESTS, TOOLS, content_of, published

NEEDED = "device/unlock"


@pytest.fixture(scope="module")
def needing(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Snapshot:
    """The catalogue with tools that no request names, a chain of what the award cannot do without."""
    chain = ("hr/give_spot_award", "device/badge", "device/door", NEEDED)
    needs = {tool: (Dependency(tool=needed, reason="it must be open"),) for tool, needed in pairwise(chain)}
    tools = [replace(tool, depends_on=needs.get(tool.id, ())) for tool in TOOLS]
    tools += [
        Tool(
            id=id_,
            name=id_.removeprefix("device/"),
            description="Opens it.",
            depends_on=needs.get(id_, ()),
            metadata={"line_of_business": id_},
        )
        for id_ in chain[1:]
    ]
    store = tmp_path_factory.mktemp("needing")
    published(store, content_of(tools, ontology))
    return open_snapshot(store)


@pytest.fixture
def small_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools that do not hold the whole of a small catalogue."""
    for pool in ("_POOL", "_CLAUSE_POOL"):
        monkeypatch.setattr(f"retrieval.graph_retriever.{pool}", 1)


weight = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])
weights_of = st.builds(
    RankingWeights,
    bm25_text=st.sampled_from([0.1, 1.0, 4.0]),
    bm25_params=weight,
    bm25_returns=weight,
    bm25_values=weight,
    cosine_text=weight,
    cosine_name=weight,
    name_coverage=weight,
    graph_support=weight,
    clause_fusion=weight,
    resolver_margin=st.sampled_from([0.0, 0.1, 0.75, 3.0]),
)
unhurried = settings(max_examples=40)


def ranked_alike(snapshot: Snapshot, text: str, weights: RankingWeights) -> list[str]:
    """Check that candidates rank as the retriever with these weights, and what that is."""
    request = Request(query=text, k=MAX_K)
    candidates = GraphRetriever(snapshot, HashingEncoder()).candidates(request)
    asked = GraphRetriever(snapshot, HashingEncoder(), weights=weights).retrieve(request)
    found = [snapshot.tool_id(int(tool)) for tool in candidates.ranked(weights)]
    assert found == [tool.id for tool in asked.tools]
    scores, tools = candidates.completed(weights)
    assert tools.tolist() == sorted(set(tools.tolist()))
    of = {snapshot.tool_id(int(tool)): round(float(score), 6) for score, tool in zip(scores, tools, strict=True)}
    assert of == {tool.id: tool.score for tool in asked.tools}
    return found


@unhurried
@given(text=st.sampled_from(REQUESTS), weights=weights_of)
def test_candidates_rank_as_the_retriever_with_these_weights(
    snapshot: Snapshot, text: str, weights: RankingWeights
) -> None:
    ranked_alike(snapshot, text, weights)


@unhurried
@given(weights=weights_of)
@pytest.mark.usefixtures("small_pools")
def test_and_so_do_tools_that_join_because_they_are_needed(needing: Snapshot, weights: RankingWeights) -> None:
    text = "give Jan a spot award"
    candidates = GraphRetriever(needing, HashingEncoder()).candidates(Request(query=text))
    number = needing.tool_number(NEEDED)
    assert number not in candidates.tools
    found = ranked_alike(needing, text, weights)
    if "hr/give_spot_award" in found[:3]:
        assert NEEDED in found


def test_what_joins_may_be_seen(needing: Snapshot) -> None:
    """A filter holds for what completes an answer as for what is in it."""
    request = Request(query="give Jan a spot award", k=MAX_K, filters={"line_of_business": ("HR",)})
    retriever = GraphRetriever(needing, HashingEncoder())
    assert needing.tool_number(NEEDED) not in retriever.candidates(request).ranked(SHIPPED)
    assert NEEDED not in {tool.id for tool in retriever.retrieve(request).tools}


def test_where_the_answer_is_not_completed_scores_are_those_of_the_retriever(needing: Snapshot) -> None:
    retriever = GraphRetriever(needing, HashingEncoder())
    for text in REQUESTS:
        candidates = retriever.candidates(Request(query=text, k=MAX_K))
        scores = candidates.scores(SHIPPED)
        for tool in retriever.retrieve(Request(query=text, k=MAX_K)).tools:
            at = int(np.searchsorted(candidates.tools, needing.tool_number(tool.id)))
            lift = tool.reasons.features["resolver_boost"] + tool.reasons.features["dependency_boost"]
            assert tool.score == pytest.approx(float(scores[at]) + lift, abs=1e-4)


def test_where_only_cosines_count_and_the_encoder_is_down_nothing_breaks(snapshot: Snapshot) -> None:
    class Down(HashingEncoder):
        def encode(self, texts: Sequence[str]) -> Floats2d:
            raise ModelError("it does not answer")

    cosines = RankingWeights(**{**dict.fromkeys(FUSED, 0.0), "cosine_text": 1.0})
    for config in (
        RetrievalConfig(),
        RetrievalConfig(graph_support=False),
        RetrievalConfig(graph_support=False, clause_fusion=False),
    ):
        retriever = GraphRetriever(snapshot, Down(), weights=cosines, config=config)
        answer = retriever.retrieve(Request(query=REQUESTS[0], k=3))
        assert answer.tools
        assert answer.fallbacks == ("no semantic matching: it does not answer",)


def test_scores_are_the_sum_of_the_signals_and_the_votes(snapshot: Snapshot) -> None:
    features = {
        "bm25_text": np.array([1.0, -1.0, 0.0], dtype=np.float32),
        "graph_support": np.array([0.5, 0.5, -1.0], dtype=np.float32),
    }
    clauses_CT = np.array([[0.0, 2.0, -1.0]], dtype=np.float32)
    none = np.empty((0, 3), dtype=np.float32)
    tools = np.array([3, 5, 8])
    weights = RankingWeights(bm25_text=2.0, graph_support=4.0, clause_fusion=1.5)
    whole = weighed(features, weights.features)
    assert whole.tolist() == [4.0, 0.0, -4.0]
    silent = Candidates(tools=tools, standardised=features, clauses_CT=none)
    assert silent.scores(weights).tolist() == whole.tolist()
    voted = Candidates(tools=tools, standardised=features, clauses_CT=clauses_CT).scores(weights)
    assert voted == pytest.approx(standardise(whole) + 1.5 * votes(clauses_CT, standardise(whole)))
    doubled = replace(weights, bm25_text=4.0, graph_support=8.0)
    again = Candidates(tools=tools, standardised=features, clauses_CT=clauses_CT).scores(doubled)
    assert again == pytest.approx(voted), "only the proportion of the features matters"


def test_ranked_is_best_first_ties_by_number_and_completed_with_the_margin() -> None:
    tools = np.array([2, 4, 6, 9])
    features = {"bm25_text": np.array([1.0, 3.0, 1.0, 2.0], dtype=np.float32)}
    none = np.empty((0, 4), dtype=np.float32)
    assert Candidates(tools=tools, standardised=features, clauses_CT=none).ranked(PLAIN).tolist() == [4, 9, 2, 6]
    margins = []

    def complete(ranking: Ranking, margin: float) -> tuple[Ranking, np.ndarray]:
        margins.append(margin)
        return replace(ranking, scores=np.append(ranking.scores, np.float32(2.5)), features={}), np.append(tools, 11)

    case = Candidates(tools=tools, standardised=features, clauses_CT=none, complete=complete)
    assert case.ranked(replace(PLAIN, resolver_margin=0.25)).tolist() == [4, 11, 9, 2, 6]
    assert margins == [0.25]
