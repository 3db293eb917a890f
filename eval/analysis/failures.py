"""Failure analysis: the missing tools of an incomplete request, and the most basic cause.

A failure counts under the first of :data:`CAUSES` that applies. For example, a tool that is not a candidate cannot be
ranked, so the ranking is not the cause.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from egotools.values import EntryMatch, RankedTool, TraversedEdge
from eval.answers import Run
from eval.graph_quality.connectivity import hubs
from eval.measured_set import MeasuredSet
from eval.metrics import answered_tools, complete_at, gold_ranks, ranks_of
from eval.queries import LabelledQuery, QuerySet, Slot
from eval.systems.ablations import make_ablations
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError, NotFoundError
from retrieval.candidates.candidate_generation import ensemble_tools, ngram_entries, semantic_entries
from retrieval.explain.reasons import entry_match
from retrieval.index.bm25 import terms
from retrieval.presets import make_presets
from retrieval.query.context import QueryContext
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.features import TEXT_FEATURES, compute_features
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["CAUSES", "Failure", "GraphEvidence", "MissingTool", "analyse_failures", "failed_requests"]

_MAX_SHARED = 5  # number of common nodes that are named
_SIMILAR = 0.8  # minimum Jaccard similarity of the words of two near-duplicates
_MIN_NAME_WORDS = 2  # names of one word (``search``) are too common to compare
_MIN_TEXT_WORDS = 3


class GraphEvidence:
    """Evidence about pairs of tools, from the graph of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._hubs = hubs(snapshot)

    def edges(self, tool: str, others: Collection[str]) -> tuple[TraversedEdge, ...]:
        """Return the edges between the tool and any of the others, in order of decreasing confidence."""
        snapshot, number = self._snapshot, self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return ()
        adjacency = snapshot.adjacency
        wanted = {snapshot.find_node(f"tool:{other}") for other in others} - {None, number}
        at = np.concatenate((adjacency.out_edges(number), adjacency.in_edges_of(number)))
        found = [int(edge) for edge in at if {adjacency.head(int(edge)), adjacency.tail(int(edge))} & wanted]
        found.sort(key=lambda edge: (-float(adjacency.confidences[edge]), edge))
        return tuple(
            TraversedEdge(
                head=snapshot.node_key(adjacency.head(edge)),
                predicate=snapshot.predicates[adjacency.predicates[edge]],
                tail=snapshot.node_key(adjacency.tail(edge)),
                confidence=round(float(adjacency.confidences[edge]), 6),
            )
            for edge in found
        )

    def shared(self, tool: str, others: Collection[str]) -> tuple[str, ...]:
        """Return the keys of the common neighbours of the tool and the others, without hubs; those with the fewest tools
        first.
        """
        mine = self._nodes(tool)
        both = {node for other in sorted(others) if other != tool for node in mine & self._nodes(other)}
        fewest = sorted(both, key=lambda node: (int(self._snapshot.tool_degrees[node]), node))
        return tuple(self._snapshot.node_key(node) for node in fewest[:_MAX_SHARED])

    def near_duplicate(self, tool: str, others: Collection[str]) -> str:
        """Return the first of the others whose name or description is nearly the same; empty where there is none."""
        mine = self._words(tool)
        for other in others:
            if mine is None or other == tool:
                continue
            words = self._words(other)
            if words is not None and (
                _similar(mine[0], words[0], _MIN_NAME_WORDS) or _similar(mine[1], words[1], _MIN_TEXT_WORDS)
            ):
                return other
        return ""

    def _nodes(self, tool: str) -> set[int]:
        """Return the neighbours of a tool that are neither tools nor hubs."""
        snapshot, number = self._snapshot, self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return set()
        around = map(int, snapshot.adjacency.neighbours(number))
        return {node for node in around if node >= snapshot.tool_count and not self._hubs[node]}

    def _words(self, tool: str) -> tuple[frozenset[str], frozenset[str]] | None:
        """Return the terms of a tool's name and of its description; None for an unknown tool."""
        number = self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return None
        found = self._snapshot.tool(number)
        return frozenset(terms(found.name)), frozenset(terms(found.description))


def _similar(one: frozenset[str], other: frozenset[str], min_common: int) -> bool:
    """Whether two texts have nearly the same words, and at least ``min_common`` in common."""
    common, union = one & other, one | other
    return len(common) >= min_common and len(common) >= _SIMILAR * len(union)


_NO_ANSWER = "no answer"
_ABSENT = "gold missing from the catalogue"
_TOO_MANY = "gold larger than k"
_NO_CANDIDATE = "not a candidate"
_LINKED = "linked by an edge but not boosted"
_DUPLICATE = "near-duplicate ranked above it"
_TOO_LOW = "a candidate, ranked too low"
_BELOW = "not among the first k"
CAUSES = (_NO_ANSWER, _ABSENT, _TOO_MANY, _NO_CANDIDATE, _LINKED, _DUPLICATE, _TOO_LOW, _BELOW)
"""Causes for a tool and for a request, the most basic first. The last is for systems that cannot run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTool:
    """A gold tool that is not among the first k; of alternatives, the one that is ranked first.

    :param cause: the first of :data:`CAUSES` that applies to it.
    :param rank: its rank, from 1; None where the system does not rank it among the first 1,000.
    :param candidate: whether the system ranked it at all; None where this is unknown.
    :param in_ego_graph: whether it is in the ego graph of an entry node; None where the system did not run again.
    :param features: the features of its score; for a tool that was not a candidate, its text features.
    :param edges: edges between it and the gold tools that were found.
    :param shared: keys of the nodes that it has in common with them; nodes with the fewest tools first.
    :param near_duplicate: a wrong tool among the first k whose name or description is nearly the same, or empty.
    """

    tool_id: str
    cause: str
    rank: int | None = None
    candidate: bool | None = None
    in_ego_graph: bool | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    edges: tuple[TraversedEdge, ...] = ()
    shared: tuple[str, ...] = ()
    near_duplicate: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A request that a system did not complete at k.

    :param cause: the first of :data:`CAUSES` that applies to the request or to one of its missing tools.
    :param found: gold tools among the first k; ``wrong``: the other tools among them, best first.
    :param last: the tool at rank k, or the last tool of a shorter answer; ``last_features``: the features of its score.
    :param entries: the entry nodes of the request, n-grams first; empty where the system did not run again.
    :param error: why there was no answer, or empty.
    :param names: map from tool id to name, for tools whose id does not contain the name.
    """

    set_name: str
    snapshot_id: str
    system: str
    config_hash: str
    k: int
    query: LabelledQuery
    cause: str
    found: tuple[str, ...]
    missing: tuple[MissingTool, ...]
    wrong: tuple[str, ...]
    last: str = ""
    last_features: Mapping[str, float] = field(default_factory=dict)
    entries: tuple[EntryMatch, ...] = ()
    error: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


def failed_requests(run: Run, queries: QuerySet, k: int) -> list[LabelledQuery]:
    """Return the requests that the run does not complete at k, in their order."""
    depths = ((query, complete_at(ranks_of(run, query))) for query in queries.queries)
    return [query for query, depth in depths if depth is None or depth > k]


def analyse_failures(
    snapshot: Snapshot,
    encoder: Encoder,
    measured: MeasuredSet,
    system: str,
    *,
    k: int,
    limit: int,
    reranker: Reranker | None = None,
) -> list[Failure]:
    """Analyse failures of a system: a sample with the same number of each class, chosen by the hash of their ids.

    A preset runs again to get the full ranking. For any other system, and for a preset whose answers changed, only the
    stored answers and the graph are used.

    :param snapshot: the snapshot on which the set was measured.
    :param limit: maximum number of failures.
    :param reranker: the reranker with which the set was measured.
    :raises NotFoundError: when the system has no run; the remedy lists the systems.
    :raises InvalidArgumentError: when the snapshot is not that of the set, or k or the limit is below 1.
    """
    if k < 1 or limit < 1:
        raise InvalidArgumentError("must be at least 1", subject="k" if k < 1 else "limit")
    if snapshot.id != measured.snapshot_id:
        raise InvalidArgumentError(
            f"the set was measured on the snapshot {measured.snapshot_id}, not on {snapshot.id}",
            subject=measured.queries.name,
            remedy="Give the snapshot that it was measured on",
        )
    run = next((run for run in measured.runs if run.system == system), None)
    if run is None:
        known = ", ".join(run.system for run in measured.runs) or "none"
        raise NotFoundError("there is no run of this system", subject=system, remedy=f"There are: {known}")
    analysis = _Analysis(snapshot, encoder, measured, run, k, _retriever_named(snapshot, encoder, system, reranker))
    return [analysis.failure(query) for query in _balanced(failed_requests(run, measured.queries, k), limit)]


def _balanced(queries: Sequence[LabelledQuery], limit: int) -> list[LabelledQuery]:
    """Select one request of each class in turn, by the hash of their ids, up to the limit; keep their order."""
    classes: dict[str, list[LabelledQuery]] = {}
    for query in sorted(queries, key=lambda query: hashlib.sha256(query.id.encode()).hexdigest()):
        classes.setdefault(query.request_class, []).append(query)
    turns = zip_longest(*(classes[name] for name in sorted(classes)))
    chosen = [query.id for turn in turns for query in turn if query is not None][:limit]
    return [query for query in queries if query.id in set(chosen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FullRanking:
    """The full ranking of a preset for a request.

    :param context: the request with its entry nodes.
    :param tools: ranked tools by id, with features down to the last gold tool.
    :param whole: whether ``tools`` has all tools that the preset ranks.
    """

    context: QueryContext
    tools: Mapping[str, RankedTool]
    whole: bool
    in_ego_graphs: frozenset[str]


class _Analysis:
    """Analyses the failures of one run."""

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        measured: MeasuredSet,
        run: Run,
        k: int,
        retriever: Retriever | None,
    ) -> None:
        self._snapshot = snapshot
        self._encoder = encoder
        self._measured = measured
        self._run = run
        self._k = k
        self._retriever = retriever
        self._evidence = GraphEvidence(snapshot)

    def failure(self, query: LabelledQuery) -> Failure:
        """Analyse one request."""
        answer = self._run.answers.get(query.id)
        error = "it was not sent" if answer is None else answer.error
        top = answer.tools[: self._k] if answer is not None and not error else ()
        found = tuple(tool for tool in query.tools if tool in top)
        wrong = tuple(tool for tool in top if tool not in query.tools)
        ranking = None if error or self._retriever is None else self._rank_again(self._retriever, query, top)
        nearest = [self._nearest(slot, query, ranking) for slot in query.slots if not set(slot).intersection(top)]
        missing = tuple(self._missing(tool, query, found, wrong, ranking) for tool in dict.fromkeys(nearest))
        last = top[-1] if top else ""
        return Failure(
            set_name=self._measured.queries.name,
            snapshot_id=self._snapshot.id,
            system=self._run.system,
            config_hash=self._run.config_hash,
            k=self._k,
            query=query,
            cause=self._cause(query, missing, error),
            found=found,
            missing=missing,
            wrong=wrong,
            last=last,
            last_features=ranking.tools[last].reasons.features if ranking and last in ranking.tools else {},
            entries=tuple(entry_match(self._snapshot, entry) for entry in ranking.context.entries) if ranking else (),
            error=error,
            names=self._names((*query.tools, *wrong)),
        )

    def _names(self, tools: Iterable[str]) -> dict[str, str]:
        known = [tool for tool in tools if self._snapshot.find_node(f"tool:{tool}") is not None]
        names = {tool: self._snapshot.tool(self._snapshot.tool_number(tool)).name for tool in known}
        return {tool: name for tool, name in names.items() if name not in tool}

    def _rank_again(self, retriever: Retriever, query: LabelledQuery, top: Sequence[str]) -> _FullRanking | None:
        """Return the full ranking of the preset; None when its first k tools are no longer the same."""
        snapshot = self._snapshot
        most = min(MAX_K, snapshot.tool_count)
        ranked = retriever.retrieve(Request(query=query.text, k=most, explain=False)).tools
        tools = {tool.id: tool for tool in ranked}
        if {tool.id for tool in ranked[: self._k]} != set(top):
            return None
        # Explaining takes time for every tool, so reasons are computed down to the last gold tool only.
        deepest = max([tool.rank for tool in ranked if tool.id in query.tools] + [min(self._k, most)])
        explained = retriever.retrieve(Request(query=query.text, k=deepest)).tools
        tools |= {tool.id: tool for tool in explained}
        context = QueryContext.begin(Request(query=query.text), snapshot, self._encoder)
        context.entries += [*ngram_entries(context), *semantic_entries(context)]
        return _FullRanking(
            context=context,
            tools=tools,
            whole=len(ranked) < most or most == snapshot.tool_count,
            in_ego_graphs=frozenset(map(snapshot.tool_id, map(int, ensemble_tools(context)))),
        )

    def _nearest(self, slot: Slot, query: LabelledQuery, ranking: _FullRanking | None) -> str:
        """Return the tool of an unfilled slot that is ranked first, or the first one that is given."""
        ranked = ranking.tools if ranking is not None else answered_tools(self._run, query.id)
        return next((tool for tool in ranked if tool in slot), slot[0])

    def _missing(
        self, tool: str, query: LabelledQuery, found: Sequence[str], wrong: Sequence[str], ranking: _FullRanking | None
    ) -> MissingTool:
        (rank,) = gold_ranks(answered_tools(self._run, query.id), [tool])
        candidate: bool | None = None
        features: Mapping[str, float] = {}
        if ranking is not None:
            scored = ranking.tools.get(tool)
            rank = scored.rank if scored else None
            candidate = True if scored else (False if ranking.whole else None)
            features = scored.reasons.features if scored else self._text_features(ranking.context, tool)
        edges, duplicate = self._evidence.edges(tool, found), self._evidence.near_duplicate(tool, wrong)
        return MissingTool(
            tool_id=tool,
            cause=self._tool_cause(tool, candidate=candidate, linked=bool(edges), duplicate=bool(duplicate)),
            rank=rank,
            candidate=candidate,
            in_ego_graph=None if ranking is None else tool in ranking.in_ego_graphs,
            features=features,
            edges=edges,
            shared=self._evidence.shared(tool, found),
            near_duplicate=duplicate,
        )

    def _tool_cause(self, tool: str, *, candidate: bool | None, linked: bool, duplicate: bool) -> str:
        holds = {
            _ABSENT: self._snapshot.find_node(f"tool:{tool}") is None,
            _NO_CANDIDATE: candidate is False,
            _LINKED: linked,
            _DUPLICATE: duplicate,
            _TOO_LOW: candidate is True,
            _BELOW: True,
        }
        return next(cause for cause in CAUSES if holds.get(cause, False))

    def _cause(self, query: LabelledQuery, missing: Iterable[MissingTool], error: str) -> str:
        causes = {tool.cause for tool in missing}
        if error:
            causes.add(_NO_ANSWER)
        if query.least_tools > self._k:
            causes.add(_TOO_MANY)
        return next(cause for cause in CAUSES if cause in causes)

    def _text_features(self, context: QueryContext, tool: str) -> dict[str, float]:
        number = self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return {}
        features = compute_features(context, np.array([number], dtype=np.int64), TEXT_FEATURES)
        return {name: round(float(values[0]), 6) for name, values in features.items()}


def _retriever_named(
    snapshot: Snapshot, encoder: Encoder, system: str, reranker: Reranker | None = None
) -> Retriever | None:
    """Return the preset or ablation with this name; None for another system."""
    return {**make_ablations(snapshot, encoder), **make_presets(snapshot, encoder, reranker)}.get(system)
