"""What the build of a snapshot kept, rejected, renamed and merged, counted from its report."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.build_report import BuildReport, RejectedTriples, keep_build_report, read_build_report
from ontology.errors import InvalidArgumentError
from retrieval.snapshot.reader import Snapshot

__all__ = ["BuildCounts", "copy_build_report", "count_build", "find_build_report"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCounts:
    """The counts of a build report.

    :param extractions_failed: documents of which nothing was extracted, because the extractor failed.
    :param tools_rejected: reason → count; ``merges``: kind of merge → names.
    :param warnings: of the canonicalisation.
    """

    triples_kept: int
    triples_rejected: tuple[RejectedTriples, ...]
    extractions_failed: int
    tools_read: int
    tools_rejected: Mapping[str, int]
    tools_renamed: int
    merges: Mapping[str, int]
    warnings: int


def find_build_report(snapshot: Snapshot) -> BuildReport | None:
    """The build report beside a published snapshot, as :func:`~ingest.build_report.read_build_report` reads it."""
    return read_build_report(snapshot.folder.resolve().parent.parent, snapshot.id)


def copy_build_report(snapshot: Snapshot, store: Path, snapshot_id: str) -> None:
    """Copy the build report of a snapshot to another version of it in a store, which has the same content."""
    if (store / "reports" / f"{snapshot_id}.json").exists():
        return
    try:
        report = find_build_report(snapshot)
    except InvalidArgumentError as error:
        _LOG.warning("the new version has no build report: %s", error)
        return
    if report is not None:
        keep_build_report(store, replace(report, snapshot_id=snapshot_id))


def count_build(report: BuildReport) -> BuildCounts:
    """The counts of a build report."""
    triples = report.triples
    return BuildCounts(
        triples_kept=sum(triples.kept.values()),
        triples_rejected=triples.rejected_by_predicate_and_reason,
        extractions_failed=len(triples.tools_failed),
        tools_read=report.tools,
        tools_rejected=report.rejected_tools.by_reason,
        tools_renamed=len(report.renamed),
        merges=report.merges.by_kind,
        warnings=len(report.merges.warnings),
    )
