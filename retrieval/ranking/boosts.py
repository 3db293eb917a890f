"""What is added to scores after the ranking: boosts of the owner of a catalogue, and votes of past requests.

A boost stands in an overlay file. It is in standard deviations of the scores of the candidates, at most one up or down. So it decides between tools that are close,
whatever the scale of the scores, and a higher boost never lowers a tool. A tool that is no candidate stays none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inference.arrays import Floats1d
from retrieval.learned import PastRequests
from retrieval.query.context import QueryContext
from retrieval.ranking.ranking import Ranking

__all__ = ["add_boosts", "add_votes"]


def add_boosts(ranking: Ranking, boosts: Floats1d) -> Ranking:
    """The ranking with the boosts of its tools; the feature ``overlay_boost`` is what was added to each score.

    :param boosts: of every tool of the snapshot, in standard deviations of the scores, float32 [tools].
    """
    spread = (float(ranking.scores.std()) if len(ranking.tools) else 0.0) or 1.0
    added = (np.float32(spread) * boosts[ranking.tools]).astype(np.float32)
    features = {**ranking.features, "overlay_boost": added}
    return Ranking(tools=ranking.tools, scores=ranking.scores + added, features=features)


def add_votes(context: QueryContext, ranking: Ranking, learned: PastRequests) -> Ranking:
    """The ranking with what past requests say of its tools; tools that only they name join it. No score falls.

    The feature ``past_requests`` is what was added to each score. The context records how many sessions used each tool.
    """
    if not learned.weight:
        return ranking
    votes = learned.votes(context.query.vector_D, context.query.weights)
    allowed = slice(None) if context.allowed is None else context.allowed[votes.tools]
    tools, shares, sessions = votes.tools[allowed], votes.shares[allowed], votes.sessions[allowed]
    spread = (float(ranking.scores.std()) if len(ranking.tools) else 0.0) or 1.0
    joined = ranking.with_tools(tools)
    added = np.zeros(len(joined.tools), dtype=np.float32)
    added[np.searchsorted(joined.tools, tools)] = learned.weight * spread * shares
    context.past_sessions = dict(zip(tools.tolist(), sessions.tolist(), strict=True))
    return replace(joined, scores=joined.scores + added, features={**joined.features, "past_requests": added})
