"""The second look: the best candidates are read again, none falls, and a dead reader takes nothing away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import Floats1d, HashingEncoder
from ontology.errors import ModelError
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.query import Query, analyse
from retrieval.ranking.fusion import Ranking, order
from retrieval.ranking.rerank import PromotingReranker
from retrieval.retriever import MAX_K, Request
from retrieval.snapshot.reader import Snapshot

TOOLS = np.arange(6, dtype=np.int64)
TEXT = "find the supplier and create a purchase order"


class _Reader:
    """Says of each text, in the order in which they are read, what it was told to."""

    name = "reader.v1"

    def __init__(self, said: Sequence[float] = ()) -> None:
        self.said = said
        self.read: list[str] = []
        self.asked = ""

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        self.asked, self.read = query, list(documents)
        said = self.said or [0.0] * len(documents)
        return np.asarray(said[: len(documents)], dtype=np.float32)


class _Dead:
    name = "dead.v1"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        raise ModelError("the endpoint does not answer", subject="http://127.0.0.1:9")


def _query() -> Query:
    query, _ = analyse(TEXT, None, {})
    return query


def _ranking(scores: Sequence[float]) -> Ranking:
    values = np.asarray(scores, dtype=np.float32)
    return Ranking(scores=values, features={"bm25_text": values})


def _look(
    snapshot: Snapshot, scores: Sequence[float], said: Sequence[float], *, some: int = 16, weight: float = 0.5
) -> Ranking:
    look = PromotingReranker(snapshot, _Reader(said), some=some, weight=weight)
    ranking, fallbacks = look(_ranking(scores), _query(), TOOLS)
    assert fallbacks == ()
    return ranking


score = st.floats(-8, 8, width=32).map(lambda value: round(value, 2))
six = st.lists(score, min_size=6, max_size=6)


@settings(max_examples=200)
@given(scores=six, said=six, some=st.integers(2, 6), weight=st.floats(0, 4))
def test_it_only_promotes_and_what_is_not_read_stays_as_it_was(
    snapshot: Snapshot, scores: list[float], said: list[float], some: int, weight: float
) -> None:
    before = _ranking(scores).scores
    after = _look(snapshot, scores, said, some=some, weight=weight).scores
    read = order(before, TOOLS, some)
    others = np.setdiff1d(TOOLS, read)
    assert after[others].tolist() == before[others].tolist()
    assert (after[read] >= before[read]).all()
    rose = np.flatnonzero(after > before)
    heard = dict(zip(read.tolist(), said, strict=False))
    assert all(heard[at] > np.mean(said[: len(read)]) for at in rose), (
        "only what the reader likes better than the mean rises"
    )


@settings(max_examples=100)
@given(scores=six, said=six, factor=st.sampled_from([0.5, 2.0, 8.0]))
def test_what_it_adds_keeps_its_proportion_to_the_scores(
    snapshot: Snapshot, scores: list[float], said: list[float], factor: float
) -> None:
    once = _look(snapshot, scores, said).scores - _ranking(scores).scores
    scaled = [factor * value for value in scores]
    if np.std(scores) > 1e-3:
        more = _look(snapshot, scaled, said).scores - _ranking(scaled).scores
        assert more == pytest.approx(factor * once, rel=1e-3, abs=1e-4)


def test_a_reader_that_prefers_a_candidate_lifts_it_and_a_heavier_one_to_the_top(snapshot: Snapshot) -> None:
    scores = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    prefers_fourth = [0.0, 0.0, 0.0, 9.0, 0.0, 0.0]
    light = _look(snapshot, scores, prefers_fourth, weight=0.3).scores
    heavy = _look(snapshot, scores, prefers_fourth, weight=3.0).scores
    assert order(light, TOOLS, 6).tolist() == [0, 1, 3, 2, 4, 5]
    assert order(heavy, TOOLS, 1).tolist() == [3]


def test_a_reader_to_whom_all_are_alike_changes_nothing(snapshot: Snapshot) -> None:
    scores = [6.0, 5.5, 4.0, 3.0, 2.0, 1.0]
    assert _look(snapshot, scores, [0.7] * 6, some=4).scores == pytest.approx(np.asarray(scores), abs=1e-5)


def test_ties_are_broken_by_the_reader(snapshot: Snapshot) -> None:
    found = _look(snapshot, [2.0, 2.0, 2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 5.0], some=3).scores
    assert order(found, TOOLS, 4).tolist() == [2, 0, 1, 3]


def test_the_best_are_read_with_the_request_each_by_title_description_and_names_of_inputs(snapshot: Snapshot) -> None:
    reader = _Reader([3.0, 1.0])
    ranking, _ = PromotingReranker(snapshot, reader, some=2)(_ranking([0, 4, 1, 5, 2, 3]), _query(), TOOLS)
    assert reader.asked == TEXT
    assert reader.read == [_read_text(snapshot, 3), _read_text(snapshot, 1)]
    assert ranking.features["reranker"].tolist() == [0, 1, 0, 3, 0, 0]
    assert ranking.features["bm25_text"].tolist() == [0, 4, 1, 5, 2, 3]


def _read_text(snapshot: Snapshot, number: int) -> str:
    tool = snapshot.tool(number)
    return f"{tool.title}. {tool.description} {' '.join(parameter.name for parameter in tool.parameters)}"


def test_a_request_of_several_clauses_is_left_to_their_votes(snapshot: Snapshot) -> None:
    text = "find the supplier Acme in Leeds and create a new purchase order for it"
    query, _ = analyse(text, None, {}, split=True)
    ranking = _ranking([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    assert len(query.clauses) == 2
    assert PromotingReranker(snapshot, _Dead())(ranking, query, TOOLS) == (ranking, ())


@pytest.mark.parametrize("count", [0, 1])
def test_where_there_is_no_choice_nobody_is_asked(snapshot: Snapshot, count: int) -> None:
    ranking = _ranking([1.0] * count)
    assert PromotingReranker(snapshot, _Dead())(ranking, _query(), TOOLS[:count]) == (ranking, ())


def test_a_dead_reader_leaves_the_answer_as_it_was_and_says_so(snapshot: Snapshot) -> None:
    request = Request(query=TEXT, k=MAX_K)
    plain = GraphRetriever(snapshot, HashingEncoder()).retrieve(request)
    answer = GraphRetriever(snapshot, HashingEncoder(), reranker=PromotingReranker(snapshot, _Dead())).retrieve(request)
    assert answer.tools == plain.tools
    assert plain.fallbacks == ()
    assert answer.fallbacks == ("no reranking: the endpoint does not answer",)


def test_what_the_look_prefers_is_ranked_higher_and_still_completed(snapshot: Snapshot) -> None:
    """The resolvers of the tools that are best after the look are lifted, not of those before it."""

    class Awards:
        name = "awards.v1"

        def score(self, query: str, documents: Sequence[str]) -> Floats1d:
            return np.asarray(["spot award" in document for document in documents], dtype=np.float32)

    request = Request(query="create a purchase order of 100", k=MAX_K)
    look = PromotingReranker(snapshot, Awards(), weight=50.0)
    plain = GraphRetriever(snapshot, HashingEncoder()).retrieve(request)
    answer = GraphRetriever(snapshot, HashingEncoder(), reranker=look).retrieve(request)
    assert plain.tools[0].id == "procurement/create_purchase_order"
    assert answer.tools[0].id == "hr/give_spot_award"
    lifted = {tool.id for tool in answer.tools if tool.reasons.features["resolver_boost"] > 0}
    assert "hr/search_employees" in lifted
