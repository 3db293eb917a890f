"""Confidence, reranking and system coherence."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference import Floats1d, HashingEncoder
from ontology import Tool
from ontology.errors import ModelError
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.filters import FilterIndex
from retrieval.presets import make_presets
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
from retrieval.ranking.features import system_evidence
from retrieval.ranking.fusion import CrossEncoderRanker, PromotingReranker
from retrieval.ranking.need_fusion import fuse_needs, need_evidence
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import EngineOf

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


# -- reranking ---------------------------------------------------------------------------------------------------------


SIX_TOOLS = np.arange(6, dtype=np.int64)
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
    return Ranking(tools=SIX_TOOLS[: len(scores)], scores=values, features={"bm25_text": values})


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
    others = np.setdiff1d(SIX_TOOLS, read)
    assert after[others].tolist() == before[others].tolist()
    assert (after[read] >= before[read]).all()
    rose = np.flatnonzero(after > before)
    score_of = dict(zip(read.tolist(), given_scores, strict=False))
    assert all(score_of[at] > np.mean(given_scores[: len(read)]) for at in rose), (
        "only what the model scores above the mean rises"
    )


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


# -- systems -----------------------------------------------------------------------------------------------------------


def ticket_tool(system: str, description: str = "Open a ticket.") -> Tool:
    metadata = {"system": system}
    return Tool(id=f"{system}/open_ticket", name="open_ticket", description=description, metadata=metadata)


def test_a_request_that_names_a_system_gets_its_tool_first(engine_of: EngineOf) -> None:
    other = replace(ticket_tool("acmedesk", "Escalate a case to the second level."), name="escalate_case")
    tools = [ticket_tool("acmedesk"), replace(other, id="acmedesk/escalate_case"), ticket_tool("zentrain")]
    retriever = engine_of(tools).retriever()
    for system in ("acmedesk", "zentrain"):
        for text in (f"open a ticket in {system}", f"{system}: please open a ticket for the printer"):
            assert retriever.retrieve(Request(query=text)).tools[0].id == f"{system}/open_ticket", text


@pytest.mark.parametrize("needs", [(), ("open a ticket",)])
def test_a_request_names_a_system_by_the_namespace_of_its_tools(engine_of: EngineOf, needs: tuple[str, ...]) -> None:
    titles = {"acmedesk": "Acme Desk REST API", "zentrain": "The Zentrain Cloud Platform API"}
    tools = [
        Tool(id=f"{name}/open_ticket", name="open_ticket", metadata={"system": title, "namespace": name})
        for name, title in titles.items()
    ]
    retriever = engine_of(tools).retriever()
    for text, name in (("open a ticket in ZenTrain", "zentrain"), ("an AcmeDesk ticket, please", "acmedesk")):
        assert retriever.retrieve(Request(query=text, needs=needs)).tools[0].id == f"{name}/open_ticket"


def test_a_namespace_names_the_system_that_most_of_its_tools_belong_to(engine_of: EngineOf) -> None:
    """Several systems in one namespace share no name, and a few tools do not take the name of many; what a caller may not see does not count."""

    def tool(namespace: str, system: str, name: str) -> Tool:
        return Tool(id=f"{namespace}/{name}", name=name, metadata={"system": system, "namespace": namespace})

    tools = [tool("zentrain", "Zentrain Cloud Platform API", name) for name in ("open_ticket", "close_ticket")]
    tools += [tool("zentrain", "Elsewhere", "list_tickets"), tool("mixed", "Moon", "wax"), tool("mixed", "Sun", "rise")]
    engine = engine_of(tools)

    def named(snapshot: Snapshot) -> dict[str, str]:
        return {name: snapshot.node_key(node) for name, node in snapshot.system_by_namespace.items()}

    assert named(engine.snapshot) == {"zentrain": "system:zentrain cloud platform api"}
    seen = engine.restricted({"id": ["!zentrain/open*", "!zentrain/close*", "!mixed/wax"]}).snapshot
    assert named(seen) == {"zentrain": "system:elsewhere", "mixed": "system:sun"}


def test_needs_that_find_their_tools_in_one_system_raise_its_tools() -> None:
    """Tools 0 to 3 are of system 7, 4 to 7 of system 9. The second need hardly prefers tool 4 to tool 1."""

    def ranking(**scores: float) -> Ranking:
        row = np.asarray([scores.get(f"t{tool}", 0.0) for tool in range(8)], dtype=np.float32)
        return Ranking(tools=np.arange(8), scores=row, features={})

    def order(*needs: Ranking, systems: NDArray[np.int64] | None) -> list[int]:
        nothing = Ranking(tools=np.empty(0, np.int64), scores=np.empty(0, np.float32), features={})
        fused = fuse_needs(needs, nothing, systems=systems).ranking
        return [*map(int, fused.tools[fused.best(2)])]

    clear, undecided = ranking(t0=3.0), ranking(t4=1.01, t1=1.0)
    systems = np.repeat(np.asarray([7, 9]), 4)
    assert order(clear, undecided, systems=None) == [0, 4]
    assert order(clear, undecided, systems=systems) == order(undecided, clear, systems=systems) == [0, 1]
    assert order(undecided, systems=systems) == [4, 1]  # one need alone
    assert not any(each["system"].any() for each in need_evidence([undecided, undecided], systems))  # one said twice


def test_an_everyday_word_in_small_letters_hardly_names_a_system(engine_of: EngineOf) -> None:
    snapshot = engine_of([ticket_tool(system, "Open.") for system in ("support", "zentrain")]).snapshot
    retriever = GraphRetriever(snapshot, HashingEncoder())

    def share(text: str) -> float:
        found = system_evidence(retriever.find_candidates(Request(query=text)))
        assert found is not None
        return float(found.named_CS.max())

    assert 0 < share("please support my ticket") < share("a ticket in Support, please") == share("a zentrain ticket")


# -- what bounds the work in a large catalogue -------------------------------------------------------------------------


LARGE_QUERY = "find the supplier and create a purchase order for an amount of 500"


class _Lengths:
    """Prefers long documents, and counts them."""

    name = "lengths.v1"

    def __init__(self, seconds: float = 0.0) -> None:
        self.scored, self._seconds = 0, seconds

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        time.sleep(self._seconds)
        self.scored += len(documents)
        return np.asarray([len(document) for document in documents], dtype=np.float32)


def _candidates(snapshot: Snapshot, *, deadline: float | None = None) -> QueryContext:
    context = QueryContext.begin(Request(query=LARGE_QUERY, deadline=deadline), snapshot, HashingEncoder())
    context.candidates = np.arange(snapshot.tool_count)
    return context


def test_a_cross_encoder_scores_the_best_candidates_alone_and_the_answer_says_so(snapshot: Snapshot) -> None:
    some, every = _Lengths(), _Lengths()
    context = _candidates(snapshot)
    ranking = CrossEncoderRanker(some, limit=2).rank(context)
    assert (some.scored, len(ranking.tools)) == (2, 2)
    assert context.fallbacks == ["reranked the best 2 of 6 candidates"]
    assert "procurement/create_purchase_order" in {snapshot.tool_id(int(tool)) for tool in ranking.tools}
    assert ranking.tools.tolist() == sorted(ranking.tools)
    context = _candidates(snapshot)
    assert len(CrossEncoderRanker(every).rank(context).tools) == every.scored == 6
    assert context.fallbacks == []


def test_the_masks_of_filters_are_kept_and_only_so_many(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = open_snapshot(snapshot.folder)
    computed: list[object] = []
    passing = FilterIndex.passing

    def counted(index: FilterIndex, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        computed.append(filters)
        return passing(index, filters)

    monkeypatch.setattr(FilterIndex, "passing", counted)
    first, again = (fresh.allowed({"namespace": ("hr",)}) for _ in range(2))
    assert first is again and len(computed) == 1
    assert first is not None and not first.flags.writeable, "threads share it"
    assert first[: fresh.tool_count].tolist() == [fresh.tool_id(n).startswith("hr/") for n in range(fresh.tool_count)]
    for number in range(30):
        fresh.allowed({"id": ("hr/*", f"!{number}")})
    fresh.allowed({"namespace": ("hr",)})
    assert len(computed) == 32, "the first was given up"
