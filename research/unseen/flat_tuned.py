"""The flat rival ``fusion-clauses`` with weights: BM25 of the whole text, two cosines and clause fusion over the whole catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eval.queries import LabelledQuery
from eval.tuning import Case, gold_numbers
from inference.encoder import Encoder
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import bm25, clause_scores, cosine_name, cosine_text, standardise
from retrieval.ranking.fusion import FeatureMatrix
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

if TYPE_CHECKING:
    from retrieval.ranking.features import Compute
    from retrieval.ranking.weights import RankingWeights

__all__ = ["FlatTunedRanker", "flat_cases"]

_FEATURES: Mapping[str, Compute] = {
    "bm25_text": bm25("whole"),  # under the name of a weight there is
    "cosine_text": cosine_text,
    "cosine_name": cosine_name,
}


class FlatTunedRanker:
    """Ranks all candidates with these weights."""

    def __init__(self, weights: RankingWeights) -> None:
        self._weights = weights

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates."""
        matrix = _matrix(context)
        return Ranking(tools=matrix.tools, scores=matrix.scores(self._weights), features=matrix.raw)


def flat_cases(snapshot: Snapshot, encoder: Encoder, queries: Sequence[LabelledQuery]) -> list[Case]:
    """Return the requests with every tool as a candidate."""
    cases = []
    for query in queries:
        context = QueryContext.begin(Request(query=query.text), snapshot, encoder, decomposed=True)
        context.candidates = np.flatnonzero(snapshot.only_tools(None))
        cases.append(Case(matrix=_matrix(context), gold=gold_numbers(snapshot, query.slots)))
    return cases


def _matrix(context: QueryContext) -> FeatureMatrix:
    tools = context.candidates
    computed = {name: compute(context, context.query, tools) for name, compute in _FEATURES.items()}
    raw = {name: values for name, values in computed.items() if values is not None}
    standardised = {name: standardise(values) for name, values in raw.items()}
    return FeatureMatrix(tools=tools, standardised=standardised, clauses_CT=clause_scores(context), raw=raw)
