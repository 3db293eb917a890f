"""Candidates: all that is known of the tools that one request may get, before any of it is weighed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.ranking.clause_fusion import votes
from retrieval.ranking.fusion import Ranking, order, standardise, weighed
from retrieval.snapshot.weights import RankingWeights

__all__ = ["Candidates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates of one request: scored with any weights in microseconds, since all else is done.

    :param tools: their numbers, ascending and distinct.
    :param standardised: feature → z-scores, float32 [tools]; in the order in which they are added up.
    :param clauses_CT: how well each tool answers each clause, z-scores, float32 [clauses, tools]; no clause, no votes.
    :param complete: a ranking of the tools, and the margin of resolvers → the ranking completed, and its tools.
    """

    tools: NDArray[np.int64]
    standardised: Mapping[str, Floats1d]
    clauses_CT: Floats2d
    complete: Callable[[Ranking, float], tuple[Ranking, NDArray[np.int64]]] | None = None

    def scores(self, weights: RankingWeights) -> Floats1d:
        """What request and clauses say of each tool, float32 [tools]."""
        if not self.standardised:  # the encoder is down, and nothing but cosines was to be weighed
            return np.zeros(len(self.tools), dtype=np.float32)
        whole = weighed(self.standardised, weights.features)
        if not self.clauses_CT.size:
            return whole
        whole = standardise(whole)
        return whole + weights.clause_fusion * votes(self.clauses_CT, whole)

    def completed(self, weights: RankingWeights) -> tuple[Floats1d, NDArray[np.int64]]:
        """The scores that the retriever gives with these weights, and the tools they are of, ascending; these may be more."""
        ranking, tools = Ranking(scores=self.scores(weights), features={}), self.tools
        if self.complete is not None:
            ranking, tools = self.complete(ranking, weights.resolver_margin)
        return ranking.scores, tools

    def ranked(self, weights: RankingWeights) -> NDArray[np.int64]:
        """The tools as the retriever ranks them with these weights, best first."""
        scores, tools = self.completed(weights)
        return tools[order(scores, tools, len(tools))]
