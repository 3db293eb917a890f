"""Fusing the rankings of the needs of a request into one ranking.

Each need has a ranking of its own, and each place of it a calibrated probability that its tool is needed. The tools are taken one after
another: the next is the one that is most likely to serve a need that those before it leave open. So every need is served before an easy
one is served twice, and a hard need gets its second tool before an easy one gets its third. The greedy order is within 1 - 1/e of the best
set of each size, because the value of a set, the expected number of served needs, is submodular (Nemhauser, Wolsey and Fisher, 1978).

The ranking of the whole request, its query and all its needs in one text, takes part with a smaller weight: it knows which system the
needs share and which tools the best ones need (:mod:`retrieval.completion`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.encoder import Floats1d, Floats2d
from retrieval.ranking.confidence import probability, tool_evidence
from retrieval.ranking.ranking import Ranking

__all__ = ["NEEDED_OF_NEEDS", "FusedNeeds", "fuse_needs"]

NEEDED_OF_NEEDS = 0.1
"""With ``auto_k``: the least score of a returned tool. On the needs of :data:`_NEEDED` this keeps .86 of the requests that ten tools complete,
with 1.7 times as many tools as are needed; .07 keeps .90 with 2.1 times as many, .05 .94 with 2.6, .15 .81 with 1.4. Scores relative to
the best or the sum, other bounds beyond as many tools as needs, and a logistic model of twelve features of the list, each catalogue left out of its
fit, keep no more at that size; nor does 1.7 times the number of needed tools, were it known: .84.
"""
_NEEDED: Mapping[str, float] = {
    "": -0.97,
    "rank": -0.49,
    "gap": -0.64,
    "lead": -0.39,
    "fifth": 0.46,
    "tenth": 0.28,
    "needs": 0.83,
}
"""The logistic model of a tool for one need; evidence as in :func:`retrieval.ranking.confidence.tool_evidence`, and the logarithm of the number of
needs. Fitted on the best 30 tools of each need of 1,138 requests over fifteen catalogues; fits that leave one catalogue out complete as many requests.
"""
_WHOLE = 0.3
"""Of the whole request's probability beside that of the needs. Between .15 and .5 the mean over fifteen catalogues, each under a fit without
it, is within .5 points of CompleteRecall@5 and @10; without this part it is 1.1 and 2.1 points lower, and where the request has needs alone 0 and
1.3.
"""
_GREEDY = 100
"""Places that are filled one by one; the others follow in the order of what they add then. Chosen for its time, not measured."""
_SERVES = 0.1
"""The least probability of a tool that is said to serve a need: a needed tool that is missed costs as much as nine that are not needed.
Chosen as :data:`retrieval.ranking.confidence.NEEDED`, not measured.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedNeeds:
    """One ranking over needs.

    :param ranking: all tools of the rankings; the score is the expected number of needs that a tool adds to those before it, >= 0.
    :param served_NT: the probability that each tool is needed for each need, float32 [needs, tools].
    """

    ranking: Ranking
    served_NT: Floats2d

    def needs_of(self, tool: int) -> tuple[int, ...]:
        """The needs that a tool serves, the one that it serves best first."""
        served_N = self.served_NT[:, int(np.searchsorted(self.ranking.tools, tool))]
        order = np.argsort(-served_N, kind="stable")
        return tuple(int(need) for need in order if served_N[need] >= _SERVES)


def _probabilities(ranking: Ranking, needs: int) -> Floats1d:
    """The probability that each tool of the ranking of one need is needed, float32 [tools], in (0, 1), falling with the rank.

    :param needs: the number of needs of the request.
    """
    if not len(ranking.tools):
        return np.empty(0, dtype=np.float32)
    return probability(_NEEDED, {**tool_evidence(ranking.scores), "needs": float(np.log(needs))})


def fuse_needs(rankings: Sequence[Ranking], whole: Ranking) -> FusedNeeds:
    """Fuse the rankings of the needs.

    :param rankings: one for each need, at least one.
    :param whole: of the whole request; its features are kept, and are 0 for a tool that only a need has.
    """
    parts = [*rankings, whole]
    tools = np.unique(np.concatenate([part.tools for part in parts]))
    found_NT = np.zeros((len(parts), len(tools)), dtype=np.float32)
    for row_T, part in zip(found_NT, parts, strict=True):
        row_T[np.searchsorted(tools, part.tools)] = _probabilities(part, len(rankings))
    served_NT, whole_T = found_NT[:-1], _WHOLE * found_NT[-1]
    features = {**whole.with_tools(tools).features, "need_probability": served_NT.max(axis=0, initial=0.0)}
    scores = _gains(served_NT, whole_T)
    return FusedNeeds(ranking=Ranking(tools=tools, scores=scores, features=features), served_NT=served_NT)


def _gains(served_NT: Floats2d, whole_T: Floats1d) -> Floats1d:
    """What each tool adds where it is taken, float32 [tools]; greedy, of equal ones the first."""
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
    return gains_T
