"""Fusion: the embedded ranker adds up weighted features; beside it what changes a ranking: a reranker, boosts, votes of past requests, named tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d, Reranker
from ontology.tool import tool_text
from retrieval.index.bm25 import whole_text
from retrieval.learned import PastRequests
from retrieval.query.context import QueryContext
from retrieval.query.request import MAX_K
from retrieval.ranking.features import (
    FEATURES,
    SystemEvidence,
    bounded,
    clause_scores,
    compute_features,
    fuse_clauses,
    standardise,
    system_evidence,
)
from retrieval.ranking.ranking import Ranker, Ranking
from retrieval.ranking.weights import BASELINE, BASELINE_FUSION, RankingWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMatrix:
    """The features of the candidates of one request."""

    tools: NDArray[np.int64]  # numbers of the candidates, ascending and distinct
    standardised: Mapping[str, Floats1d]  # feature → z-scores, float32 [tools], in the order in which they are added up
    # how well each tool matches each clause, z-scores, float32 [clauses, tools]; no row without clause fusion
    clauses_CT: Floats2d
    # feature → its values, float32 [tools]; empty where only the z-scores are known
    raw: Mapping[str, Floats1d] = field(default_factory=dict)
    systems: SystemEvidence | None = None  # the systems of the tools; None where system coherence is not used

    def scores(self, weights: RankingWeights) -> Floats1d:
        """The score of each tool, float32 [tools]: the weighted sum of the features, clause fusion, and system coherence."""
        if not self.standardised:  # the encoder is down, and only cosines have a weight
            return np.zeros(len(self.tools), dtype=np.float32)
        whole = np.zeros(len(self.tools), dtype=np.float32)
        for name, values in self.standardised.items():
            whole += weights[name] * values
        if not self.clauses_CT.size or not weights["clause_fusion"]:
            return whole
        whole = standardise(whole)
        fused: Floats1d = whole + weights["clause_fusion"] * fuse_clauses(self.clauses_CT, whole)
        if self.systems is None or not weights["system_coherence"]:
            return fused
        return fused + weights["system_coherence"] * self.systems.log_shares(self.clauses_CT, fused)


def feature_matrix(
    context: QueryContext, weights: RankingWeights | None = None, *, unbounded: bool = False
) -> FeatureMatrix:
    """The matrix of all features, whatever their weights.

    :param weights: with them only what has a weight is computed.
    :param unbounded: whether the z-scores have no bound (:func:`retrieval.ranking.features.bounded`), as in the baselines.
    """
    names = [feature.name for feature in FEATURES if weights is None or weights[feature.name]]
    raw = compute_features(context, context.candidates, names)
    z_FT = standardise(np.asarray([*raw.values()], dtype=np.float32))
    clauses = weights is None or weights["clause_fusion"]
    return FeatureMatrix(
        tools=context.candidates,
        standardised=dict(zip(raw, z_FT if unbounded else bounded(z_FT), strict=True)),
        clauses_CT=clause_scores(context) if clauses else np.empty((0, 0), dtype=np.float32),
        raw=raw,
        systems=system_evidence(context) if weights is None or weights["system_coherence"] else None,
    )


class FusionRanker:
    """The embedded ranker: features as z-scores over the candidates of this request, added up with their weights. Only
    features with a weight are computed. Where not ``bounded`` the z-scores have no bound, as those of the baselines."""

    def __init__(
        self, weights: RankingWeights = BASELINE, *, name: str = BASELINE_FUSION, bounded: bool = False
    ) -> None:
        self.name = name
        self._weights = weights
        self._bounded = bounded

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates."""
        matrix = feature_matrix(context, self._weights, unbounded=not self._bounded)
        return Ranking(tools=matrix.tools, scores=matrix.scores(self._weights), features=matrix.raw)


def rank_with_fallback(context: QueryContext, ranker: Ranker, fallback: FusionRanker) -> Ranking:
    """Rank by ``ranker``; by ``fallback`` where its model is down, and the answer reports it."""
    ranking = context.attempt(lambda: ranker.rank(context), f"reranked by {fallback.name}")
    return fallback.rank(context) if ranking is None else ranking


def add_boosts(ranking: Ranking, boosts: Floats1d) -> Ranking:
    """The ranking with the boosts of its tools; the feature ``overlay_boost`` is what was added to each score.
    ``boosts``: of every tool of the snapshot, in standard deviations of the scores, float32 [tools]."""
    spread = (float(ranking.scores.std()) if len(ranking.tools) else 0.0) or 1.0
    added = (np.float32(spread) * boosts[ranking.tools]).astype(np.float32)
    features = {**ranking.features, "overlay_boost": added}
    return Ranking(tools=ranking.tools, scores=ranking.scores + added, features=features)


def add_votes(context: QueryContext, ranking: Ranking, learned: PastRequests) -> Ranking:
    """The ranking with what past requests say of its tools; tools that only they name join it. No score falls. The
    feature ``past_requests`` is what was added to each score. The context records how many sessions used each tool."""
    votes = learned.votes(context.query.vector_D, context.query.weights)
    allowed = {tool: vote for tool, vote in votes.items() if context.allowed is None or context.allowed[tool]}
    context.past_sessions = {tool: sessions for tool, (_, sessions) in allowed.items()}
    joined = ranking.with_tools(np.fromiter(allowed, dtype=np.int64))
    spread = (float(ranking.scores.std()) if len(ranking.tools) else 0.0) or 1.0
    added = np.zeros(len(joined.tools), dtype=np.float32)
    for tool, (share, _) in allowed.items():
        added[np.searchsorted(joined.tools, tool)] = learned.weight * spread * share
    return replace(joined, scores=joined.scores + added, features={**joined.features, "past_requests": added})


_MOST_BEARERS = 3  # tools of one name that stand first; where more have it, those that match best
_STEP = 1e-3  # standard deviations of the scores: the place counts, and the probabilities of the other tools stay


def named_first(context: QueryContext, ranking: Ranking) -> Ranking:
    """The ranking with the named tools above all others: first the best tool of each name, then others of that name;
    ties by id. The feature ``named`` is by how much each was raised. A tool that is no candidate is not raised."""
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
    """The ranking with the candidates of :attr:`~retrieval.query.request.Request.first` above all others, in their
    order. The feature ``chosen`` is by how much each was moved."""
    numbers = (context.snapshot.find_node(f"tool:{tool_id}") for tool_id in context.request.first)
    places = [int(place) for number in numbers for place in np.flatnonzero(ranking.tools == number)]
    if not places:
        return ranking
    scores = ranking.scores.copy()
    step = np.float32(_STEP * (float(scores.std()) or 1.0))
    scores[places] = scores.max() + step * np.arange(len(places), 0, -1, dtype=np.float32)
    return Ranking(tools=ranking.tools, scores=scores, features={**ranking.features, "chosen": scores - ranking.scores})


_DOCUMENT_CHARS = 2_000
_BLOCK = 100  # candidates of one call of the model: about a second of a small one


class CrossEncoderRanker:
    """A cross-encoder, embedded or behind HTTP, over the texts of all candidates, at most 1,000 of them. An n-gram that
    names a hub of the graph makes candidates of a tenth of a catalogue; of so many the best 1,000 by the embedded
    fusion are scored. An answer has no more tools than that."""

    def __init__(self, reranker: Reranker, *, limit: int = MAX_K) -> None:
        self._reranker = reranker
        self._limit = limit
        self._fusion = FusionRanker()

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates; those that are not scored are left out, and the answer reports it."""
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


NEED_WEIGHT = 1.5
"""Of a reranker's z-score for a need. Chosen with the embedded cross-encoder on fourteen sets, where between 1 and 2 little changes."""


class PromotingReranker:
    """Adds to the scores of the best candidates the model's z-score for them where it is above 0; no score falls.

    :param depth: how many of the best candidates are scored.
    :param weight: standard deviations of the scores of these candidates that are added for one of the model's; 1.5 for a need.
    """

    def __init__(self, reranker: Reranker, *, depth: int = 10, weight: float = 1.0) -> None:
        self._reranker = reranker
        self._depth, self._weight = depth, weight

    def rerank(self, context: QueryContext, ranking: Ranking) -> Ranking:
        """The ranking of a whole request after reranking; that of several clauses is left as it is.

        Where the model is down the ranking is unchanged, and the answer reports it.
        """
        return ranking if context.query.clauses else self._promoted(context, ranking, self._weight)

    def rerank_need(self, part: QueryContext, ranking: Ranking) -> Ranking:
        """The ranking of a need after reranking; otherwise as :meth:`rerank`."""
        return self._promoted(part, ranking, NEED_WEIGHT)

    def _promoted(self, context: QueryContext, ranking: Ranking, weight: float) -> Ranking:
        best = ranking.best(self._depth)
        if len(best) < 2:
            return ranking
        tools = [context.snapshot.tool(int(tool)) for tool in ranking.tools[best]]
        texts = (f"{tool_text(tool)} {' '.join(parameter.name for parameter in tool.parameters)}" for tool in tools)
        documents = [text[:_DOCUMENT_CHARS] for text in texts]
        found = context.attempt(lambda: self._reranker.score(context.query.text, documents), "no reranking")
        if found is None:
            return ranking
        spread = float(ranking.scores[best].std()) or float(ranking.scores.std()) or 1.0
        scores = ranking.scores.copy()
        scores[best] += np.float32(weight * spread) * np.maximum(standardise(found), 0.0)
        raw = np.zeros_like(scores)
        raw[best] = found
        return Ranking(tools=ranking.tools, scores=scores, features={**ranking.features, "reranker": raw})
