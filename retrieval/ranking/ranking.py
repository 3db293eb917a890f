"""A ranking: candidate tools with scores and the features behind them; and the interface ``Ranker``, which makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d
from retrieval.query.context import QueryContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Tools with a score each."""

    tools: NDArray[np.int64]  # their numbers, int64 [tools]; ascending, unless they were taken in another order
    scores: Floats1d  # float32 [tools]; higher is better
    features: Mapping[str, Floats1d]  # feature → its raw values, float32 [tools]

    def best(self, k: int) -> NDArray[np.int64]:
        """Positions of the ``k`` best tools, best first; ties by tool number, and tools are numbered by id."""
        return np.lexsort((self.tools, -self.scores))[:k]

    def take(self, positions: NDArray[np.int64] | NDArray[np.bool_]) -> Ranking:
        """The ranking of the tools at these positions, in this order; or of those that a mask selects."""
        return Ranking(
            tools=self.tools[positions],
            scores=self.scores[positions],
            features={name: values[positions] for name, values in self.features.items()},
        )

    def with_tools(self, tools: NDArray[np.int64]) -> Ranking:
        """The ranking with these tools too, each with the score of the lowest candidate and features of 0."""
        known = self.tools
        places = np.minimum(known.searchsorted(tools), len(known) - 1)
        new = tools[known[places] != tools] if len(known) else tools
        if not len(new):
            return self
        joined = np.union1d(known, new)
        old = np.searchsorted(joined, known)

        def spread(values: NDArray[Any], fill: float) -> NDArray[Any]:
            filled = np.full(len(joined), fill, dtype=values.dtype)
            filled[old] = values
            return filled

        return Ranking(
            tools=joined,
            scores=spread(self.scores, self.scores.min() if len(known) else 0.0),
            features={name: spread(values, 0.0) for name, values in self.features.items()},
        )


class Ranker(Protocol):
    """Scores the candidates of a request."""

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates; higher is better."""
