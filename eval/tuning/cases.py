"""Cases: labelled requests with their feature matrices, so that other weights are tried without a new retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eval.gold_slots import Slot
from eval.queries import LabelledQuery
from inference.arrays import Floats1d
from ontology.progress import Progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.feature_matrix import FeatureMatrix, feature_matrix
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import RankingWeights
from retrieval.snapshot.reader import Snapshot

__all__ = ["NEVER", "Case", "Cases", "collect", "numbers_of", "soft_complete"]

NEVER = np.iinfo(np.int64).max
"""The rank of a tool that is not in the ranking."""
_STEEPNESS = 4


def _unchanged(ranking: Ranking, *, margin: float) -> Ranking:
    return ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request.

    :param matrix: the features of its candidates.
    :param gold: for each slot of the gold set the numbers of its tools, int64 [slots, tools]; a row of fewer tools repeats
        one. None where the snapshot has no tool of a slot.
    :param complete: completes a ranking of the candidates, as the retriever does with this margin of resolvers.
    """

    matrix: FeatureMatrix
    gold: NDArray[np.int64] | None = None
    complete: Callable[..., Ranking] = _unchanged

    def ranking(self, weights: RankingWeights) -> Ranking:
        """Return the retriever's ranking with these weights, tools ascending; it may have more tools than the candidates."""
        ranking = Ranking(tools=self.matrix.tools, scores=self.matrix.scores(weights), features={})
        return self.complete(ranking, margin=weights.resolver_margin)

    def ranked(self, weights: RankingWeights) -> NDArray[np.int64]:
        """Return the tools as the retriever ranks them with these weights, best first."""
        ranking = self.ranking(weights)
        return ranking.tools[ranking.best(len(ranking.tools))]

    def completed_at(self, weights: RankingWeights) -> int:
        """Return the rank, from 1, at which the last slot is filled and the request is complete; or :data:`NEVER`."""
        return NEVER if self.gold is None else _rank_of_last(self.ranking(weights), self.gold)


class Cases:
    """Requests with their candidates and gold tools."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = list(cases)
        self._known: dict[RankingWeights, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._cases)

    def subset(self, rows: Iterable[int]) -> Cases:
        """Return the cases of these rows."""
        return Cases([self._cases[row] for row in rows])

    def completed_at(self, weights: RankingWeights) -> NDArray[np.int64]:
        """Return the rank at which each request is complete, int64 [cases]; see :meth:`Case.completed_at`."""
        ranks = self._known.get(weights)
        if ranks is None:
            ranks = np.array([case.completed_at(weights) for case in self._cases], dtype=np.int64)
            self._known[weights] = ranks
        return ranks


def _rank_of_last(ranking: Ranking, gold_ST: NDArray[np.int64]) -> int:
    """Return the rank at which the last slot is filled, without sorting all tools; ties are broken as in the ranking."""
    tools, scores = ranking.tools, ranking.scores
    if not len(tools):
        return NEVER
    at_ST = np.minimum(np.searchsorted(tools, gold_ST), len(tools) - 1)
    scores_ST = np.where(tools[at_ST] == gold_ST, scores[at_ST], -np.inf)
    best_S = scores_ST.max(axis=1)
    if np.isneginf(best_S).any():
        return NEVER
    at_S = np.where(scores_ST == best_S[:, None], at_ST, len(tools)).min(axis=1)
    lowest = best_S.min()
    last = at_S[best_S == lowest].max()
    return int((scores > lowest).sum() + (scores[: last + 1] == lowest).sum())


def collect(
    retriever: GraphRetriever, snapshot: Snapshot, queries: Sequence[LabelledQuery], progress: Progress
) -> Cases:
    """Find the candidates of every request and compute their features.

    :raises ModelError: when the retriever's encoder is down.
    """
    cases = []
    for at, query in enumerate(queries):
        progress("candidates", at, len(queries))
        context = retriever.find_candidates(Request(query=query.text))
        complete = partial(retriever.complete, context)
        cases.append(Case(matrix=feature_matrix(context), gold=numbers_of(snapshot, query.slots), complete=complete))
    progress("candidates", len(queries), len(queries))
    return Cases(cases)


def numbers_of(snapshot: Snapshot, slots: Sequence[Slot]) -> NDArray[np.int64] | None:
    """Return the gold set of a case in tool numbers, int64 [slots, tools]; None where the snapshot has no tool of a slot."""
    nodes = [[snapshot.find_node(f"tool:{tool}") for tool in slot] for slot in slots]
    known = [[node for node in slot if node is not None] for slot in nodes]
    if not all(known):
        return None
    widest = max(map(len, known))
    return np.array([slot + slot[:1] * (widest - len(slot)) for slot in known], dtype=np.int64)


def soft_complete(ranks_Q: NDArray[np.int64], cutoffs: Sequence[int]) -> Floats1d:
    """Return a smooth CompleteRecall, averaged over the cutoffs, float32 [requests], in [0, 1].

    A sigmoid replaces the step at each cutoff, so that the search over weights gets credit for a request that is complete
    at rank 11 instead of 10. The value is one half between a cutoff and the next rank.
    """
    shares_KQ = ranks_Q / (np.asarray(cutoffs, dtype=np.float64)[:, None] + 0.5)
    soft: Floats1d = (1.0 / (1.0 + shares_KQ**_STEEPNESS)).mean(axis=0).astype(np.float32)
    return soft
