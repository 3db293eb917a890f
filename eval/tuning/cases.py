"""Cases: labelled requests whose candidates are known, so that other weights are tried without asking again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.queries import LabelledQuery
from inference.arrays import Floats1d
from retrieval.graph_retriever import GraphRetriever
from retrieval.ranking.scoring import Candidates
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.weights import RankingWeights

__all__ = ["NEVER", "Cases", "collect", "soft_complete"]

NEVER = np.iinfo(np.int64).max
"""The rank of what is not there."""
_STEEPNESS = 4


class Cases:
    """Requests with their candidates and gold tools.

    :param gold: numbers of the gold tools of each, at least one; None where one is not in the snapshot.
    """

    def __init__(self, candidates: Sequence[Candidates], gold: Sequence[NDArray[np.int64] | None]) -> None:
        self._cases = list(zip(candidates, gold, strict=True))
        self._known: dict[RankingWeights, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._cases)

    def only(self, rows: Iterable[int]) -> Cases:
        """Some of the cases."""
        some = Cases([], [])
        some._cases = [self._cases[row] for row in rows]
        return some

    def completed_at(self, weights: RankingWeights) -> NDArray[np.int64]:
        """The rank at which each request is complete, from 1: that of its last gold tool, or :data:`NEVER`; int64 [cases]."""
        known = self._known.get(weights)
        if known is None:
            known = np.full(len(self), NEVER, dtype=np.int64)
            for row, (case, gold) in enumerate(self._cases):
                if gold is not None:
                    known[row] = _rank_of_last(*case.completed(weights), gold)
            self._known[weights] = known
        return known


def _rank_of_last(scores: Floats1d, tools: NDArray[np.int64], gold: NDArray[np.int64]) -> int:
    """The rank of the gold tool that ranks last, without sorting the others; ties are broken as the ranking breaks them."""
    at = np.searchsorted(tools, gold)
    if not len(tools) or (tools[np.minimum(at, len(tools) - 1)] != gold).any():
        return NEVER
    lowest = scores[at].min()
    last = at[scores[at] == lowest].max()
    return int((scores > lowest).sum() + (scores[: last + 1] == lowest).sum())


def collect(
    retriever: GraphRetriever,
    snapshot: Snapshot,
    queries: Sequence[LabelledQuery],
    progress: Callable[[str, int, int], None],
) -> Cases:
    """Ask the retriever for the candidates of every request.

    :raises ModelError: when its encoder is down.
    """
    candidates = []
    for at, query in enumerate(queries):
        progress("candidates", at, len(queries))
        candidates.append(retriever.candidates(Request(query=query.text)))
    progress("candidates", len(queries), len(queries))
    return Cases(candidates, [_numbers(snapshot, query.tools) for query in queries])


def _numbers(snapshot: Snapshot, tools: Sequence[str]) -> NDArray[np.int64] | None:
    numbers = [snapshot.find_node(f"tool:{tool}") for tool in tools]
    found = [number for number in numbers if number is not None]
    return np.array(found, dtype=np.int64) if len(found) == len(tools) else None


def soft_complete(ranks_Q: NDArray[np.int64], cutoffs: Sequence[int]) -> Floats1d:
    """CompleteRecall with its step at each cutoff made a slope, averaged over the cutoffs; float32 in [0, 1].

    A request that is complete at rank 11 is nearly what it should be at 10, and fitting should see that. Half of a cutoff's
    worth is lost between it and the next rank.
    """
    shares_KQ = ranks_Q / (np.asarray(cutoffs, dtype=np.float64)[:, None] + 0.5)
    soft: Floats1d = (1.0 / (1.0 + shares_KQ**_STEEPNESS)).mean(axis=0).astype(np.float32)
    return soft
