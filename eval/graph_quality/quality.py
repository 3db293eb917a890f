"""The quality of a published tool graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.connectivity import Connectivity, hubs, measure_connectivity
from eval.graph_quality.edge_precision import EdgePrecision, ExternalEdges, measure_edge_precision
from eval.queries import QuerySet
from ingest.build_report import keep_build_report, read_build_report
from ontology.errors import InvalidArgumentError
from retrieval.snapshot.reader import Snapshot

__all__ = ["GraphQuality", "GraphStatistics", "copy_build_report", "graph_quality"]

_LOG = logging.getLogger(__name__)
_DERIVED = ("supplies", "resolved_by")  # predicates of derived edges, which have a confidence
_OWN_DOCUMENT = (
    "has_parameter",
    "returns",
    "has_entity",
    "has_capability",
)  # from a tool to its own document's content
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def copy_build_report(snapshot: Snapshot, store: Path, snapshot_id: str) -> None:
    """Copy the build report of a snapshot to another version of it in a store, which has the same content."""
    if (store / "reports" / f"{snapshot_id}.json").exists():
        return
    try:
        report = read_build_report(snapshot.folder.resolve().parent.parent, snapshot.id)
    except InvalidArgumentError as error:
        _LOG.warning("the new version has no build report: %s", error)
        return
    if report is not None:
        keep_build_report(store, replace(report, snapshot_id=snapshot_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStatistics:
    """Counts over a tool graph.

    :param nodes: map from type to count; ``edges``: map from predicate to count.
    :param confidences: map from derived predicate to minimum, quartiles and maximum of the confidences, in [0, 1].
    :param isolated_tools: number of tools whose only edges lead to the content of their own document.
    :param tools_without_tool_edge: number of tools without an edge to another tool.
    :param hubs: number of nodes that touch more than a tenth of the tools.
    :param most_edges: the nodes with the most edges to tools, and how many.
    """

    tools: int
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    confidences: Mapping[str, tuple[float, ...]]
    isolated_tools: int
    tools_without_tool_edge: int
    hubs: int
    most_edges: Mapping[str, int]


def graph_statistics(snapshot: Snapshot) -> GraphStatistics:
    """Compute the statistics of a snapshot's graph."""
    counts = snapshot.manifest.counts
    graph, tools = snapshot.adjacency, snapshot.tool_count
    own = [snapshot.predicates.index(name) for name in _OWN_DOCUMENT if name in snapshot.predicates]
    between_tools = (graph.heads < tools) & (graph.tails < tools) & (graph.heads != graph.tails)
    degrees = snapshot.tool_degrees
    most = [int(node) for node in np.argsort(-degrees, kind="stable")[:3] if degrees[node]]
    return GraphStatistics(
        tools=tools,
        nodes=dict(counts.nodes),
        edges=dict(counts.edges),
        confidences={name: quartiles for name in _DERIVED if (quartiles := _confidences(snapshot, name))},
        isolated_tools=_without_edge(snapshot, ~np.isin(graph.predicates, own)),
        tools_without_tool_edge=_without_edge(snapshot, between_tools),
        hubs=int(hubs(snapshot).sum()),
        most_edges={snapshot.node_key(node): int(degrees[node]) for node in most},
    )


def _confidences(snapshot: Snapshot, predicate: str) -> tuple[float, ...]:
    if predicate not in snapshot.predicates:
        return ()
    graph = snapshot.adjacency
    confidences = graph.confidences[graph.predicates == snapshot.predicates.index(predicate)]
    return tuple(round(float(value), 4) for value in np.quantile(confidences, _QUARTILES)) if len(confidences) else ()


def _without_edge(snapshot: Snapshot, edges: NDArray[np.bool_]) -> int:
    """The number of tools without an edge of a mask."""
    graph = snapshot.adjacency
    joined = np.union1d(graph.heads[edges], graph.tails[edges])
    return snapshot.tool_count - int((joined < snapshot.tool_count).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuality:
    """The measures of a tool graph; None where the input for a measure was not given."""

    snapshot_id: str
    statistics: GraphStatistics
    edges: EdgePrecision | None
    connectivity: Connectivity | None


def graph_quality(
    snapshot: Snapshot,
    *,
    gold_edges: Sequence[Path] = (),
    external_edges: ExternalEdges | None = None,
    queries: QuerySet | None = None,
) -> GraphQuality:
    """Measure the tool graph of a snapshot.

    :param gold_edges: files of true dependencies; never part of the catalogue.
    :param external_edges: groups of edges from another method, scored in addition to the snapshot's own.
    :param queries: requests whose gold tools should be connected.
    :raises DocumentError: when a file of gold edges cannot be read.
    """
    return GraphQuality(
        snapshot_id=snapshot.id,
        statistics=graph_statistics(snapshot),
        edges=measure_edge_precision(snapshot, gold_edges, external_edges) if gold_edges else None,
        connectivity=measure_connectivity(snapshot, queries) if queries is not None else None,
    )
