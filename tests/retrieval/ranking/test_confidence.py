"""Confidence: the models by hand-made numbers, the shipped calibrations by what must hold of any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference import HashingEncoder
from inference.arrays import Floats1d
from inference.registry import ENCODER_NAMES
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.confidence import (
    CALIBRATION,
    Calibration,
    Confidence,
    ConfidenceModel,
    background_statistics,
    confidence_model_for,
    read_calibration,
    tool_evidence,
)
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import TOOLS

SHIPPED = sorted(folder for folder in CALIBRATION.iterdir() if folder.is_dir())
SCORES = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=60)
NEEDED = {"rank": -1.0, "gap": -1.0, "lead": 0.5, "": 0.0}


def background(*texts: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return HashingEncoder().encode(texts)


def confidence(probabilities: list[float], *, unanswerable: bool = False) -> Confidence:
    return Confidence(
        answerable=0.1 if unanswerable else 0.9,
        unanswerable=unanswerable,
        probabilities=np.asarray(probabilities, dtype=np.float32),
    )


def context_of(snapshot: Snapshot, text: str, encoder: HashingEncoder | None) -> QueryContext:
    return QueryContext.begin(Request(query=text), snapshot, encoder)


def ranking_of(tools: NDArray[np.int64], scores: Floats1d) -> Ranking:
    return Ranking(tools=tools, scores=scores, features={})


@pytest.fixture(scope="module")
def model(snapshot: Snapshot) -> ConfidenceModel:
    queries = background(
        "weather forecast rain", "weather forecast", "forecast rain", "rain weather", "weather rain tonight"
    )
    answerable = {"best": 4.0, "mean": 0.0, "background": -4.0, "standing": 0.0, "": 0.0}
    return ConfidenceModel(
        snapshot, Calibration(background_BD=queries, answerable=answerable, needed=NEEDED, threshold=0.5)
    )


class TestEstimate:
    def ask(self, model: ConfidenceModel, snapshot: Snapshot, text: str) -> Confidence:
        tools = np.arange(snapshot.tool_count)
        ranking = ranking_of(tools, np.linspace(1, 0, len(tools)).astype(np.float32))
        found = model.estimate(context_of(snapshot, text, HashingEncoder()), ranking)
        assert found is not None
        return found

    def test_a_request_near_a_tool_is_more_answerable_than_one_near_the_background(
        self, model: ConfidenceModel, snapshot: Snapshot
    ) -> None:
        served = self.ask(model, snapshot, "create a purchase order with a supplier")
        unserved = self.ask(model, snapshot, "weather forecast rain")
        assert 0 <= unserved.answerable < 0.5 < served.answerable <= 1
        assert unserved.unanswerable and not served.unanswerable

    def test_without_a_vector_or_a_candidate_nothing_is_said(self, model: ConfidenceModel, snapshot: Snapshot) -> None:
        text = "create a purchase order"
        two = ranking_of(np.arange(2), np.ones(2, dtype=np.float32))
        assert model.estimate(context_of(snapshot, text, None), two) is None
        none = ranking_of(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        assert model.estimate(context_of(snapshot, text, HashingEncoder()), none) is None

    def test_a_tool_that_is_no_candidate_does_not_count(self, model: ConfidenceModel, snapshot: Snapshot) -> None:
        text = "create a purchase order with a supplier"
        best = snapshot.tool_number("procurement/create_purchase_order")
        others = np.asarray([number for number in range(snapshot.tool_count) if number != best])
        ranking = ranking_of(others, np.ones(len(others), dtype=np.float32))
        without = model.estimate(context_of(snapshot, text, HashingEncoder()), ranking)
        assert without is not None and without.answerable < self.ask(model, snapshot, text).answerable

    def test_how_well_the_catalogue_serves_a_background_query_is_the_cosine_of_its_best_tool(
        self, snapshot: Snapshot
    ) -> None:
        queries = background("supplier", "weather")
        rows = snapshot.vectors.rows(np.arange(snapshot.tool_count))
        assert np.allclose(background_statistics(snapshot, queries).served_B, (rows @ queries.T).max(axis=0), atol=1e-6)


class TestAnswers:
    """What the retriever makes of a confidence model."""

    @pytest.fixture
    def retriever(self, snapshot: Snapshot, model: ConfidenceModel) -> GraphRetriever:
        return GraphRetriever(snapshot, HashingEncoder(), confidence=model)

    def test_the_tools_are_the_same_with_a_model_and_without(
        self, retriever: GraphRetriever, snapshot: Snapshot
    ) -> None:
        request = Request(query="create a purchase order with a supplier", k=4)
        with_model, plain = (one.retrieve(request) for one in (retriever, GraphRetriever(snapshot, HashingEncoder())))
        assert [(tool.id, tool.score) for tool in with_model.tools] == [(tool.id, tool.score) for tool in plain.tools]
        assert plain.answerable_probability is None and plain.tools[0].probability is None
        chances = [tool.probability for tool in with_model.tools]
        assert None not in chances and chances == sorted(chances, key=lambda chance: -(chance or 0.0))

    def test_auto_k_gives_a_beginning_of_the_answer(self, retriever: GraphRetriever) -> None:
        query = "create a purchase order with a supplier"
        full, short = (retriever.retrieve(Request(query=query, k=6, auto_k=auto)) for auto in (False, True))
        assert 1 <= len(short.tools) < len(full.tools)
        assert [tool.id for tool in short.tools] == [tool.id for tool in full.tools][: len(short.tools)]
        assert (short.unanswerable, short.fallbacks) == (False, ())

    def test_where_nothing_fits_auto_k_is_empty_and_says_why(self, retriever: GraphRetriever) -> None:
        full, none = (retriever.retrieve(Request(query="weather forecast rain", auto_k=auto)) for auto in (False, True))
        assert full.tools and full.unanswerable and full.fallbacks == ()
        assert none.tools == () and none.unanswerable and "no tool fits" in none.fallbacks[0]
        assert f"{none.answerable_probability:.2f}" in none.fallbacks[0]


class TestTools:
    @given(SCORES)
    def test_probabilities_fall_with_the_rank_and_do_not_depend_on_the_scale(self, scores: list[float]) -> None:
        plain = np.asarray(scores, dtype=np.float32)
        evidence = tool_evidence(plain)
        order = np.argsort(-plain, kind="stable")
        assert np.allclose(np.exp(evidence["rank"][order]), np.arange(1, len(plain) + 1), rtol=1e-4)
        assert np.all(np.diff(evidence["gap"][order]) >= 0) and np.all(evidence["gap"] >= 0)
        doubled = tool_evidence(2 * plain)
        if plain.std() > 1e-3:
            assert all(np.allclose(doubled[name], evidence[name], rtol=1e-3, atol=1e-3) for name in evidence)

    @given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30), st.integers(1, 30))
    def test_enough_is_the_shortest_beginning_that_leaves_half_a_tool(self, chances: list[float], most: int) -> None:
        ranked = sorted(chances, reverse=True)
        kept = confidence(ranked).sufficient(np.arange(len(ranked))[:most])
        assert list(kept) == list(range(len(kept))) and 1 <= len(kept) <= most
        assert sum(ranked[len(kept) :]) <= 0.5 + 1e-4 or len(kept) == min(most, len(ranked))
        assert len(kept) == 1 or sum(ranked[len(kept) - 1 :]) > 0.5 - 1e-4

    def test_where_nothing_fits_no_tool_is_enough(self) -> None:
        assert list(confidence([0.9, 0.8], unanswerable=True).sufficient(np.arange(2))) == []

    def test_of_no_candidate_none_is_kept(self) -> None:
        assert list(confidence([]).sufficient(np.arange(0))) == []


class TestShipped:
    def test_one_ships(self) -> None:
        assert SHIPPED
        assert {folder.name for folder in SHIPPED} <= set(ENCODER_NAMES)

    @pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
    def test_it_means_what_it_must(self, folder: Path) -> None:
        shipped = read_calibration(folder)
        assert np.allclose(np.linalg.norm(shipped.background_BD, axis=1), 1, atol=1e-5)
        assert shipped.answerable["best"] > 0 > shipped.answerable["background"], (
            "near tools count for, near background against"
        )
        assert shipped.needed["rank"] <= 0 and shipped.needed["gap"] <= 0, "probabilities fall with the rank"
        assert 0 < shipped.threshold < 1
        assert set(shipped.needed) == {*tool_evidence(np.zeros(1, dtype=np.float32)), ""}

    def test_an_encoder_without_one_gets_no_model(self, snapshot: Snapshot, content: SnapshotContent) -> None:
        assert confidence_model_for(snapshot, content.encoder.name) is None
        assert confidence_model_for(snapshot, "another.v1") is None

    def test_the_statistics_are_those_of_the_snapshot(self, snapshot: Snapshot) -> None:
        queries: Floats1d = background("supplier")
        assert len(background_statistics(snapshot, queries).sample_SD) == snapshot.tool_count == len(TOOLS)
