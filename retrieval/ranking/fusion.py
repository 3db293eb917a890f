"""Ranking candidate tools: the seam ``Ranker``, and the plain calibrated fusion of text features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from inference.reranker import Reranker
from ontology.errors import ModelError
from retrieval.index.text_fields import whole_text
from retrieval.query.query import Query
from retrieval.ranking.features import text_features
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.weights import PLAIN

__all__ = ["FusionRanker", "Ranker", "Ranking", "TextRanker", "order", "rank_or_fuse", "standardise", "weighed"]

_PLAIN = {name: weight for name, weight in PLAIN.fusion.items() if weight}
_DOCUMENT_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Scores of the candidates, float32 [candidates], and the features they were made from, each of that shape."""

    scores: Floats1d
    features: Mapping[str, Floats1d]


class Ranker(Protocol):
    """Scores candidate tools for a request."""

    @property
    def name(self) -> str:
        """Versioned name, ``fusion.v1``."""

    def rank(self, query: Query, tools: NDArray[np.int64]) -> Ranking:
        """Score the tools with these numbers; higher is better.

        :raises ModelError: when a model is needed and dead.
        """


class FusionRanker:
    """The embedded reranker of the yardsticks: BM25 and cosine over the fields of a tool, calibrated and added up.

    Each feature becomes a z-score over the candidates of this request, so that unlike scales can be added.
    """

    name = "fusion.v1"

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def rank(self, query: Query, tools: NDArray[np.int64]) -> Ranking:
        """Score the tools with these numbers."""
        features = text_features(self._snapshot, query, tools, _PLAIN)
        standardised = {name: standardise(values) for name, values in features.items()}
        return Ranking(scores=weighed(standardised, _PLAIN), features=features)


class TextRanker:
    """A cross-encoder, embedded or behind HTTP, over the tools' texts."""

    def __init__(self, snapshot: Snapshot, reranker: Reranker) -> None:
        self._snapshot = snapshot
        self._reranker = reranker

    @property
    def name(self) -> str:
        """The reranker's name."""
        return self._reranker.name

    def rank(self, query: Query, tools: NDArray[np.int64]) -> Ranking:
        """Score the tools with these numbers."""
        documents = []
        for number in tools:
            tool = self._snapshot.tool(int(number))
            documents.append(whole_text(tool)[:_DOCUMENT_CHARS])
        scores: Floats1d = self._reranker.score(query.text, documents)
        return Ranking(scores=scores, features={"reranker": scores})


def rank_or_fuse(
    ranker: Ranker, fusion: FusionRanker, query: Query, tools: NDArray[np.int64]
) -> tuple[Ranking, tuple[str, ...]]:
    """Rank, or fuse where the ranker's model is down; the second value then says so."""
    try:
        return ranker.rank(query, tools), ()
    except ModelError as error:
        return fusion.rank(query, tools), (f"reranked by {fusion.name}: {error.problem}",)


def standardise(values: Floats1d) -> Floats1d:
    """Z-scores, float32 of the same shape; all zero where the values do not differ."""
    spread = float(values.std()) if len(values) else 0.0
    if spread < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread, dtype=np.float32)


def weighed(standardised: Mapping[str, Floats1d], weights: Mapping[str, float]) -> Floats1d:
    """The weighted sum of features that are standardised, float32 of their shape; there is at least one."""
    scores = np.zeros_like(next(iter(standardised.values())))
    for name, values in standardised.items():
        scores += weights[name] * values
    return scores


def order(scores: Floats1d, tools: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Positions of the ``k`` best, best first; ties by tool number, and tools are numbered by id."""
    return np.lexsort((tools, -scores))[:k]
