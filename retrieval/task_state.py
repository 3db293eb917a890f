"""The state of a task: tools that were executed already leave the ranking; what takes their outputs, and their systems, gain.

The next step of a task mostly takes what a step before it returned, and stays in the same system. Both weights were chosen on the
development halves of the shipped company's benchmark and of the real documents; ``docs/serving.md`` has the figures of other sets.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.query.context import QueryContext
from retrieval.ranking.clause_fusion import clause_scores
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.supplier_edges import consumer_edges

__all__ = ["after_done", "is_done"]

# In standard deviations of the scores: for a tool that takes an output of an executed one, times the confidence of the edge; and for a
# tool of the same system. Both found on the development halves of the shipped company and of the real documents.
_SUCCESSOR_BOOST = 1.0
_SYSTEM_BOOST = 1.0


def is_done(context: QueryContext, tools: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of some tools were executed already, bool [tools]."""
    return np.isin(tools, list(context.done))


def after_done(context: QueryContext, ranking: Ranking) -> Ranking:
    """The ranking without executed tools, with those raised that come after them; itself where none was executed.

    The feature ``task_boost`` is by how much each was raised.
    """
    if not context.done:
        return ranking
    ranking = ranking.take(~is_done(context, ranking.tools))
    if not len(ranking.tools):
        return ranking
    snapshot = context.snapshot
    boosts = _SUCCESSOR_BOOST * _successors(snapshot, context.done)
    boosts[_same_system(snapshot, sorted({*context.done, *_best_of_clauses(context)}))] += _SYSTEM_BOOST
    added = (float(ranking.scores.std()) * boosts[ranking.tools]).astype(np.float32)
    features = {**ranking.features, "task_boost": added}
    return Ranking(tools=ranking.tools, scores=ranking.scores + added, features=features)


def _best_of_clauses(context: QueryContext) -> list[int]:
    """The best candidate of each clause: where a clause is about another system, that system gains too."""
    clauses_CT = clause_scores(context) if context.query.clauses else np.empty((0, 0), dtype=np.float32)
    return [int(context.candidates[row_T.argmax()]) for row_T in clauses_CT]


def _successors(snapshot: Snapshot, done: Collection[int]) -> Floats1d:
    """The confidence that a tool takes an output of one of these, float32 [all tools]."""
    found = np.zeros(snapshot.tool_count, dtype=np.float32)
    for tool in done:
        for edge, consumer, _ in consumer_edges(snapshot, tool):
            found[consumer] = max(found[consumer], snapshot.adjacency.confidences[edge])
    return found


def _same_system(snapshot: Snapshot, tools: Sequence[int]) -> NDArray[np.bool_]:
    """The tools of the systems of these, bool [all tools]."""
    systems = snapshot.tool_systems[tools]
    same: NDArray[np.bool_] = np.isin(snapshot.tool_systems, systems[systems >= 0])
    return same
