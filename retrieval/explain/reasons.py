"""The reasons of a returned tool: entry nodes, traversed edges, features, and which tools can fill its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from egotools.values import EntryMatch, ParameterBinding, Reasons, TraversedEdge
from ontology.tool import CONTEXT_PARAMETERS
from ontology.tool_graph import OVERLAY
from retrieval.explain.tool_facts import tool_facts
from retrieval.index.bm25 import name_key
from retrieval.query.context import EntryNode, QueryContext
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
    edges, others = _edges_at(snapshot, tool)
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
        head=snapshot.node_key(adjacency.head(edge)),
        predicate=snapshot.predicates[adjacency.predicates[edge]],
        tail=snapshot.node_key(adjacency.tail(edge)),
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
    adjacency = snapshot.adjacency
    edges, others = _edges_at(snapshot, tool)
    among = np.isin(others, [one for one in returned if one != tool])
    for edge, other in zip(map(int, edges[among]), map(int, others[among]), strict=True):
        predicate = snapshot.predicates[adjacency.predicates[edge]]
        # An edge "supplies" points to the tool whose input is filled; the other two point away from it.
        fills = adjacency.tail(edge) == tool if predicate == "supplies" else adjacency.head(edge) == tool
        if predicate in ("supplies", "resolved_by", "depends_on") and fills:
            record = snapshot.edges[edge]
            yield ParameterBinding(
                parameter=record.parameter,
                supplier=snapshot.tool_id(other),
                output=record.output,
                kind=predicate,
                confidence=round(float(adjacency.confidences[edge]), 6),
                origin=_declared_at(snapshot, edge),
            )


def _declared_at(snapshot: Snapshot, edge: int) -> str:
    """Where an overlay file declares an edge, or empty."""
    if snapshot.manifest.overlays is None:  # then no record need be read
        return ""
    return next((place.field for place in snapshot.edges[edge].provenance if place.extractor == OVERLAY), "")


def _edges_at(snapshot: Snapshot, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges at a node, outgoing then incoming, and the node at the other end of each."""
    adjacency = snapshot.adjacency
    edges = np.concatenate((adjacency.out_edges(node), adjacency.in_edges_of(node)))
    return edges.astype(np.int64), adjacency.neighbours(node).astype(np.int64)
