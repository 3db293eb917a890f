"""Failure analysis: the missing tools of an incomplete request, and the most basic cause.

A failure counts under the first of :data:`CAUSES` that applies. For example, a tool that is not a candidate cannot be
ranked, so the ranking is not the cause.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

import numpy as np

from egotools.values import EntryMatch, RankedTool, TraversedEdge
from eval.measured_set import MeasuredSet, Run, run_named
from eval.metrics import complete_at, gold_ranks, ranks_of
from eval.queries import LabelledQuery, QuerySet
from eval.systems import make_ablations
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError
from retrieval.candidates.candidate_generation import ngram_entries, semantic_entries
from retrieval.explain.reasons import entry_match, traversed_edge
from retrieval.presets import make_presets
from retrieval.query.context import QueryContext
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.features import TEXT_FEATURES, compute_features
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

_NO_ANSWER = "no answer"
_ABSENT = "gold missing from the catalogue"
_TOO_MANY = "gold larger than k"
_NO_CANDIDATE = "not a candidate"
_LINKED = "linked by an edge but not boosted"
_TOO_LOW = "a candidate, ranked too low"
_BELOW = "not among the first k"
# Causes for a tool and for a request, the most basic first. The last is for systems that cannot run again.
CAUSES = (_NO_ANSWER, _ABSENT, _TOO_MANY, _NO_CANDIDATE, _LINKED, _TOO_LOW, _BELOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTool:
    """A gold tool that is not among the first k; of alternatives, the one that is ranked first."""

    tool_id: str
    cause: str  # the first of CAUSES that applies to it
    rank: int | None = None  # its rank, from 1; None where the system does not rank it among the first 1,000
    candidate: bool | None = None  # whether the system ranked it at all; None where this is unknown
    # the features of its score; for a tool that was not a candidate, its text features
    features: Mapping[str, float] = field(default_factory=dict)
    # edges between it and the gold tools that were found, in order of decreasing confidence
    edges: tuple[TraversedEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A request that a system did not complete at k."""

    set_name: str
    snapshot_id: str
    system: str
    config_hash: str
    k: int
    query: LabelledQuery
    cause: str  # the first of CAUSES that applies to the request or to one of its missing tools
    found: tuple[str, ...]  # gold tools among the first k; ``wrong``: the other tools among them, best first
    missing: tuple[MissingTool, ...]
    wrong: tuple[str, ...]
    # the tool at rank k, or the last tool of a shorter answer; ``last_features``: the features of its score
    last: str = ""
    last_features: Mapping[str, float] = field(default_factory=dict)
    # the entry nodes of the request, n-grams first; empty where the system did not run again
    entries: tuple[EntryMatch, ...] = ()
    error: str = ""  # why there was no answer, or empty
    # map from tool id to name, for tools whose id does not contain the name
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
        problem = f"the set was measured on the snapshot {measured.snapshot_id}, not on {snapshot.id}"
        remedy = "Give the snapshot that it was measured on"
        raise InvalidArgumentError(problem, subject=measured.queries.name, remedy=remedy)
    run = run_named(measured.runs, system, measured.queries.name)
    retrievers = {**make_ablations(snapshot, encoder), **make_presets(snapshot, encoder, reranker)}
    failure = partial(_failure, snapshot, encoder, measured, run, k, retrievers.get(system))
    return [failure(query) for query in _balanced(failed_requests(run, measured.queries, k), limit)]


def _balanced(queries: Sequence[LabelledQuery], limit: int) -> list[LabelledQuery]:
    """Select one request of each class in turn, by the hash of their ids, up to the limit; keep their order."""
    classes: dict[str, list[LabelledQuery]] = {}
    for query in sorted(queries, key=lambda query: hashlib.sha256(query.id.encode()).hexdigest()):
        classes.setdefault(query.request_class, []).append(query)
    turns = zip_longest(*(classes[name] for name in sorted(classes)))
    chosen = [query.id for turn in turns for query in turn if query is not None][:limit]
    return [query for query in queries if query.id in set(chosen)]


def _failure(
    snapshot: Snapshot,
    encoder: Encoder,
    measured: MeasuredSet,
    run: Run,
    k: int,
    retriever: Retriever | None,
    query: LabelledQuery,
) -> Failure:
    answer = run.answers.get(query.id)
    error = "it was not sent" if answer is None else answer.error
    tools = run.tools_of(query.id)
    top = tools[:k]
    found = tuple(tool for tool in query.tools if tool in top)
    wrong = tuple(tool for tool in top if tool not in query.tools)
    again = None if error or retriever is None else _ranked_again(snapshot, encoder, retriever, query, top, k)
    # Of each slot that is not filled the tool that is ranked first, or the first one that is given.
    order = tools if again is None else tuple(again.tools)
    nearest = [
        next((tool for tool in order if tool in slot), slot[0]) for slot in query.slots if not set(slot) & set(top)
    ]
    missing = [_missing(snapshot, tool, found, gold_ranks(tools, [tool])[0], again) for tool in dict.fromkeys(nearest)]
    causes = {tool.cause for tool in missing} | ({_NO_ANSWER} if error else set())
    causes |= {_TOO_MANY} if query.least_tools > k else set()
    last = top[-1] if top else ""
    return Failure(
        set_name=measured.queries.name,
        snapshot_id=snapshot.id,
        system=run.system,
        config_hash=run.config_hash,
        k=k,
        query=query,
        cause=next(cause for cause in CAUSES if cause in causes),
        found=found,
        missing=tuple(missing),
        wrong=wrong,
        last=last,
        last_features=again.tools[last].reasons.features if again and last in again.tools else {},
        entries=tuple(entry_match(snapshot, entry) for entry in again.context.entries) if again else (),
        error=error,
        names={
            tool: snapshot.tool(number).name
            for tool in (*query.tools, *wrong)
            if (number := snapshot.find_node(f"tool:{tool}")) is not None and snapshot.tool(number).name not in tool
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankedAgain:
    """The full ranking of a preset for a request."""

    context: QueryContext  # the request with its entry nodes
    tools: Mapping[str, RankedTool]  # ranked tools by id, with features down to the last gold tool
    whole: bool  # whether ``tools`` has all tools that the preset ranks


def _ranked_again(
    snapshot: Snapshot, encoder: Encoder, retriever: Retriever, query: LabelledQuery, top: Sequence[str], k: int
) -> _RankedAgain | None:
    """Return the full ranking of the preset; None when its first k tools are no longer the same."""
    most = min(MAX_K, snapshot.tool_count)
    ranked = retriever.retrieve(Request(query=query.text, k=most, explain=False)).tools
    if {tool.id for tool in ranked[:k]} != set(top):
        return None
    # Explaining takes time for every tool, so reasons are computed down to the last gold tool only.
    deepest = max([tool.rank for tool in ranked if tool.id in query.tools] + [min(k, most)])
    explained = retriever.retrieve(Request(query=query.text, k=deepest)).tools
    context = QueryContext.begin(Request(query=query.text), snapshot, encoder)
    context.entries += [*ngram_entries(context), *semantic_entries(context)]
    return _RankedAgain(
        context=context,
        tools={tool.id: tool for tool in ranked} | {tool.id: tool for tool in explained},
        whole=len(ranked) < most or most == snapshot.tool_count,
    )


def _missing(
    snapshot: Snapshot, tool: str, found: Sequence[str], rank: int | None, again: _RankedAgain | None
) -> MissingTool:
    candidate: bool | None = None
    features: Mapping[str, float] = {}
    number = snapshot.find_node(f"tool:{tool}")
    if again is not None:
        scored = again.tools.get(tool)
        rank = scored.rank if scored else None
        candidate = True if scored else (False if again.whole else None)
        if scored:
            features = scored.reasons.features
        elif number is not None:
            computed = compute_features(again.context, np.array([number], dtype=np.int64), TEXT_FEATURES)
            features = {name: round(float(values[0]), 6) for name, values in computed.items()}
    others = [other for each in found if (other := snapshot.find_node(f"tool:{each}")) is not None]
    edges: tuple[TraversedEdge, ...] = ()
    if number is not None:
        graph, wanted = snapshot.adjacency, {*others} - {number}
        at = map(int, np.concatenate((graph.out_edges(number), graph.in_edges_of(number))))
        linking = [edge for edge in at if {int(graph.heads[edge]), int(graph.tails[edge])} & wanted]
        linking.sort(key=lambda edge: (-float(graph.confidences[edge]), edge))
        edges = tuple(traversed_edge(snapshot, edge) for edge in linking)
    holds = {
        _ABSENT: number is None,
        _NO_CANDIDATE: candidate is False,
        _LINKED: bool(edges),
        _TOO_LOW: candidate is True,
        _BELOW: True,
    }
    return MissingTool(
        tool_id=tool,
        cause=next(cause for cause in CAUSES if holds.get(cause, False)),
        rank=rank,
        candidate=candidate,
        features=features,
        edges=edges,
    )
