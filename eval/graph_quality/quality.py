"""The quality of a published tool graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.graph_quality.build_counts import BuildCounts, count_build
from eval.graph_quality.connectivity import Connectivity, measure_connectivity
from eval.graph_quality.edge_files import ExternalEdges
from eval.graph_quality.edge_precision import EdgePrecision, measure_edge_precision
from eval.graph_quality.residual_duplicates import ResidualDuplicates, find_residual_duplicates
from eval.graph_quality.statistics import GraphStatistics, graph_statistics
from eval.queries import QuerySet
from ingest.build_report import BuildReport
from retrieval.snapshot.reader import Snapshot

__all__ = ["GraphQuality", "graph_quality"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuality:
    """The measures of a tool graph; None where the input for a measure was not given."""

    snapshot_id: str
    statistics: GraphStatistics
    edges: EdgePrecision | None
    connectivity: Connectivity | None
    duplicates: ResidualDuplicates
    build: BuildCounts | None


def graph_quality(
    snapshot: Snapshot,
    *,
    gold_edges: Sequence[Path] = (),
    external_edges: ExternalEdges | None = None,
    queries: QuerySet | None = None,
    build_report: BuildReport | None = None,
) -> GraphQuality:
    """Measure the tool graph of a snapshot.

    :param gold_edges: files of true dependencies; never part of the catalogue.
    :param external_edges: groups of edges from another method, scored in addition to the snapshot's own.
    :param queries: requests whose gold tools should be connected.
    :param build_report: the build report of this snapshot; see :func:`~eval.graph_quality.build_counts.find_build_report`.
    :raises DocumentError: when a file of gold edges cannot be read.
    """
    return GraphQuality(
        snapshot_id=snapshot.id,
        statistics=graph_statistics(snapshot),
        edges=measure_edge_precision(snapshot, gold_edges, external_edges) if gold_edges else None,
        connectivity=measure_connectivity(snapshot, queries) if queries is not None else None,
        duplicates=find_residual_duplicates(snapshot),
        build=count_build(build_report) if build_report is not None else None,
    )
