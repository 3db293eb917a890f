"""Reranking: the best candidates are scored again, no score falls, and without the model the answer is as before."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import Floats1d, HashingEncoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import make_presets
from retrieval.query.context import QueryContext
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.fusion import PromotingReranker
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

TOOLS = np.arange(6, dtype=np.int64)
TEXT = "find the supplier and create a purchase order"


class _Scripted:
    """Gives the documents, in their order, the scores that it was made with."""

    name = "scripted.v1"

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = scores
        self.documents: list[str] = []
        self.query = ""

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        self.query, self.documents = query, list(documents)
        return np.asarray(self.scores[: len(documents)], dtype=np.float32)


def _context(snapshot: Snapshot) -> QueryContext:
    return QueryContext.begin(Request(query=TEXT), snapshot, None)


def _ranking(scores: Sequence[float]) -> Ranking:
    values = np.asarray(scores, dtype=np.float32)
    return Ranking(tools=TOOLS[: len(scores)], scores=values, features={"bm25_text": values})


def _reranked(
    snapshot: Snapshot, scores: Sequence[float], given: Sequence[float], *, depth: int = 16, weight: float = 0.5
) -> Ranking:
    context = _context(snapshot)
    ranking = PromotingReranker(_Scripted(given), depth=depth, weight=weight).rerank(context, _ranking(scores))
    assert context.fallbacks == []
    return ranking


score = st.floats(-8, 8, width=32).map(lambda value: round(value, 2))
six = st.lists(score, min_size=6, max_size=6)


@settings(max_examples=200)
@given(scores=six, given_scores=six, depth=st.integers(2, 6), weight=st.floats(0, 4))
def test_it_only_promotes_and_what_is_not_scored_stays_as_it_was(
    snapshot: Snapshot, scores: list[float], given_scores: list[float], depth: int, weight: float
) -> None:
    before = _ranking(scores).scores
    after = _reranked(snapshot, scores, given_scores, depth=depth, weight=weight).scores
    read = _ranking(scores).best(depth)
    others = np.setdiff1d(TOOLS, read)
    assert after[others].tolist() == before[others].tolist()
    assert (after[read] >= before[read]).all()
    rose = np.flatnonzero(after > before)
    score_of = dict(zip(read.tolist(), given_scores, strict=False))
    assert all(score_of[at] > np.mean(given_scores[: len(read)]) for at in rose), (
        "only what the model scores above the mean rises"
    )


def test_what_the_reranker_prefers_is_ranked_higher_and_still_completed(snapshot: Snapshot) -> None:
    """The resolvers of the tools that are best after reranking are boosted, not of those before it."""

    class Awards:
        name = "awards.v1"

        def score(self, query: str, documents: Sequence[str]) -> Floats1d:
            return np.asarray(["spot award" in document for document in documents], dtype=np.float32)

    request = Request(query="create a purchase order of 100", k=MAX_K)
    reranker = PromotingReranker(Awards(), weight=50.0)
    plain = GraphRetriever(snapshot, HashingEncoder()).retrieve(request)
    answer = GraphRetriever(snapshot, HashingEncoder(), reranker=reranker).retrieve(request)
    assert plain.tools[0].id == "procurement/create_purchase_order"
    assert answer.tools[0].id == "hr/give_spot_award"
    boosted = {tool.id for tool in answer.tools if tool.reasons.features["resolver_boost"] > 0}
    assert "hr/search_employees" in boosted


def test_each_need_is_reranked_by_itself_and_the_preset_fast_reranks_nothing(snapshot: Snapshot) -> None:
    asked: list[str] = []

    class Last:
        """Likes what stands last."""

        name = "last.v1"

        def score(self, query: str, documents: Sequence[str]) -> Floats1d:
            asked.append(query.lower())
            return np.asarray(np.eye(1, len(documents), len(documents) - 1)[0], dtype=np.float32)

    needs = ("create a purchase order", "find an employee by name")
    presets = make_presets(snapshot, HashingEncoder(), Last(), baselines=False)
    plain, reranked = (presets[name].retrieve(Request(needs=needs)) for name in ("fast", "default"))
    assert sorted(asked) == sorted(needs)
    before, after = ([each.tool for each in answer.need_results] for answer in (plain, reranked))
    assert before[0] == "procurement/create_purchase_order" and all(np.asarray(before) != np.asarray(after))
    first, second = ([each.unserved for each in answer.need_results] for answer in (plain, reranked))
    assert first == second, "whether a need is served is not the reranker's to say"
