"""The feature matrix: with any weights it gives the ranking that the retriever gives with them."""

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
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.clause_fusion import fuse_clauses
from retrieval.ranking.feature_matrix import FeatureMatrix, feature_matrix, weighted_sum
from retrieval.ranking.features import FEATURES, TEXT_FEATURES
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED, RankingWeights
from retrieval.ranking.z_scores import standardise
from retrieval.snapshot.reader import Snapshot, open_snapshot
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
    for pool in ("POOL", "CLAUSE_POOL"):
        monkeypatch.setattr(f"retrieval.candidates.candidate_generation.{pool}", 1)


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


def ranking_with(retriever: GraphRetriever, request: Request, weights: RankingWeights) -> Ranking:
    """The completed ranking, from the feature matrix."""
    context = retriever.find_candidates(request)
    matrix = feature_matrix(context)
    ranking = Ranking(tools=matrix.tools, scores=matrix.scores(weights), features={})
    return retriever.complete(context, ranking, margin=weights.resolver_margin)


def ids_of(snapshot: Snapshot, ranking: Ranking) -> list[str]:
    """The ids of the ranked tools, best first."""
    return [snapshot.tool_id(int(tool)) for tool in ranking.tools[ranking.best(len(ranking.tools))]]


def ranked_alike(snapshot: Snapshot, text: str, weights: RankingWeights) -> list[str]:
    """Check that the matrix ranks as the retriever with these weights; returns the ids of the tools."""
    request = Request(query=text, k=MAX_K)
    ranking = ranking_with(GraphRetriever(snapshot, HashingEncoder()), request, weights)
    asked = GraphRetriever(snapshot, HashingEncoder(), weights=weights).retrieve(request)
    found = ids_of(snapshot, ranking)
    assert found == [tool.id for tool in asked.tools]
    tools = ranking.tools.tolist()
    assert tools == sorted(set(tools))
    of = {snapshot.tool_id(tool): round(float(score), 6) for score, tool in zip(ranking.scores, tools, strict=True)}
    assert of == {tool.id: tool.score for tool in asked.tools}
    return found


@unhurried
@given(text=st.sampled_from(REQUESTS), weights=weights_of)
def test_the_matrix_ranks_as_the_retriever_with_these_weights(
    snapshot: Snapshot, text: str, weights: RankingWeights
) -> None:
    ranked_alike(snapshot, text, weights)


@unhurried
@given(weights=weights_of)
@pytest.mark.usefixtures("small_pools")
def test_and_so_do_tools_that_join_because_they_are_needed(needing: Snapshot, weights: RankingWeights) -> None:
    text = "give Jan a spot award"
    context = GraphRetriever(needing, HashingEncoder()).find_candidates(Request(query=text))
    assert needing.tool_number(NEEDED) not in context.candidates
    found = ranked_alike(needing, text, weights)
    if "hr/give_spot_award" in found[:3]:
        assert NEEDED in found


def test_what_joins_may_be_seen(needing: Snapshot) -> None:
    """A filter holds for what completes an answer as for what is in it."""
    request = Request(query="give Jan a spot award", k=MAX_K, filters={"line_of_business": ("HR",)})
    retriever = GraphRetriever(needing, HashingEncoder())
    assert NEEDED not in ids_of(needing, ranking_with(retriever, request, SHIPPED))
    assert NEEDED not in {tool.id for tool in retriever.retrieve(request).tools}


def test_where_the_answer_is_not_completed_scores_are_those_of_the_retriever(needing: Snapshot) -> None:
    retriever = GraphRetriever(needing, HashingEncoder())
    for text in REQUESTS:
        matrix = feature_matrix(retriever.find_candidates(Request(query=text, k=MAX_K)))
        scores = matrix.scores(SHIPPED)
        for tool in retriever.retrieve(Request(query=text, k=MAX_K)).tools:
            at = int(np.searchsorted(matrix.tools, needing.tool_number(tool.id)))
            boost = tool.reasons.features["resolver_boost"] + tool.reasons.features["dependency_boost"]
            assert tool.score == pytest.approx(float(scores[at]) + boost, abs=1e-4)


def test_where_only_cosines_count_and_the_encoder_is_down_nothing_breaks(snapshot: Snapshot) -> None:
    class Down(HashingEncoder):
        def encode(self, texts: Sequence[str]) -> Floats2d:
            raise ModelError("it does not answer")

    cosines = RankingWeights(**{**dict.fromkeys(TEXT_FEATURES, 0.0), "cosine_text": 1.0})
    for weights in (cosines, cosines.replace(graph_support=0.0), cosines.replace(graph_support=0.0, clause_fusion=0.0)):
        retriever = GraphRetriever(snapshot, Down(), weights=weights)
        answer = retriever.retrieve(Request(query=REQUESTS[0], k=3))
        assert answer.tools
        assert answer.fallbacks == ("no semantic matching: it does not answer",)


def test_scores_are_the_sum_of_the_features_and_clause_fusion(snapshot: Snapshot) -> None:
    features = {
        "bm25_text": np.array([1.0, -1.0, 0.0], dtype=np.float32),
        "graph_support": np.array([0.5, 0.5, -1.0], dtype=np.float32),
    }
    clauses_CT = np.array([[0.0, 2.0, -1.0]], dtype=np.float32)
    none = np.empty((0, 3), dtype=np.float32)
    tools = np.array([3, 5, 8])
    weights = RankingWeights(bm25_text=2.0, graph_support=4.0, clause_fusion=1.5)
    whole = weighted_sum(features, weights)
    assert whole.tolist() == [4.0, 0.0, -4.0]
    without_clauses = FeatureMatrix(tools=tools, standardised=features, clauses_CT=none)
    assert without_clauses.scores(weights).tolist() == whole.tolist()
    matrix = FeatureMatrix(tools=tools, standardised=features, clauses_CT=clauses_CT)
    fused = matrix.scores(weights)
    assert fused == pytest.approx(standardise(whole) + 1.5 * fuse_clauses(clauses_CT, standardise(whole)))
    again = matrix.scores(weights.replace(bm25_text=4.0, graph_support=8.0))
    assert again == pytest.approx(fused), "only the proportion of the features matters"
    assert matrix.scores(weights.replace(clause_fusion=0.0)).tolist() == whole.tolist()


def test_the_matrix_has_every_feature_in_the_order_of_the_table(snapshot: Snapshot) -> None:
    context = GraphRetriever(snapshot, HashingEncoder()).find_candidates(Request(query=REQUESTS[-1]))
    matrix = feature_matrix(context)
    assert list(matrix.standardised) == [feature.name for feature in FEATURES]
    assert matrix.clauses_CT.shape == (len(context.query.clauses), len(matrix.tools))
