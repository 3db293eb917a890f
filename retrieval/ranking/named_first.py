"""The tools that a request names stand first in its answer; so do, after them, those that a model chose for it."""

from __future__ import annotations

import numpy as np

from retrieval.query.context import QueryContext
from retrieval.ranking.ranking import Ranking

__all__ = ["chosen_first", "named_first"]

# Tools of one name that stand first; where more have it, those that match best. Chosen by hand, not fitted to data. Checked on the tools of
# BFCL, a public benchmark, where many share a name: with 3, of 212 names 42 stay missing among the first five (docs/asked.md).
_MOST_BEARERS = 3
_STEP = 1e-3  # standard deviations of the scores: the place counts, and the probabilities of the other tools stay


def named_first(context: QueryContext, ranking: Ranking) -> Ranking:
    """The ranking with the named tools above all others: first the best tool of each name, then others of that name; ties by id.

    The feature ``named`` is by how much each was raised. A tool that is no candidate is not raised.
    """
    if not context.named or not len(ranking.tools):
        return ranking
    level = np.zeros(len(ranking.tools), dtype=np.float32)
    for tools in context.named:
        places = np.flatnonzero(np.isin(ranking.tools, tools))
        best = places[np.lexsort((ranking.tools[places], -ranking.scores[places]))][:_MOST_BEARERS]
        level[best] = np.maximum(level[best], 1.0)
        level[best[:1]] = 2.0
    others = ranking.scores[level == 0]
    top = float(others.max()) if len(others) else 0.0
    step = _STEP * (float(ranking.scores.std()) or 1.0)
    second = np.where(level == 1, np.float32(top + step), ranking.scores)
    seconds = second[level == 1]
    first = max(top, float(seconds.max()) if len(seconds) else top) + step
    scores = np.where(level == 2, np.maximum(ranking.scores, np.float32(first)), second).astype(np.float32)
    return Ranking(tools=ranking.tools, scores=scores, features={**ranking.features, "named": scores - ranking.scores})


def chosen_first(context: QueryContext, ranking: Ranking) -> Ranking:
    """The ranking with the candidates of :attr:`~retrieval.query.request.Request.first` above all others, in their order.

    The feature ``chosen`` is by how much each was moved.
    """
    numbers = (context.snapshot.find_node(f"tool:{tool_id}") for tool_id in context.request.first)
    places = [int(place) for number in numbers for place in np.flatnonzero(ranking.tools == number)]
    if not places:
        return ranking
    scores = ranking.scores.copy()
    step = np.float32(_STEP * (float(scores.std()) or 1.0))
    scores[places] = scores.max() + step * np.arange(len(places), 0, -1, dtype=np.float32)
    return Ranking(tools=ranking.tools, scores=scores, features={**ranking.features, "chosen": scores - ranking.scores})
