"""Confidence: the models by hand-made numbers, the shipped calibrations by what must hold of any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference import HashingEncoder
from inference.arrays import Floats1d
from inference.registry import ENCODER_NAMES
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.query import Query, analyse
from retrieval.ranking.confidence import (
    CALIBRATION,
    Calibration,
    Confidence,
    Judge,
    judge_for,
    need_evidence,
    read_calibration,
    yardsticks,
)
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import TOOLS

SHIPPED = sorted(folder for folder in CALIBRATION.iterdir() if folder.is_dir())
SCORES = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=60)
NEED = {"rank": -1.0, "gap": -1.0, "lead": 0.5, "": 0.0}


def foreign(*texts: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return HashingEncoder().encode(texts)


def confidence(probabilities: list[float], *, nothing_fits: bool = False) -> Confidence:
    return Confidence(
        fit=0.1 if nothing_fits else 0.9,
        nothing_fits=nothing_fits,
        probabilities=np.asarray(probabilities, dtype=np.float32),
    )


def asked(text: str) -> Query:
    return analyse(text, HashingEncoder(), {})[0]


@pytest.fixture(scope="module")
def judge(snapshot: Snapshot) -> Judge:
    needs = foreign(
        "weather forecast rain", "weather forecast", "forecast rain", "rain weather", "weather rain tonight"
    )
    fit = {"best": 4.0, "mean": 0.0, "foreign": -4.0, "standing": 0.0, "": 0.0}
    return Judge(snapshot, Calibration(foreign_FD=needs, fit=fit, need=NEED, least_fit=0.5))


class TestJudging:
    def ask(self, judge: Judge, snapshot: Snapshot, text: str) -> Confidence:
        tools = np.arange(snapshot.tool_count)
        found = judge.judge(asked(text), tools, np.linspace(1, 0, len(tools)).astype(np.float32))
        assert found is not None
        return found

    def test_what_a_tool_says_fits_better_than_what_is_foreign(self, judge: Judge, snapshot: Snapshot) -> None:
        served = self.ask(judge, snapshot, "create a purchase order with a supplier")
        unserved = self.ask(judge, snapshot, "weather forecast rain")
        assert 0 <= unserved.fit < 0.5 < served.fit <= 1
        assert unserved.nothing_fits and not served.nothing_fits
        assert served.refusal == () and f"{unserved.fit:.2f}" in unserved.refusal[0]

    def test_without_a_vector_or_a_candidate_nothing_is_said(self, judge: Judge) -> None:
        no_vector = analyse("create a purchase order", None, {})[0]
        assert judge.judge(no_vector, np.arange(2), np.ones(2, dtype=np.float32)) is None
        nothing = np.empty(0, dtype=np.float32)
        assert judge.judge(asked("create a purchase order"), np.empty(0, dtype=np.int64), nothing) is None

    def test_a_tool_that_is_no_candidate_does_not_count(self, judge: Judge, snapshot: Snapshot) -> None:
        text = "create a purchase order with a supplier"
        best = snapshot.tool_number("procurement/create_purchase_order")
        others = np.asarray([number for number in range(snapshot.tool_count) if number != best])
        without = judge.judge(asked(text), others, np.ones(len(others), dtype=np.float32))
        assert without is not None and without.fit < self.ask(judge, snapshot, text).fit

    def test_how_well_the_catalogue_serves_a_foreign_need_is_the_cosine_of_its_best_tool(
        self, snapshot: Snapshot
    ) -> None:
        needs = foreign("supplier", "weather")
        rows = snapshot.vectors.rows(np.arange(snapshot.tool_count))
        assert np.allclose(yardsticks(snapshot, needs).served_F, (rows @ needs.T).max(axis=0), atol=1e-6)


class TestAnswers:
    """What the retriever makes of a judge."""

    @pytest.fixture
    def retriever(self, snapshot: Snapshot, judge: Judge) -> GraphRetriever:
        return GraphRetriever(snapshot, HashingEncoder(), judge=judge)

    def test_the_tools_are_the_same_with_a_judge_and_without(
        self, retriever: GraphRetriever, snapshot: Snapshot
    ) -> None:
        request = Request(query="create a purchase order with a supplier", k=4)
        judged, plain = (one.retrieve(request) for one in (retriever, GraphRetriever(snapshot, HashingEncoder())))
        assert [(tool.tool_id, tool.score) for tool in judged.tools] == [
            (tool.tool_id, tool.score) for tool in plain.tools
        ]
        assert plain.fit_probability is None and plain.tools[0].probability is None
        chances = [tool.probability for tool in judged.tools]
        assert None not in chances and chances == sorted(chances, key=lambda chance: -(chance or 0.0))

    def test_auto_k_gives_a_beginning_of_the_answer(self, retriever: GraphRetriever) -> None:
        query = "create a purchase order with a supplier"
        full, short = (retriever.retrieve(Request(query=query, k=6, auto_k=auto)) for auto in (False, True))
        assert 1 <= len(short.tools) < len(full.tools)
        assert [tool.tool_id for tool in short.tools] == [tool.tool_id for tool in full.tools][: len(short.tools)]
        assert (short.no_tool_fits, short.degraded) == (False, ())

    def test_where_nothing_fits_auto_k_is_empty_and_says_why(self, retriever: GraphRetriever) -> None:
        full, none = (retriever.retrieve(Request(query="weather forecast rain", auto_k=auto)) for auto in (False, True))
        assert full.tools and full.no_tool_fits and full.degraded == ()
        assert none.tools == () and none.no_tool_fits and "no tool fits" in none.degraded[0]


class TestTools:
    @given(SCORES)
    def test_probabilities_fall_with_the_rank_and_do_not_depend_on_the_scale(self, scores: list[float]) -> None:
        plain = np.asarray(scores, dtype=np.float32)
        evidence = need_evidence(plain)
        order = np.argsort(-plain, kind="stable")
        assert np.allclose(np.exp(evidence["rank"][order]), np.arange(1, len(plain) + 1), rtol=1e-4)
        assert np.all(np.diff(evidence["gap"][order]) >= 0) and np.all(evidence["gap"] >= 0)
        doubled = need_evidence(2 * plain)
        if plain.std() > 1e-3:
            assert all(np.allclose(doubled[name], evidence[name], rtol=1e-3, atol=1e-3) for name in evidence)

    @given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30), st.integers(1, 30))
    def test_enough_is_the_shortest_beginning_that_leaves_half_a_tool(self, chances: list[float], most: int) -> None:
        ranked = sorted(chances, reverse=True)
        kept = confidence(ranked).enough(np.arange(len(ranked))[:most])
        assert list(kept) == list(range(len(kept))) and 1 <= len(kept) <= most
        assert sum(ranked[len(kept) :]) <= 0.5 + 1e-4 or len(kept) == min(most, len(ranked))
        assert len(kept) == 1 or sum(ranked[len(kept) - 1 :]) > 0.5 - 1e-4

    def test_where_nothing_fits_no_tool_is_enough(self) -> None:
        assert list(confidence([0.9, 0.8], nothing_fits=True).enough(np.arange(2))) == []

    def test_of_no_candidate_none_is_kept(self) -> None:
        assert list(confidence([]).enough(np.arange(0))) == []


class TestShipped:
    def test_one_ships(self) -> None:
        assert SHIPPED
        assert {folder.name for folder in SHIPPED} <= set(ENCODER_NAMES)

    @pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
    def test_it_means_what_it_must(self, folder: Path) -> None:
        shipped = read_calibration(folder)
        assert np.allclose(np.linalg.norm(shipped.foreign_FD, axis=1), 1, atol=1e-5)
        assert shipped.fit["best"] > 0 > shipped.fit["foreign"], "near tools speak for, near foreign needs against"
        assert shipped.need["rank"] <= 0 and shipped.need["gap"] <= 0, "probabilities fall with the rank"
        assert 0 < shipped.least_fit < 1
        assert set(shipped.need) == {*need_evidence(np.zeros(1, dtype=np.float32)), ""}

    def test_an_encoder_without_one_gets_no_judge(self, snapshot: Snapshot, content: SnapshotContent) -> None:
        assert judge_for(snapshot, content.encoder.name) is None
        assert judge_for(snapshot, "another.v1") is None

    def test_the_yardsticks_are_those_of_the_snapshot(self, snapshot: Snapshot) -> None:
        needs: Floats1d = foreign("supplier")
        assert len(yardsticks(snapshot, needs).sample_SD) == snapshot.tool_count == len(TOOLS)
