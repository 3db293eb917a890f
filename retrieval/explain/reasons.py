"""The reasons of a returned tool: entry nodes, traversed edges, features, and which tools can fill its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from egotools.values import EntryMatch, ParameterBinding, Reasons, TraversedEdge
from ontology.tool import CONTEXT_PARAMETERS
from ontology.tool_graph import OVERLAY
from retrieval.explain.tool_facts import tool_facts
from retrieval.index.bm25 import name_key
from retrieval.query.context import EntryNode, QueryContext
from retrieval.snapshot.graph_views import supplier_edges
from retrieval.snapshot.reader import Snapshot

_MAX_ENTRIES = 8
_MAX_EDGES = 12
_MAX_TEXT_CHARS = 120


def explain(
    context: QueryContext,
    tool: int,
    *,
    returned: Sequence[int],
    features: Mapping[str, float],
    shown: Callable[[EntryNode], EntryMatch],
) -> Reasons:
    """Why a tool was returned: at most eight entry nodes and the twelve most specific edges between them and the tool."""
    snapshot = context.snapshot
    adjacency = snapshot.adjacency
    edges = np.concatenate((adjacency.out_edges(tool), adjacency.in_edges_of(tool))).astype(np.int64)
    others = adjacency.neighbours(tool).astype(np.int64)  # the other end of each
    connecting = np.isin(others, [entry.node for entry in context.entries]) & (others != tool)
    edges, others = edges[connecting], others[connecting]
    connected = {*map(int, others), tool}
    matches = [entry for entry in context.entries if entry.node in connected]
    matches.sort(key=lambda entry: (entry.kind != "ngram", -entry.score, entry.node))
    most_specific = np.lexsort((edges, snapshot.tool_degrees[others]))[:_MAX_EDGES]  # nodes that few tools touch first
    edges = edges[most_specific].tolist()
    return Reasons(
        entries=tuple(map(shown, matches[:_MAX_ENTRIES])),
        edges=tuple(traversed_edge(snapshot, edge, _declared_at(snapshot, edge)) for edge in edges),
        features=features,
        bindings=_parameter_bindings(snapshot, tool, returned),
    )


def traversed_edge(snapshot: Snapshot, edge: int, origin: str = "") -> TraversedEdge:
    """An edge as an answer shows it."""
    adjacency = snapshot.adjacency
    return TraversedEdge(
        head=snapshot.node_key(adjacency.heads[edge]),
        predicate=snapshot.predicates[adjacency.predicates[edge]],
        tail=snapshot.node_key(adjacency.tails[edge]),
        confidence=round(float(adjacency.confidences[edge]), 6),
        origin=origin,
    )


def entry_match(snapshot: Snapshot, entry: EntryNode) -> EntryMatch:
    """An entry node as an answer shows it; its origin is where it is declared that the words of the request mean it,
    empty where they are its own name."""
    key, origin = snapshot.node_key(entry.node), ""
    if entry.text and (aliases := snapshot.nodes[entry.node].aliases):
        if name_key(key.partition(":")[2]) != entry.text:
            origin = next((origin for alias, origin in aliases if name_key(alias) == entry.text), "")
    return EntryMatch(
        node=key,
        kind=entry.kind,
        text=entry.text or snapshot.node_text(entry.node)[:_MAX_TEXT_CHARS],
        score=round(entry.score, 6),
        origin=origin,
    )


def _parameter_bindings(snapshot: Snapshot, tool: int, returned: Sequence[int]) -> tuple[ParameterBinding, ...]:
    """For each required input of a tool, the best returned tool that can supply it; inputs without supplier are listed
    too. Optional inputs are listed where an edge names them. A context parameter has no supplier: the request or the
    caller's configuration gives its value."""
    best: dict[str, ParameterBinding] = {}
    for binding in _bindings(snapshot, tool, returned):
        known = best.get(binding.parameter)
        if known is None or (binding.confidence, known.supplier) > (known.confidence, binding.supplier):
            best[binding.parameter] = binding
    facts = tool_facts(snapshot, tool)
    for name in facts.context:
        best[name] = ParameterBinding(
            parameter=name, kind="context", origin=facts.origins.get(f"{CONTEXT_PARAMETERS}.{name}", "")
        )
    listed = [best.pop(name, ParameterBinding(parameter=name)) for name in facts.required_names]
    return (*listed, *(best[name] for name in sorted(best)))


def _bindings(snapshot: Snapshot, tool: int, returned: Sequence[int]) -> Iterator[ParameterBinding]:
    """The edges by which returned tools supply inputs of a tool."""
    among = {*returned}
    for edge, supplier, predicate in supplier_edges(snapshot, tool):
        if supplier in among:
            record = snapshot.edges[edge]
            yield ParameterBinding(
                parameter=record.parameter,
                supplier=snapshot.tool_id(supplier),
                output=record.output,
                kind=predicate,
                confidence=round(float(snapshot.adjacency.confidences[edge]), 6),
                origin=_declared_at(snapshot, edge),
            )


def _declared_at(snapshot: Snapshot, edge: int) -> str:
    """Where an overlay file declares an edge, or empty."""
    if snapshot.manifest.overlays is None:  # then no record need be read
        return ""
    return next((place.field for place in snapshot.edges[edge].provenance if place.extractor == OVERLAY), "")
