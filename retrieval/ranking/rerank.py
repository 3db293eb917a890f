"""The second look: a reranker reads the best candidates again, where the request has one need.

A model that reads request and tool together knows best which of many like tools is meant. It knows nothing of the tools that
nobody speaks of, and demotes them: so it only promotes, before the set is completed, and leaves requests of several clauses
to the votes of these. With the reranker that ships, reading requests of any number of clauses, or demoting too, completed
fewer sets than not reading at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.reranker import Reranker
from ontology.errors import ModelError
from ontology.tool import Tool
from ontology.tool_text import tool_text
from retrieval.query.query import Query
from retrieval.ranking.fusion import Ranking, order, standardise
from retrieval.snapshot.reader import Snapshot

__all__ = ["PromotingReranker"]

_DOCUMENT_CHARS = 2_000


class PromotingReranker:
    """Adds to the scores of the best candidates what a model says for them beyond its mean; no score falls.

    :param some: so many are read.
    :param weight: standard deviations of the scores that are added for one of the model's.
    """

    def __init__(self, snapshot: Snapshot, reranker: Reranker, *, some: int = 10, weight: float = 1.0) -> None:
        self._snapshot = snapshot
        self._reranker = reranker
        self._some = some
        self._weight = weight

    def __call__(self, ranking: Ranking, query: Query, tools: NDArray[np.int64]) -> tuple[Ranking, tuple[str, ...]]:
        """The ranking after the second look, and what had to be left out where the model is down."""
        read = order(ranking.scores, tools, self._some)
        if len(read) < 2 or query.clauses:
            return ranking, ()
        try:
            said = self._reranker.score(query.text, [_document(self._snapshot.tool(int(tools[at]))) for at in read])
        except ModelError as error:
            return ranking, (f"no reranking: {error.problem}",)
        spread = float(ranking.scores[read].std()) or float(ranking.scores.std()) or 1.0
        scores = ranking.scores.copy()
        scores[read] += np.float32(self._weight * spread) * np.maximum(standardise(said), 0.0)
        look = np.zeros_like(scores)
        look[read] = said
        return Ranking(scores=scores, features={**ranking.features, "reranker": look}), ()


def _document(tool: Tool) -> str:
    """Title and description, then the names of the parameters: a small model reads no further."""
    return f"{tool_text(tool)} {' '.join(parameter.name for parameter in tool.parameters)}"[:_DOCUMENT_CHARS]
