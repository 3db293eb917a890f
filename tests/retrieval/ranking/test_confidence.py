"""Confidence: the models by hand-made numbers, the shipped calibrations by what must hold of any."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from inference import HashingEncoder
from inference.encoder import Floats1d
from ontology.errors import ModelError
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.confidence import (
    CALIBRATION,
    SERVED_EVIDENCE,
    TASK_EVIDENCE,
    Background,
    Calibration,
    Confidence,
    ConfidenceModel,
    read_calibration,
)
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

SHIPPED = sorted(folder for folder in CALIBRATION.iterdir() if folder.is_dir())
WEIGHTS = {"rank": -1.0, "gap": -1.0, "lead": 0.5, "fifth": 0.0, "tenth": 0.0, "clauses": 0.0, "": 0.0}
TALK = ("thanks a lot", "tell me a joke", "what is the capital of France", "see you tomorrow")
TASKS = ("weather forecast rain", "forecast rain", "rain weather", "weather rain tonight", "feed the dog")


def background(talk: tuple[str, ...] = TALK, tasks: tuple[str, ...] = TASKS) -> Background:
    encode = HashingEncoder().encode
    probe = np.zeros(HashingEncoder().dimensions + 1, dtype=np.float32)
    return Background(talk_TD=encode(talk), tasks_BD=encode(tasks), tools_BD=encode(tasks), probe=probe)


def context_of(snapshot: Snapshot, text: str, encoder: HashingEncoder | None) -> QueryContext:
    return QueryContext.begin(Request(query=text), snapshot, encoder)


def ranking_of(tools: NDArray[np.int64], scores: Floats1d) -> Ranking:
    return Ranking(tools=tools, scores=scores, features={})


@pytest.fixture(scope="module")
def model(snapshot: Snapshot) -> ConfidenceModel:
    zero = dict.fromkeys((*TASK_EVIDENCE, *SERVED_EVIDENCE), 0.0)
    task = {name: zero[name] for name in TASK_EVIDENCE} | {"margin": 2.0, "": 0.0}
    served = {name: zero[name] for name in SERVED_EVIDENCE} | {"best": 8.0, "unserved": -8.0, "": 2.0}
    return ConfidenceModel(
        snapshot,
        Calibration(
            background=background(),
            task=task,
            served=served,
            needed=WEIGHTS,
            threshold=0.5,
            need={"best": 10.0, "": -5.0},
            need_threshold=0.5,
        ),
    )


class TestEstimate:
    def ask(self, model: ConfidenceModel, snapshot: Snapshot, text: str) -> Confidence:
        tools = np.arange(snapshot.tool_count)
        ranking = ranking_of(tools, np.linspace(1, 0, len(tools)).astype(np.float32))
        found = model.estimate(context_of(snapshot, text, HashingEncoder()), ranking)
        assert found is not None
        return found

    @pytest.mark.parametrize("text", ["weather forecast rain", "tell me a joke"])
    def test_a_request_near_a_tool_is_more_answerable_than_a_background_task_and_than_talk(
        self, model: ConfidenceModel, snapshot: Snapshot, text: str
    ) -> None:
        served = self.ask(model, snapshot, "create a purchase order with a supplier")
        unserved = self.ask(model, snapshot, text)
        assert 0 <= unserved.answerable < 0.5 < served.answerable <= 1
        assert unserved.unanswerable and not served.unanswerable

    def test_a_need_is_judged_by_its_nearest_tool(self, model: ConfidenceModel, snapshot: Snapshot) -> None:
        tools = np.arange(snapshot.tool_count)
        ranking = ranking_of(tools, np.ones(len(tools), dtype=np.float32))
        texts = ("create a purchase order", "weather forecast rain")
        served, unserved = (model.of_need(context_of(snapshot, text, HashingEncoder()), ranking) for text in texts)
        assert served is not None and unserved is not None and not served.unserved and unserved.unserved
        assert 0 <= unserved.probability < 0.5 < served.probability <= 1

    def test_without_a_vector_or_a_candidate_nothing_is_said(self, model: ConfidenceModel, snapshot: Snapshot) -> None:
        text = "create a purchase order"
        two = ranking_of(np.arange(2), np.ones(2, dtype=np.float32))
        assert model.estimate(context_of(snapshot, text, None), two) is None
        none = ranking_of(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        assert model.estimate(context_of(snapshot, text, HashingEncoder()), none) is None


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

    def test_where_nothing_fits_an_answer_is_empty_only_if_so_asked_and_says_why(
        self, retriever: GraphRetriever
    ) -> None:
        query = "weather forecast rain"
        for full in (retriever.retrieve(Request(query=query, auto_k=auto)) for auto in (False, True)):
            assert full.tools and full.unanswerable and full.fallbacks == ()
            assert full.doubt == f"may not fit: probability {full.answerable_probability:.2f}"
        none = retriever.retrieve(Request(query=query, abstain=True))
        assert none.tools == () and none.unanswerable and "no tool fits" in none.fallbacks[0]
        assert f"{none.answerable_probability:.2f}" in none.fallbacks[0]


class TestShipped:
    @pytest.mark.parametrize("kept", [0, 4, 2000])
    def test_one_that_was_cut_off_is_an_error_that_names_it(self, tmp_path: Path, kept: int) -> None:
        folder = SHIPPED[0]
        (tmp_path / "confidence.json").write_bytes((folder / "confidence.json").read_bytes())
        (tmp_path / "background.npz").write_bytes((folder / "background.npz").read_bytes()[:kept])
        with pytest.raises(ModelError) as caught:
            read_calibration(tmp_path)
        assert caught.value.subject == str(tmp_path / "background.npz")
