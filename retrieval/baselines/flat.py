"""Flat baselines: every tool of the catalogue is a candidate, ranked by its text; no graph.

Preset ``bm25`` is BM25 alone, ``rrf`` the rankings by BM25 and by cosine under reciprocal rank fusion, ``fusion`` the embedded
ranker (:class:`retrieval.ranking.fusion.FusionRanker`, with the baseline weights) over all tools, ``fusion-clauses`` a plain
sum of three features with clause fusion: the strongest flat rival of ``default``, with nothing tuned.
"""

from __future__ import annotations

import numpy as np

from egotools.values import Response
from inference.encoder import Encoder, Floats1d
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import bm25, clause_scores, cosine_name, cosine_text, fuse_clauses, standardise
from retrieval.ranking.fusion import FusionRanker
from retrieval.ranking.ranking import Ranker, Ranking
from retrieval.response import respond
from retrieval.snapshot.reader import Snapshot

__all__ = ["Bm25Ranker", "ClauseFusionRanker", "FlatRetriever", "RrfRanker", "make_flat"]

# Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
# SIGIR 2009: the constant that they fixed in a pilot and kept.
_RRF_K = 60
_bm25_whole = bm25("whole")
# Chosen, not tuned: equal weights, half for the name, which is a part of the text. The weight of clause fusion is that of `default`
# when the baseline was made; it stays as it is.
_CLAUSE_FUSION_WEIGHTS = {"bm25": 1.0, "cosine_text": 1.0, "cosine_name": 0.5}
_CLAUSE_FUSION = 3.0


def make_flat(snapshot: Snapshot, encoder: Encoder) -> list[FlatRetriever]:
    """The flat baselines over one snapshot."""
    return [
        FlatRetriever(snapshot, None, Bm25Ranker(), name="bm25"),
        FlatRetriever(snapshot, encoder, RrfRanker(), name="rrf"),
        FlatRetriever(snapshot, encoder, FusionRanker(), name="fusion"),
        FlatRetriever(snapshot, encoder, ClauseFusionRanker(), name="fusion-clauses", decomposed=True),
    ]


class FlatRetriever:
    """Every allowed tool, ranked; tools whose features are all 0 are left out.

    :param encoder: None where the ranker needs no vectors.
    :param decomposed: whether the ranker reads the clauses of the request.
    """

    def __init__(
        self, snapshot: Snapshot, encoder: Encoder | None, ranker: Ranker, *, name: str, decomposed: bool = False
    ) -> None:
        self.name = name
        self._decomposed = decomposed
        self._snapshot = snapshot
        self._encoder = encoder
        self._ranker = ranker

    def retrieve(self, request: Request) -> Response:
        """The best k of all tools that the request may see."""
        context = QueryContext.begin(request, self._snapshot, self._encoder, decomposed=self._decomposed)
        with context.stage("entry"):
            context.candidates = np.flatnonzero(self._snapshot.only_tools(context.allowed))
        with context.stage("rank"):
            ranking = self._ranker.rank(context)
            matches = np.any([values != 0 for values in ranking.features.values()], axis=0)
            ranking = ranking.take(matches)
        return respond(context, ranking, preset=self.name)


class Bm25Ranker:
    """BM25 over a tool's whole text as one document: title, description and parameters."""

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates, >= 0."""
        scores = _bm25(context)
        return Ranking(tools=context.candidates, scores=scores, features={"bm25": scores})


class RrfRanker:
    """Reciprocal rank fusion of BM25 and of the cosine of title and description.

    Each of the two ranks all candidates, ties by tool number; a tool with the value 0 is not in its ranking.
    """

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates, from 0 to 2 / 61."""
        tools = context.candidates
        features = {"bm25": _bm25(context)}
        cosines = cosine_text(context, context.query, tools)
        if cosines is not None:
            features["cosine_text"] = cosines
        scores = np.zeros(len(tools), dtype=np.float32)
        for values in features.values():
            scores += _reciprocal_ranks(Ranking(tools=tools, scores=values, features={}))
        return Ranking(tools=tools, scores=scores, features=features)


class ClauseFusionRanker:
    """BM25 of the whole text, cosine, and half the cosine of the name, as z-scores added up; then clause fusion, as in ``default``."""

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates."""
        tools = context.candidates
        features = {"bm25": _bm25(context)}
        for name, compute in (("cosine_text", cosine_text), ("cosine_name", cosine_name)):
            values = compute(context, context.query, tools)
            if values is not None:
                features[name] = values
        total = np.zeros(len(tools), dtype=np.float32)
        for name, values in features.items():
            total += _CLAUSE_FUSION_WEIGHTS[name] * standardise(values)
        whole = standardise(total)
        scores = whole + _CLAUSE_FUSION * fuse_clauses(clause_scores(context), whole) if len(tools) else whole
        return Ranking(tools=tools, scores=scores, features=features)


def _bm25(context: QueryContext) -> Floats1d:
    scores = _bm25_whole(context, context.query, context.candidates)
    return np.zeros(len(context.candidates), dtype=np.float32) if scores is None else scores


def _reciprocal_ranks(ranking: Ranking) -> Floats1d:
    found = ranking.best(len(ranking.tools))
    found = found[ranking.scores[found] != 0]
    reciprocal = np.zeros(len(ranking.tools), dtype=np.float32)
    reciprocal[found] = 1.0 / (_RRF_K + np.arange(1, len(found) + 1))
    return reciprocal
