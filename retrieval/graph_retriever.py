"""Ego graph retrieval: the paper's algorithm 2, and what egotools adds to it.

Preset ``paper`` is the algorithm as printed. Preset ``default`` widens the candidates by the best tools of text search,
so that a request that touches no useful node loses nothing against a flat hybrid, lets the ensemble speak for the tools
in it and every clause of the request vote for its own, and completes the answer with the tools that the best ones cannot
do without. Both are one retriever with other config.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from egotools.values import Response
from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.candidates.ego_graphs import ensemble_tools, support
from retrieval.candidates.entry_nodes import EntryNode, ngram_entries, semantic_entries
from retrieval.completion.complete import Completion
from retrieval.config import DEPENDENCIES, RetrievalConfig
from retrieval.query.query import Clause, Query, analyse
from retrieval.ranking.clause_fusion import CLAUSE_FEATURES
from retrieval.ranking.confidence import ConfidenceModel
from retrieval.ranking.features import text_features
from retrieval.ranking.fusion import Ranker, Ranking, order, standardise, weighed
from retrieval.ranking.rerank import PromotingReranker
from retrieval.ranking.scoring import Candidates
from retrieval.response import Stages, respond
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.weights import FUSED, FUSION, SHIPPED, RankingWeights

__all__ = ["DEFAULT", "PAPER", "GraphRetriever"]

DEFAULT = RetrievalConfig()
PAPER = RetrievalConfig(
    text_pools=False, graph_support=False, resolver_boost=False, dependency_expansion=False, clause_fusion=False
)

_POOL = 100  # best tools of each text search that join the candidates
_CLAUSE_POOL = 25  # and for each clause
_POOL_EFFORT = 160  # a tool missed at the end of the pool costs nothing: the index need not look as hard
_T = TypeVar("_T")
_Allowed: TypeAlias = NDArray[np.bool_] | None
_Tools: TypeAlias = NDArray[np.int64]


class GraphRetriever:
    """Algorithm 2 of "Planning Agents on an Ego-Trip", step by step, and the steps added to it.

    :param ranker: ranks all candidates instead of the embedded fusion, which does where the ranker's model is down.
    :param reranker: reranks the best of them.
    :param confidence: estimates how likely the tools are needed.
    :param config: the stages and features that are used.
    :param weights: of the embedded fusion and of what is added to it.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        ranker: Ranker | None = None,
        *,
        name: str = "default",
        config: RetrievalConfig = DEFAULT,
        weights: RankingWeights = SHIPPED,
        reranker: PromotingReranker | None = None,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        self.name = name
        self._snapshot = snapshot if config.dependency_edges else snapshot.without(DEPENDENCIES)
        self._encoder = encoder
        self._ranker = ranker
        self._reranker = reranker
        self._confidence = confidence
        self._weights = weights
        self._config = config
        self._completion = Completion(self._snapshot, boosts=config.resolver_boost, expands=config.dependency_expansion)
        self._finders = _used((config.semantic_entries, semantic_entries), (config.ngram_entries, ngram_entries))
        self._pools = _used(
            (config.ego_candidates, self._ensemble),
            (config.text_pools, self._lexical_pools),
            (config.text_pools, self._semantic_pools),
        )

    def retrieve(self, request: Request) -> Response:
        """Entry nodes, their ego graphs, the tools in them, reranked and completed, the top k."""
        stages = Stages(request)
        query, fallbacks, entries, tools, allowed = self._find(request, stages)
        with stages.stage("rank"):
            ranking, late = self._rank(query, entries, tools)
            if self._reranker is not None:
                ranking, missed = self._reranker(ranking, query, tools)
                late = (*late, *missed)
            ranking, tools = self._completion(ranking, query, tools, allowed, margin=self._weights.resolver_margin)
            best = order(ranking.scores, tools, request.k)
            confidence = None if self._confidence is None else self._confidence.estimate(query, tools, ranking.scores)
            if request.auto_k and confidence is not None:
                best = confidence.enough(best)
                if confidence.unanswerable:
                    late = (*late, f"no tool fits: the probability that one does is only {confidence.answerable:.2f}")
        return respond(
            self._snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools[best].tolist(),
            scores=ranking.scores[best],
            features={name: values[best] for name, values in ranking.features.items()},
            entries=entries,
            fallbacks=(*fallbacks, *late),
            confidence=None if confidence is None else confidence.of(best),
        )

    def candidates(self, request: Request) -> Candidates:
        """What :meth:`retrieve` would rank by the embedded fusion, and all that the weights are put on.

        :raises ModelError: when the encoder is down: weights must not be fitted to what was left out.
        """
        query, fallbacks, entries, tools, allowed = self._find(request, Stages(request))
        if fallbacks:
            raise ModelError(fallbacks[0], subject=self._encoder.name, remedy="Try again when it is up")
        case, _ = self._weigh(query, entries, tools, self._switched(FUSED))
        return replace(
            case, complete=lambda ranking, margin: self._completion(ranking, query, tools, allowed, margin=margin)
        )

    def _find(
        self, request: Request, stages: Stages
    ) -> tuple[Query, tuple[str, ...], list[EntryNode], _Tools, _Allowed]:
        """The analysed request, what had to be left out, the entry nodes, the candidates, ascending, and what may be seen."""
        snapshot = self._snapshot
        with stages.stage("encode"):
            split = self._config.clause_fusion
            query, fallbacks = analyse(request.query, self._encoder, snapshot.abbreviations, split=split)
        with stages.stage("entry"):
            allowed = snapshot.allowed(request.filters)
            entries = [entry for find in self._finders for entry in find(snapshot, query, allowed)]
        with stages.stage("ego"):
            pools = [tools for pool in self._pools for tools in pool(query, entries, allowed)]
            tools = np.unique(np.concatenate((np.empty(0, dtype=np.int64), *pools)))
        return query, fallbacks, entries, tools, allowed

    def _rank(self, query: Query, entries: Sequence[EntryNode], tools: _Tools) -> tuple[Ranking, tuple[str, ...]]:
        """The candidates with their scores, and what had to be left out."""
        late: tuple[str, ...] = ()
        if self._ranker is not None:
            try:
                return self._ranker.rank(query, tools), ()
            except ModelError as error:
                late = (f"reranked by {FUSION}: {error.problem}",)
        weighty = [name for name, weight in self._weights.fusion.items() if weight]
        case, features = self._weigh(query, entries, tools, self._switched(weighty))
        return Ranking(scores=case.scores(self._weights), features=features), late

    def _weigh(
        self, query: Query, entries: Sequence[EntryNode], tools: _Tools, names: Iterable[str]
    ) -> tuple[Candidates, dict[str, Floats1d]]:
        """The candidates ready to be scored, and their raw features."""
        features = text_features(self._snapshot, query, tools, tuple(names))
        if self._config.graph_support:
            features["graph_support"] = self._evidence(entries, tools)
        standardised = {name: standardise(values) for name, values in features.items()}
        return Candidates(tools=tools, standardised=standardised, clauses_CT=self._clauses(query, tools)), features

    def _clauses(self, query: Query, tools: _Tools) -> Floats2d:
        """How well each tool answers each clause, z-scores, float32 [clauses, tools]; none where clauses do not vote."""
        if not self._config.clause_fusion or not len(tools):
            return np.empty((0, len(tools)), dtype=np.float32)
        rows = []
        for clause in query.clauses or (query,):
            said = text_features(self._snapshot, clause, tools, tuple(CLAUSE_FEATURES))
            rows.append(
                standardise(weighed({name: standardise(values) for name, values in said.items()}, CLAUSE_FEATURES))
            )
        return np.stack(rows)

    def _switched(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if getattr(self._config, name))

    def _ensemble(self, query: Query, entries: Sequence[EntryNode], allowed: _Allowed) -> list[_Tools]:
        return [ensemble_tools(self._snapshot, entries, allowed)]

    def _lexical_pools(self, query: Query, entries: Sequence[EntryNode], allowed: _Allowed) -> list[_Tools]:
        pools = [self._best_by_words(query, "text", _POOL, allowed)]
        return pools + [self._best_by_words(clause, "whole", _CLAUSE_POOL, allowed) for clause in query.clauses]

    def _semantic_pools(self, query: Query, entries: Sequence[EntryNode], allowed: _Allowed) -> list[_Tools]:
        asked = [(query, _POOL), *((clause, _CLAUSE_POOL) for clause in query.clauses)]
        only_tools = self._snapshot.only_tools(allowed)
        return [
            self._snapshot.vectors.nearest(
                part.vector_D, min(some, self._snapshot.tool_count), allowed=only_tools, effort=_POOL_EFFORT
            )[0]
            for part, some in asked
            if part.vector_D is not None
        ]

    def _best_by_words(self, asked: Clause, field: str, some: int, allowed: _Allowed) -> _Tools:
        snapshot = self._snapshot
        lexical = snapshot.fields[field].scores(asked.terms)
        if allowed is not None:
            lexical[~allowed[: snapshot.tool_count]] = 0.0
        some = min(some, snapshot.tool_count)
        best = np.argpartition(-lexical, some - 1)[:some]
        return best[lexical[best] > 0].astype(np.int64)

    def _evidence(self, entries: Sequence[EntryNode], tools: _Tools) -> Floats1d:
        evidence: Floats1d = np.log1p(support(self._snapshot, entries, tools))
        return evidence


def _used(*parts: tuple[bool, _T]) -> tuple[_T, ...]:
    """The parts that are switched on."""
    return tuple(part for on, part in parts if on)
