"""Fusing the rankings of the needs of a request into one ranking.

Each place of a need's ranking has a calibrated probability that its tool is needed. The next tool is the one that is most likely to serve a
need that those before it leave open (greedy, so within 1 - 1/e of the best set of each size). A tool is likelier where other needs find theirs
in its system too, or the request names it. The ranking of the whole request takes part with a smaller weight: it knows which tools the best ones need.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d
from retrieval.ranking.confidence import NEEDED, probability, tool_evidence
from retrieval.ranking.features import systems_of
from retrieval.ranking.ranking import Ranking

# With ``auto_k``: the least score of a returned tool. It keeps .86 of the requests that ten tools complete, with 1.7
# times as many tools as are needed; .05 keeps .94 with 2.6 times as many.
NEEDED_OF_NEEDS = 0.1
# The logistic model of a tool for one need, over the evidence of :func:`need_evidence`. Fitted on 1,138 requests over fifteen catalogues;
# ``benchmarks/training/fit_needs.py`` fits it again, and with one catalogue left out. The evidence ``system`` was added to the
# others of an earlier fit, so that catalogues of one system are ranked as before; all fitted together it has .38. Of 1 and 2 for
# ``named`` 2 was better on the development half of the real documents; 25 of its 92 requests name a system.
NEED_WEIGHTS: Mapping[str, float] = {
    "": -0.97,
    "rank": -0.49,
    "gap": -0.64,
    "lead": -0.39,
    "fifth": 0.46,
    "tenth": 0.28,
    "needs": 0.83,
    "system": 0.4,
    "named": 2.0,
}
# The least share of a system in a need; .02 was better than .1 and .3 with each catalogue left out.
_LEAST_SHARE = 0.02
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


def need_evidence(
    rankings: Sequence[Ranking], systems: NDArray[np.int64] | None, named: Collection[int] = ()
) -> list[dict[str, Floats1d]]:
    """Return the evidence for the tools of each need's ranking, float32 [tools of the ranking] each: that of
    :func:`retrieval.ranking.confidence.tool_evidence`; ``needs``, the logarithm of their number; ``system``, <= 0, the
    logarithm of the largest share of the tool's system in another need, where the need's best tool has share 1; and
    ``named``, 1 where the request names the system and else 0.

    :param rankings: each of at least one tool.
    :param systems: the system of each tool of the catalogue, int64 [catalogue], -1 for a tool without one; None where systems do not count.
    :param named: the systems that the request names.
    """
    same = {"needs": float(np.log(max(1, len(rankings)))), "system": 0.0, "named": 0.0}
    found = [
        {**tool_evidence(each.scores), **{name: np.full_like(each.scores, value) for name, value in same.items()}}
        for each in rankings
    ]
    if systems is None or not rankings:
        return found
    tools = np.concatenate([each.tools for each in rankings])
    nodes, joined = np.unique(systems_of(tools, systems), return_inverse=True)
    systems_by_need = np.split(joined, np.cumsum([len(each.tools) for each in rankings])[:-1])
    named_S = np.isin(nodes, [*named]).astype(np.float32)
    shares_NS = np.full((len(rankings), len(nodes)), _LEAST_SHARE, dtype=np.float32)
    for shares_S, evidence, systems_T in zip(shares_NS, found, systems_by_need, strict=True):
        likely_T = probability(NEED_WEIGHTS, evidence)
        np.maximum.at(shares_S, systems_T, likely_T / likely_T.max())
    for need, (evidence, systems_T) in enumerate(zip(found, systems_by_need, strict=True)):
        evidence["named"] = named_S[systems_T]
        others = [other for other, each in enumerate(rankings) if each is not rankings[need]]  # a repeated need is one
        if others:
            evidence["system"] = np.log(shares_NS[others].max(axis=0)[systems_T])
    return found


def fuse_needs(
    rankings: Sequence[Ranking],
    whole: Ranking,
    *,
    systems: NDArray[np.int64] | None = None,
    named: Collection[int] = (),
    weights: Mapping[str, float] = NEED_WEIGHTS,
) -> FusedNeeds:
    """Fuse the rankings of the needs, at least one, with that of the whole request, ``whole``: its features are kept,
    and are 0 for a tool that only a need has. ``systems`` and ``named`` as for :func:`need_evidence`; ``weights`` of the logistic model."""
    parts = [*rankings, whole]
    tools = np.unique(np.concatenate([part.tools for part in parts]))
    found_NT = np.zeros((len(parts), len(tools)), dtype=np.float32)
    filled = [need for need, each in enumerate(rankings) if len(each.tools)]
    for need, evidence in zip(filled, need_evidence([rankings[need] for need in filled], systems, named), strict=True):
        found_NT[need, np.searchsorted(tools, rankings[need].tools)] = probability(weights, evidence)
    if len(whole.tools):
        asked = {"needs": float(np.log(len(rankings))), "system": 0.0, "named": 0.0}
        found_NT[-1, np.searchsorted(tools, whole.tools)] = probability(
            weights, {**tool_evidence(whole.scores), **asked}
        )
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
