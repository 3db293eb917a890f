"""What bounds the work of a request in a large catalogue; the bounds are made small, so that a small catalogue meets them."""

import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from inference import Floats1d, HashingEncoder
from retrieval.index.filters import FilterIndex
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.fusion import CrossEncoderRanker
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
