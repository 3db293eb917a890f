"""The quality of a published tool graph, as JSON values for a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.graph_quality.build_report import build_account
from eval.graph_quality.connectivity import joined_requests
from eval.graph_quality.edge_precision import edge_agreement
from eval.graph_quality.external_edges import GivenEdges
from eval.graph_quality.residual_duplicates import duplicates_left
from eval.graph_quality.statistics import census
from eval.queries import QuerySet
from retrieval.snapshot.reader import Snapshot

__all__ = ["graph_quality"]


def graph_quality(
    snapshot: Snapshot,
    *,
    keys: Sequence[Path] = (),
    edges: GivenEdges | None = None,
    queries: QuerySet | None = None,
    report: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Measure the tool graph of a snapshot.

    :param keys: files of true dependencies (JSON lines: ``from`` needs ``to``, ``kind``); never part of the catalogue.
    :param edges: groups of edges found elsewhere, scored by the keys beside the snapshot's own.
    :param queries: requests whose gold tools should be joined.
    :param report: the build's report (:func:`~eval.graph_quality.build_report.find_build_report`).
    :returns: ``census``, ``edges``, ``joined``, ``duplicates`` and ``build``; None where nothing was given to measure by.
    :raises DocumentError: when a key file cannot be read.
    :raises InvalidArgumentError: when the report is of another snapshot.
    """
    return {
        "snapshot_id": snapshot.id,
        "census": census(snapshot),
        "edges": edge_agreement(snapshot, keys, edges) if keys else None,
        "joined": joined_requests(snapshot, queries) if queries is not None else None,
        "duplicates": duplicates_left(snapshot),
        "build": build_account(report, snapshot) if report is not None else None,
    }
