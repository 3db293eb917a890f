"""Cases: labelled requests with their feature matrices, so that other weights are tried without a new retrieval."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eval.gold_slots import Slot
from eval.queries import LabelledQuery
from inference.arrays import Floats1d, Floats2d
from ontology.progress import Progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.feature_matrix import FeatureMatrix, feature_matrix, weighted_sum
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
        if self.gold is None:
            return NEVER
        ranking = self.ranking(weights)
        if not len(ranking.tools):
            return NEVER
        places_ST, known_ST = _places_of(self.gold, ranking.tools)
        return int(_ranks_of_last(ranking.scores[None], places_ST[None], known_ST[None])[0])


class Cases:
    """Requests with their candidates and gold tools."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = list(cases)
        self._known: dict[RankingWeights, NDArray[np.int64]] = {}
        shapes: dict[Hashable, list[int]] = {}
        for row, case in enumerate(self._cases):
            if (shape := _Alike.shape_of(case)) is not None:
                shapes.setdefault(shape, []).append(row)
        self._alike = [_Alike(rows, [self._cases[row] for row in rows]) for rows in shapes.values()]

    def __len__(self) -> int:
        return len(self._cases)

    def subset(self, rows: Iterable[int]) -> Cases:
        """Return the cases of these rows."""
        return Cases([self._cases[row] for row in rows])

    def completed_at(self, weights: RankingWeights, rows: Iterable[int] | None = None) -> NDArray[np.int64]:
        """Return the rank at which each request is complete, int64 [cases]; see :meth:`Case.completed_at`.

        :param rows: the cases that are asked for, None for all; the ranks of others may be unknown, which is 0.
        """
        ranks = self._known.setdefault(weights, np.zeros(len(self._cases), dtype=np.int64))
        asked = np.arange(len(self._cases)) if rows is None else np.asarray(rows, dtype=np.int64)
        if (ranks[asked] == 0).any():
            for alike in self._alike:
                ranks[alike.rows] = alike.completed_at(weights)
            for row in asked[ranks[asked] == 0].tolist():
                ranks[row] = self._cases[row].completed_at(weights)
        return ranks


class _Alike:
    """Cases of one shape, without clauses, that nothing completes: their ranks are found in one computation.

    :param rows: their places among all cases.
    """

    def __init__(self, rows: Sequence[int], cases: Sequence[Case]) -> None:
        self.rows = rows
        names = cases[0].matrix.standardised
        self._standardised = {name: np.stack([case.matrix.standardised[name] for case in cases]) for name in names}
        places = [_places_of(case.gold, case.matrix.tools) for case in cases if case.gold is not None]
        self._places_QST, self._known_QST = (np.stack(arrays) for arrays in zip(*places, strict=True))

    @staticmethod
    def shape_of(case: Case) -> Hashable:
        """The same for cases that can be computed together; None for one that is computed alone."""
        matrix, gold = case.matrix, case.gold
        if gold is None or case.complete is not _unchanged or matrix.clauses_CT.size or not matrix.tools.size:
            return None
        return (len(matrix.tools), gold.shape, tuple(matrix.standardised)) if matrix.standardised else None

    def completed_at(self, weights: RankingWeights) -> NDArray[np.int64]:
        return _ranks_of_last(weighted_sum(self._standardised, weights), self._places_QST, self._known_QST)


def _places_of(gold_ST: NDArray[np.int64], tools: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The place of each gold tool among at least one tool, ascending, and whether it is there; both [slots, tools]."""
    places_ST = np.minimum(tools.searchsorted(gold_ST), len(tools) - 1)
    return places_ST, tools[places_ST] == gold_ST


def _ranks_of_last(
    scores_QT: Floats2d, places_QST: NDArray[np.int64], known_QST: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The ranks at which the last slot is filled, without sorting all tools; ties are broken as in the ranking, whose tools ascend."""
    count, tools = scores_QT.shape
    rows_Q11 = np.arange(count)[:, None, None]
    scores_QST = np.where(known_QST, scores_QT[rows_Q11, places_QST], -np.inf)
    best_QS = scores_QST.max(axis=2)
    first_QS = np.where(scores_QST == best_QS[:, :, None], places_QST, tools).min(axis=2)
    lowest_Q = best_QS.min(axis=1)
    last_Q = np.where(best_QS == lowest_Q[:, None], first_QS, 0).max(axis=1)
    before_QT = np.arange(tools) <= last_Q[:, None]
    ahead_QT = (scores_QT > lowest_Q[:, None]) | (before_QT & (scores_QT == lowest_Q[:, None]))
    return np.where(np.isneginf(lowest_Q), NEVER, ahead_QT.sum(axis=1))


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
        complete = partial(retriever.complete, context, with_features=False)
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
