"""Clause votes: each part of a request has one vote, and shares it among the tools that answer it.

A request for five things is near to none of the five tools by an average. So every clause votes for itself: its vote goes to
the few tools that answer it best, and a tool that is the best for one clause is not outdone by one that is fair for all.
What the request as a whole says steadies the vote where a clause is short or vague.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inference.arrays import Floats1d, Floats2d

__all__ = ["CLAUSE_FEATURES", "votes"]

CLAUSE_FEATURES: Mapping[str, float] = {"cosine_text": 1.0, "cosine_name": 0.5, "bm25_whole": 1.0}
"""What tells how well a tool answers a clause, and how much each counts."""
_SHARPNESS = 2.0  # standard deviations of a clause's scores into the exponent
_STEADINESS = 1.25  # and those of the whole request


def votes(clauses_CT: Floats2d, whole_T: Floats1d) -> Floats1d:
    """The votes that each tool gets, float32 [tools], >= 0, together one for each clause.

    :param clauses_CT: how well each tool answers each clause, standardised, float32 [clauses, tools].
    :param whole_T: the standardised score of the whole request, float32 [tools].
    """
    logits_CT = _SHARPNESS * clauses_CT + _STEADINESS * whole_T
    shares_CT = np.exp(logits_CT - logits_CT.max(axis=1, keepdims=True))
    shares_CT /= shares_CT.sum(axis=1, keepdims=True)
    total: Floats1d = shares_CT.sum(axis=0).astype(np.float32)
    return total
