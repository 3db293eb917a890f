"""Flat baselines: every tool of the catalogue scored by its text, no pool and no graph. They are yardsticks.

Preset ``bm25`` is BM25 alone, ``rrf`` the two rankings by BM25 and by cosine under reciprocal rank fusion, ``fusion`` the
embedded reranker (:class:`retrieval.ranking.fusion.FusionRanker`, its features and weights) over everything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from egotools.values import Response
from inference.arrays import Floats1d
from inference.encoder import Encoder
from retrieval.query.query import Query, analyse
from retrieval.ranking.fusion import FusionRanker, Ranker, Ranking, order
from retrieval.response import Stages, respond
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot

__all__ = ["Bm25Ranker", "FlatRetriever", "RrfRanker", "make_flat"]

# Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
# SIGIR 2009: the constant that they fixed in a pilot and kept.
_RRF_K = 60


def make_flat(snapshot: Snapshot, encoder: Encoder) -> list[FlatRetriever]:
    """The flat baselines over one snapshot."""
    lexical = Bm25Ranker(snapshot)
    return [
        FlatRetriever(snapshot, None, lexical, name="bm25"),
        FlatRetriever(snapshot, encoder, RrfRanker(snapshot, lexical), name="rrf"),
        FlatRetriever(snapshot, encoder, FusionRanker(snapshot), name="fusion"),
    ]


class FlatRetriever:
    """Every allowed tool, ranked; tools of which no feature says anything are left out.

    :param encoder: None where the ranker looks at words alone.
    """

    def __init__(self, snapshot: Snapshot, encoder: Encoder | None, ranker: Ranker, *, name: str) -> None:
        self.name = name
        self._snapshot = snapshot
        self._encoder = encoder
        self._ranker = ranker

    def retrieve(self, request: Request) -> Response:
        """The top k of all tools that the request may see."""
        snapshot, stages = self._snapshot, Stages(request)
        with stages.stage("encode"):
            query, fallbacks = analyse(request.query, self._encoder, snapshot.abbreviations)
        with stages.stage("entry"):
            tools = np.flatnonzero(snapshot.only_tools(snapshot.allowed(request.filters)))
        with stages.stage("rank"):
            ranking = self._ranker.rank(query, tools)
            best = order(ranking.scores, tools, len(tools))
            spoken_of = np.any([values != 0 for values in ranking.features.values()], axis=0)
            best = best[spoken_of[best]][: request.k]
        return respond(
            snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools[best].tolist(),
            scores=ranking.scores[best],
            features={name: values[best] for name, values in ranking.features.items()},
            fallbacks=fallbacks,
        )


class Bm25Ranker:
    """BM25 over a tool's whole text as one document: name, description and parameters, stemmed like every index here."""

    name = "bm25.v1"

    def __init__(self, snapshot: Snapshot) -> None:
        self._index = snapshot.fields["whole"]

    def rank(self, query: Query, tools: NDArray[np.int64]) -> Ranking:
        """Score the tools with these numbers, >= 0."""
        scores = self._index.scores(query.terms)[tools]
        return Ranking(scores=scores, features={"bm25": scores})


class RrfRanker:
    """Reciprocal rank fusion of BM25 and of the cosine of title and description.

    Each of the two ranks all tools, ties by tool number; a tool of which a feature says nothing (0) is not in its ranking.
    """

    name = "rrf.v1"

    def __init__(self, snapshot: Snapshot, lexical: Bm25Ranker) -> None:
        self._snapshot = snapshot
        self._lexical = lexical

    def rank(self, query: Query, tools: NDArray[np.int64]) -> Ranking:
        """Score the tools with these numbers, from 0 to 2 / 61."""
        features = dict(self._lexical.rank(query, tools).features)
        if query.vector_D is not None:
            features["cosine_text"] = self._snapshot.vectors.similarities(query.vector_D, tools)
        scores = np.zeros(len(tools), dtype=np.float32)
        for values in features.values():
            scores += _reciprocal_ranks(values, tools)
        return Ranking(scores=scores, features=features)


def _reciprocal_ranks(values: Floats1d, tools: NDArray[np.int64]) -> Floats1d:
    found = order(values, tools, len(tools))
    found = found[values[found] != 0]
    reciprocal = np.zeros(len(tools), dtype=np.float32)
    reciprocal[found] = 1.0 / (_RRF_K + np.arange(1, len(found) + 1))
    return reciprocal
