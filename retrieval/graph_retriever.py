"""Ego graph retrieval: the paper's algorithm 2, and what egotools adds to it.

Preset ``paper`` is the algorithm as printed. Preset ``default`` widens the candidates by the best tools of text search,
so that a request that touches no useful node loses nothing against a flat hybrid, lets the ensemble speak for the tools
in it, and completes the answer with the tools that resolve the identifiers its best tools need. Both are one retriever
with other switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.answer import Stages, respond
from retrieval.candidates import Candidates
from retrieval.complete import ResolversOf, complete, gives_identifier, resolvers
from retrieval.ego import ensemble_tools, support
from retrieval.entry import EntryNode, ngram_entries, semantic_entries
from retrieval.query import Query, analyse
from retrieval.ranking import FusionRanker, Ranker, Ranking, order, rank_or_fuse, standardise
from retrieval.retriever import Request, Response
from retrieval.snapshot import Snapshot
from retrieval.switches import DEPENDENCIES, Switches
from retrieval.weights import SHIPPED, RankingWeights

__all__ = ["DEFAULT", "PAPER", "GraphRetriever"]

DEFAULT = Switches()
PAPER = Switches(text_pools=False, graph_support=False, resolver_lift=False)

_POOL = 100  # best tools of each text search that join the candidates
_POOL_EFFORT = 160  # a tool missed at the end of the pool costs nothing: the index need not look as hard
_T = TypeVar("_T")


class GraphRetriever:
    """Algorithm 2 of "Planning Agents on an Ego-Trip", step by step, and the steps added to it.

    :param ranker: ranks the candidates; the embedded fusion by default, and where a ranker's model is down.
    :param switches: the signals that are used.
    :param weights: of the embedded fusion and of what is added to it. Another ranker's scores are of another kind: beside
        those, the graph and the resolvers keep their shipped weights.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        ranker: Ranker | None = None,
        *,
        name: str = "default",
        switches: Switches = DEFAULT,
        weights: RankingWeights = SHIPPED,
    ) -> None:
        self.name = name
        self._snapshot = snapshot if switches.dependency_edges else snapshot.without(DEPENDENCIES)
        self._encoder = encoder
        used = {signal: weight for signal, weight in weights.fusion.items() if getattr(switches, signal)}
        self._fusion = FusionRanker(self._snapshot, used)
        self._ranker = ranker or self._fusion
        self._weights = weights if ranker is None else SHIPPED
        self._switches = switches
        lifting = switches.resolver_lift and "resolved_by" in self._snapshot.predicates
        # A snapshot never changes: the resolvers of a tool are looked up once.
        self._resolvers_of: ResolversOf | None = cache(partial(resolvers, self._snapshot)) if lifting else None
        self._finders = _used((switches.semantic_entries, semantic_entries), (switches.ngram_entries, ngram_entries))
        self._pools = _used(
            (switches.ego_candidates, self._ensemble),
            (switches.text_pools, self._lexical_pool),
            (switches.text_pools, self._semantic_pool),
        )
        self._finishers = _used((switches.graph_support, self._back), (lifting, self._complete))

    def retrieve(self, request: Request) -> Response:
        """Entry nodes, their ego graphs, the tools in them, reranked, the top k."""
        stages = Stages(request)
        query, degraded, entries, tools = self._find(request, stages)
        with stages.stage("rank"):
            ranking, late = rank_or_fuse(self._ranker, self._fusion, query, tools)
            for finish in self._finishers:
                ranking = finish(ranking, query, entries, tools)
            best = order(ranking.scores, tools, request.k)
        return respond(
            self._snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools[best].tolist(),
            scores=ranking.scores[best],
            signals={name: values[best] for name, values in ranking.signals.items()},
            entries=entries,
            degraded=(*degraded, *late),
        )

    def candidates(self, request: Request) -> Candidates:
        """What :meth:`retrieve` would rank by the embedded fusion, and all that the weights are put on.

        :raises ModelError: when the encoder is down: weights must not be fitted to what was left out.
        """
        query, degraded, entries, tools = self._find(request, Stages(request))
        if degraded:
            raise ModelError(degraded[0], subject=self._encoder.name, remedy="Try again when it is up")
        signals = self._fusion.signals(query, tools)
        if self._switches.graph_support:
            signals["graph_support"] = self._evidence(entries, tools)
        return Candidates(
            tools=tools,
            standardised={name: standardise(values) for name, values in signals.items()},
            resolvers_of=None if gives_identifier(query.text) else self._resolvers_of,
        )

    def _find(
        self, request: Request, stages: Stages
    ) -> tuple[Query, tuple[str, ...], list[EntryNode], NDArray[np.int64]]:
        """The analysed request, what had to be left out, the entry nodes, and the candidates, ascending."""
        snapshot = self._snapshot
        with stages.stage("encode"):
            query, degraded = analyse(request.query, self._encoder, snapshot.abbreviations)
        with stages.stage("entry"):
            allowed = snapshot.allowed(request.filters)
            entries = [entry for find in self._finders for entry in find(snapshot, query, allowed)]
        with stages.stage("ego"):
            pools = [pool(query, entries, allowed) for pool in self._pools]
            tools = np.unique(np.concatenate((np.empty(0, dtype=np.int64), *pools)))
        return query, degraded, entries, tools

    def _ensemble(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        return ensemble_tools(self._snapshot, entries, allowed)

    def _lexical_pool(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        snapshot = self._snapshot
        lexical = snapshot.text_index.scores(query.terms)
        if allowed is not None:
            lexical[~allowed[: snapshot.tool_count]] = 0.0
        some = min(_POOL, snapshot.tool_count)
        best = np.argpartition(-lexical, some - 1)[:some]
        return best[lexical[best] > 0].astype(np.int64)

    def _semantic_pool(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        if query.vector_D is None:
            return np.empty(0, dtype=np.int64)
        snapshot = self._snapshot
        only_tools = snapshot.only_tools(allowed)
        some = min(_POOL, snapshot.tool_count)
        return snapshot.vectors.nearest(query.vector_D, some, allowed=only_tools, effort=_POOL_EFFORT)[0]

    def _back(self, ranking: Ranking, query: Query, entries: Sequence[EntryNode], tools: NDArray[np.int64]) -> Ranking:
        evidence = self._evidence(entries, tools)
        return Ranking(
            scores=ranking.scores + self._weights.graph_support * standardise(evidence),
            signals={**ranking.signals, "graph_support": evidence},
        )

    def _evidence(self, entries: Sequence[EntryNode], tools: NDArray[np.int64]) -> Floats1d:
        evidence: Floats1d = np.log1p(support(self._snapshot, entries, tools))
        return evidence

    def _complete(
        self, ranking: Ranking, query: Query, entries: Sequence[EntryNode], tools: NDArray[np.int64]
    ) -> Ranking:
        if self._resolvers_of is None:
            return ranking
        return complete(ranking, query, tools, self._resolvers_of, margin=self._weights.resolver_margin)


def _used(*parts: tuple[bool, _T]) -> tuple[_T, ...]:
    """The parts that are switched on."""
    return tuple(part for on, part in parts if on)
