"""Reranking by a cross-encoder: of all candidates, as in the paper; or of the best ones, where the request has one clause.

A model that reads request and tool together tells similar tools apart. It also demotes tools that a request needs without
naming them. So :class:`PromotingReranker` only promotes, before the set is completed, and requests of several clauses are
left to clause fusion. With the reranker that ships, reranking requests of any number of clauses, or demoting too, completed
fewer sets than no reranking.
"""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d
from inference.reranker import Reranker
from ontology.tool import Tool
from ontology.tool_text import tool_text
from retrieval.index.text_fields import whole_text
from retrieval.query.context import QueryContext
from retrieval.query.request import MAX_K
from retrieval.ranking.fusion import FusionRanker
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.z_scores import standardise

__all__ = ["CrossEncoderRanker", "PromotingReranker"]

_DOCUMENT_CHARS = 2_000
_BLOCK = 100  # candidates of one call of the model: about a second of a small one


class CrossEncoderRanker:
    """A cross-encoder, embedded or behind HTTP, over the texts of all candidates, at most 1,000 of them.

    An n-gram that names a hub of the graph makes candidates of a tenth of a catalogue; of so many the best 1,000 by the embedded
    fusion are scored. An answer has no more tools than that.

    :param limit: how many candidates are scored.
    """

    def __init__(self, reranker: Reranker, *, limit: int = MAX_K) -> None:
        self._reranker = reranker
        self._limit = limit
        self._fusion = FusionRanker()

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates; those that are not scored are left out, and the answer reports it.

        :raises ModelError: when the model is down.
        :raises DeadlineError: between two blocks of candidates, when the caller no longer waits.
        """
        tools = context.candidates
        if len(tools) > self._limit:
            context.fallbacks.append(f"reranked the best {self._limit:,} of {len(tools):,} candidates")
            tools = tools[np.sort(self._fusion.rank(context).best(self._limit))]
        found = [np.empty(0, dtype=np.float32)]
        for start in range(0, len(tools), _BLOCK):
            context.request.check("rank")
            block = [context.snapshot.tool(int(number)) for number in tools[start : start + _BLOCK]]
            documents = [whole_text(tool)[:_DOCUMENT_CHARS] for tool in block]
            found.append(self._reranker.score(context.query.text, documents))
        scores: Floats1d = np.concatenate(found)
        return Ranking(tools=tools, scores=scores, features={"reranker": scores})


class PromotingReranker:
    """Adds to the scores of the best candidates the model's z-score for them where it is above 0; no score falls.

    :param depth: how many of the best candidates are scored.
    :param weight: standard deviations of the scores that are added for one of the model's.
    """

    def __init__(self, reranker: Reranker, *, depth: int = 10, weight: float = 1.0) -> None:
        self._reranker = reranker
        self._depth = depth
        self._weight = weight

    def rerank(self, context: QueryContext, ranking: Ranking) -> Ranking:
        """The ranking after reranking; unchanged where the model is down, and the answer reports it."""
        best = ranking.best(self._depth)
        if len(best) < 2 or context.query.clauses:
            return ranking
        documents = [_document(context.snapshot.tool(int(tool))) for tool in ranking.tools[best]]
        found = context.attempt(lambda: self._reranker.score(context.query.text, documents), "no reranking")
        if found is None:
            return ranking
        spread = float(ranking.scores[best].std()) or float(ranking.scores.std()) or 1.0
        scores = ranking.scores.copy()
        scores[best] += np.float32(self._weight * spread) * np.maximum(standardise(found), 0.0)
        raw = np.zeros_like(scores)
        raw[best] = found
        return Ranking(tools=ranking.tools, scores=scores, features={**ranking.features, "reranker": raw})


def _document(tool: Tool) -> str:
    """Title and description, then the names of the parameters; the rest is beyond what a small model reads."""
    return f"{tool_text(tool)} {' '.join(parameter.name for parameter in tool.parameters)}"[:_DOCUMENT_CHARS]
