"""What bounds the work of a request in a large catalogue; the bounds are made small, so that a small catalogue meets them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from inference import Floats1d, HashingEncoder
from ontology.errors import DeadlineError
from retrieval.candidates.candidate_generation import ensemble_tools
from retrieval.index.filters import FilterIndex
from retrieval.presets import make_presets
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.request import Request
from retrieval.ranking.rerank import CrossEncoderRanker
from retrieval.ranking.z_scores import standardise
from retrieval.snapshot.reader import Snapshot, open_snapshot

QUERY = "find the supplier and create a purchase order for an amount of 500"


class _Lengths:
    """Prefers long documents, and counts them."""

    name = "lengths.v1"

    def __init__(self, seconds: float = 0.0) -> None:
        self.scored, self._seconds = 0, seconds

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        time.sleep(self._seconds)
        self.scored += len(documents)
        return np.asarray([len(document) for document in documents], dtype=np.float32)


def _context(snapshot: Snapshot, *, deadline: float | None = None) -> QueryContext:
    context = QueryContext.begin(Request(query=QUERY, deadline=deadline), snapshot, HashingEncoder())
    context.candidates = np.arange(snapshot.tool_count)
    return context


def test_a_cross_encoder_scores_the_best_candidates_alone_and_the_answer_says_so(snapshot: Snapshot) -> None:
    some, every = _Lengths(), _Lengths()
    context = _context(snapshot)
    ranking = CrossEncoderRanker(some, limit=2).rank(context)
    assert (some.scored, len(ranking.tools)) == (2, 2)
    assert context.fallbacks == ["reranked the best 2 of 6 candidates"]
    assert "procurement/create_purchase_order" in {snapshot.tool_id(int(tool)) for tool in ranking.tools}
    assert ranking.tools.tolist() == sorted(ranking.tools)
    context = _context(snapshot)
    assert len(CrossEncoderRanker(every).rank(context).tools) == every.scored == 6
    assert context.fallbacks == []


def test_a_cross_encoder_stops_at_the_deadline(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.ranking.rerank._BLOCK", 1)
    model = _Lengths(seconds=0.5)
    with pytest.raises(DeadlineError):
        CrossEncoderRanker(model).rank(_context(snapshot, deadline=time.monotonic() + 0.4))
    assert model.scored == 1


def test_a_hub_gives_way_to_rarer_entry_nodes(snapshot: Snapshot) -> None:
    nodes = [node for node in range(snapshot.tool_count, len(snapshot.nodes)) if len(snapshot.ego_tools(node)) > 0]
    hub = max(nodes, key=lambda node: len(snapshot.ego_tools(node)))
    rare = min(nodes, key=lambda node: len(snapshot.ego_tools(node)))
    context = _context(snapshot)
    context.entries = [EntryNode(node, "ngram", "", 1.0) for node in (hub, rare)]
    every = ensemble_tools(context)
    assert every.tolist() == sorted({*snapshot.ego_tools(hub).tolist(), *snapshot.ego_tools(rare).tolist()})
    assert ensemble_tools(context, limit=len(every)).tolist() == every.tolist()
    assert ensemble_tools(context, limit=len(every) - 1).tolist() == snapshot.ego_tools(rare).tolist()
    assert ensemble_tools(context, limit=0).tolist() == []


@pytest.mark.parametrize(
    ("values", "differ"),
    [
        ([0.1] * 1_000, False),
        ([0.3, np.nextafter(np.float32(0.3), np.float32(1))] * 500, False),
        ([-7.0] * 3, False),
        ([0.0] * 5, False),
        ([], False),
        ([0.1, 0.1, 0.1001], True),
        ([1e-12, 2e-12], True),
        ([0.0] * 999 + [1e-6], True),
    ],
)
def test_the_rounding_of_float32_is_no_difference(values: list[float], differ: bool) -> None:
    standardised = standardise(np.asarray(values, dtype=np.float32))
    assert standardised.dtype == np.float32 and len(standardised) == len(values)
    assert bool(standardised.any()) is differ
    if differ:
        assert abs(float(standardised.mean())) < 1e-4 and abs(float(standardised.std()) - 1.0) < 1e-4


def test_each_row_is_standardised_by_itself() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 1_000)).astype(np.float32) * np.asarray(
        [[1e-6], [1.0], [30.0], [0.0]], dtype=np.float32
    )
    assert np.array_equal(standardise(rows), np.stack([standardise(row) for row in rows]))


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


def test_a_snapshot_without_some_edges_has_masks_of_its_own(snapshot: Snapshot) -> None:
    bare = snapshot.without(snapshot.predicates)
    for one in (snapshot, bare, snapshot):
        allowed = one.allowed({"namespace": ("hr",)})
        assert allowed is not None
        assert allowed[one.tool_count :].any() == (one is snapshot)


def test_explain_makes_the_same_reasons_for_a_tool_among_many(snapshot: Snapshot) -> None:
    """Reasons are looked up among the edges of the tool, without a mask over all nodes."""
    answer = make_presets(snapshot, HashingEncoder())["default"].retrieve(Request(query=QUERY, k=6))
    order = next(tool for tool in answer.tools if tool.id == "procurement/create_purchase_order")
    bindings = {binding.parameter: binding.supplier for binding in order.reasons.bindings}
    assert bindings["supplier_id"] == "procurement/search_suppliers"
    keys = {entry.node for entry in order.reasons.entries}
    assert all({edge.head, edge.tail} & keys or len(order.reasons.entries) == 8 for edge in order.reasons.edges)
