"""Candidates: all that is known of the tools that one request may get, before any of it is weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.complete import ResolversOf, lifted
from retrieval.ranking import weighed
from retrieval.weights import RankingWeights

__all__ = ["Candidates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates of one request: ranked with any weights in microseconds, since all else is done.

    :param tools: their numbers, ascending and distinct.
    :param standardised: signal → z-scores, float32 [tools]; in the order in which they are added up.
    :param resolvers_of: the resolvers of a tool, or None where nothing is lifted.
    """

    tools: NDArray[np.int64]
    standardised: Mapping[str, Floats1d]
    resolvers_of: ResolversOf | None

    def scores(self, weights: RankingWeights) -> Floats1d:
        """The scores that the retriever gives with these weights, float32 [tools]."""
        scores = weighed(self.standardised, weights.signals)
        if self.resolvers_of is None or not len(self.tools):
            return scores
        return lifted(scores, self.tools, self.resolvers_of, margin=weights.resolver_margin)
