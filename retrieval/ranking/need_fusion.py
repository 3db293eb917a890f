"""Fusing the rankings of the needs of a request into one ranking.

Each place of a need's ranking has a calibrated probability that its tool is needed. The next tool is the one that is most likely to serve a
need that those before it leave open (greedy, so within 1 - 1/e of the best set of each size). The ranking of the whole request takes part with
a smaller weight: it knows which system the needs share, and which tools the best ones need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.encoder import Floats2d
from retrieval.ranking.confidence import NEEDED, probability, tool_evidence
from retrieval.ranking.ranking import Ranking

# With ``auto_k``: the least score of a returned tool. It keeps .86 of the requests that ten tools complete, with 1.7
# times as many tools as are needed; .05 keeps .94 with 2.6 times as many.
NEEDED_OF_NEEDS = 0.1
# The logistic model of a tool for one need; evidence as in :func:`retrieval.ranking.confidence.tool_evidence`, and the
# logarithm of the number of needs. Fitted on 1,138 requests over fifteen catalogues;
# ``benchmarks/training/fit_needs.py`` fits it again, and with one catalogue left out.
NEED_WEIGHTS: Mapping[str, float] = {
    "": -0.97,
    "rank": -0.49,
    "gap": -0.64,
    "lead": -0.39,
    "fifth": 0.46,
    "tenth": 0.28,
    "needs": 0.83,
}
# Of the whole request's probability beside that of the needs. Between .15 and .5 little changes; without it 1 to 2
# points are lost.
_WHOLE = 0.3
# Places that are filled one by one; the others follow in the order of what they add then. Chosen for its time.
_GREEDY = 100
_SERVES = NEEDED  # the least probability of a tool that is said to serve a need


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedNeeds:
    """One ranking over needs."""

    # all tools of the rankings; the score is the expected number of needs that a tool adds to those before it, >= 0
    ranking: Ranking
    served_NT: Floats2d  # the probability that each tool is needed for each need, float32 [needs, tools]

    def needs_of(self, tool: int) -> tuple[int, ...]:
        """The needs that a tool serves, the one that it serves best first."""
        served_N = self.served_NT[:, int(np.searchsorted(self.ranking.tools, tool))]
        order = np.argsort(-served_N, kind="stable")
        return tuple(int(need) for need in order if served_N[need] >= _SERVES)


def fuse_needs(
    rankings: Sequence[Ranking], whole: Ranking, *, weights: Mapping[str, float] = NEED_WEIGHTS
) -> FusedNeeds:
    """Fuse the rankings of the needs, at least one, with that of the whole request, ``whole``: its features are kept,
    and are 0 for a tool that only a need has. ``weights``: of the logistic model of a tool for one need."""
    parts = [*rankings, whole]
    tools = np.unique(np.concatenate([part.tools for part in parts]))
    found_NT = np.zeros((len(parts), len(tools)), dtype=np.float32)
    for row_T, part in zip(found_NT, parts, strict=True):
        if len(part.tools):
            needs = float(np.log(len(rankings)))
            found_T = probability(weights, {**tool_evidence(part.scores), "needs": needs})
            row_T[np.searchsorted(tools, part.tools)] = found_T
    served_NT, whole_T = found_NT[:-1], _WHOLE * found_NT[-1]
    features = {**whole.with_tools(tools).features, "need_probability": served_NT.max(axis=0, initial=0.0)}
    # What each tool adds where it is taken; greedy, of equal ones the first.
    open_N = np.ones(len(served_NT), dtype=np.float32)
    left_T, taken = whole_T.copy(), {}
    for _ in range(min(_GREEDY, len(whole_T))):
        added_T = open_N @ served_NT
        added_T += left_T
        best = int(added_T.argmax())
        taken[best], left_T[best] = added_T[best], -np.inf
        open_N *= 1.0 - served_NT[:, best]
    gains_T = open_N @ served_NT + whole_T
    gains_T[list(taken)] = list(taken.values())
    return FusedNeeds(ranking=Ranking(tools=tools, scores=gains_T, features=features), served_NT=served_NT)
