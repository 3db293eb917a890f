"""What was learned from use, in the ranking: the votes of the nearest past requests, then the tools that are used with the best ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inference.arrays import Floats1d
from retrieval.index.learned_use import LearnedUse, Votes
from retrieval.query.context import QueryContext
from retrieval.query.use_evidence import UseEvidence
from retrieval.ranking.ranking import Ranking

__all__ = ["add_use"]

_ANCHORS = 3
"""The best tools whose partners are raised. Chosen as the constants of :mod:`retrieval.index.learned_use`; 1 to 5 differ by half a point."""


def add_use(context: QueryContext, ranking: Ranking, learned: LearnedUse) -> Ranking:
    """The ranking with what past requests say of its tools; tools that only they name join it. No score falls.

    The features ``past_requests`` and ``used_with`` are what was added to each score. The context records the evidence.
    """
    votes = _allowed(context, learned.votes(context.query.vector_D, context.query.weights))
    spread = (float(ranking.scores.std()) if len(ranking.tools) else 0.0) or 1.0
    voted = _add_votes(ranking, votes, learned.request_weight * spread)
    completed, partners = _add_partners(context, voted, learned, spread)
    sessions = dict(zip(votes.tools.tolist(), votes.sessions.tolist(), strict=True)) if learned.request_weight else {}
    context.use = UseEvidence(sessions=sessions, partners=partners)
    return completed


def _allowed(context: QueryContext, votes: Votes) -> Votes:
    """The votes for tools that the request may see."""
    if context.allowed is None:
        return votes
    kept = context.allowed[votes.tools]
    return Votes(tools=votes.tools[kept], shares=votes.shares[kept], sessions=votes.sessions[kept])


def _add_votes(ranking: Ranking, votes: Votes, weight: float) -> Ranking:
    joined = ranking.with_tools(votes.tools) if weight else ranking
    added = np.zeros(len(joined.tools), dtype=np.float32)
    if weight:
        added[np.searchsorted(joined.tools, votes.tools)] = weight * votes.shares
    return _with(joined, "past_requests", added)


def _add_partners(
    context: QueryContext, ranking: Ranking, learned: LearnedUse, spread: float
) -> tuple[Ranking, dict[int, tuple[int, int]]]:
    """The ranking with what is used with its best tools; and for each raised tool its best partner and the pair."""
    best = ranking.best(_ANCHORS)
    strengths: dict[int, float] = {}
    partners: dict[int, tuple[int, int]] = {}
    for place in best if learned.pair_weight else ():
        anchor = int(ranking.tools[place])
        # A tool that is a standard deviation behind the best one counts 1/e.
        standing = float(np.exp((ranking.scores[place] - ranking.scores[best[0]]) / spread))
        pairs = learned.pairs_of(anchor)
        for pair in range(pairs.start, pairs.stop):
            tool = int(learned.used_with.tails[pair])
            strength = standing * float(learned.used_with.confidences[pair])
            if strength > strengths.get(tool, 0.0) and (context.allowed is None or context.allowed[tool]):
                strengths[tool], partners[tool] = strength, (anchor, pair)
    tools = np.asarray(sorted(strengths), dtype=np.int64)
    joined = ranking.with_tools(tools)
    added = np.zeros(len(joined.tools), dtype=np.float32)
    raised = [strengths[tool] for tool in tools.tolist()]
    added[np.searchsorted(joined.tools, tools)] = learned.pair_weight * spread * np.asarray(raised, dtype=np.float32)
    return _with(joined, "used_with", added), partners


def _with(ranking: Ranking, feature: str, added: Floats1d) -> Ranking:
    return replace(ranking, scores=ranking.scores + added, features={**ranking.features, feature: added})
