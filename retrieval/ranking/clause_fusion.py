"""Clause fusion: each clause of a request shares one unit of score among the tools that match it best.

A request for five things is near to none of the five tools on average. So each clause is matched by itself (late fusion with
a softmax per clause), and a tool that is the best for one clause is not outranked by one that is fair for all. The score of
the whole request counts too, for a clause that is short or vague.
"""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d, Floats2d
from retrieval.query.context import QueryContext
from retrieval.ranking.features import Compute, bm25, cosine_name, cosine_text
from retrieval.ranking.value_support import value_support
from retrieval.ranking.z_scores import bounded, standardise

__all__ = ["CLAUSE_FACTOR", "clause_scores", "fuse_clauses"]

# What a clause is matched by, with the weight of each; added up in this order.
_CLAUSE_FEATURES: tuple[tuple[Compute, float], ...] = (
    (cosine_text, 1.0),
    (cosine_name, 0.5),
    (bm25("whole"), 1.0),
    (value_support, 1.0),
)
CLAUSE_FACTOR = 2.0
"""Of the z-score of a clause in the exponent: what it counts beside that of the whole request."""
_WHOLE_FACTOR = 1.25  # of the z-score of the whole request in the exponent


def clause_scores(context: QueryContext) -> Floats2d:
    """How well each candidate matches each clause, z-scores, float32 [clauses, tools]; no row where there is no candidate.

    A request that has no clauses is one. The context keeps them.
    """
    if not len(context.candidates):
        return np.empty((0, 0), dtype=np.float32)
    if context.clauses_CT is None:
        context.clauses_CT = _clause_scores(context)
    return context.clauses_CT


def _clause_scores(context: QueryContext) -> Floats2d:
    clauses, tools = context.query.clauses or (context.query,), context.candidates
    values = [[compute(context, clause, tools) for clause in clauses] for compute, _ in _CLAUSE_FEATURES]
    # All parts of a request have a vector, or none has.
    known = [place for place, of_clauses in enumerate(values) if of_clauses[0] is not None]
    z_FCT = bounded(standardise(np.asarray([values[place] for place in known], dtype=np.float32)))
    total_CT = np.zeros((len(clauses), len(tools)), dtype=np.float32)
    for place, z_CT in zip(known, z_FCT, strict=True):
        total_CT += _CLAUSE_FEATURES[place][1] * z_CT
    return bounded(standardise(total_CT))


def fuse_clauses(clauses_CT: Floats2d, whole_T: Floats1d) -> Floats1d:
    """The share of the clauses that each tool gets, float32 [tools], >= 0; the sum is the number of clauses.

    :param clauses_CT: as :func:`clause_scores` gives them, float32 [clauses, tools].
    :param whole_T: z-scores for the whole request, float32 [tools].
    """
    logits_CT = CLAUSE_FACTOR * clauses_CT + _WHOLE_FACTOR * whole_T
    shares_CT = np.exp(logits_CT - logits_CT.max(axis=1, keepdims=True))
    shares_CT /= shares_CT.sum(axis=1, keepdims=True)
    total: Floats1d = shares_CT.sum(axis=0).astype(np.float32)
    return total
