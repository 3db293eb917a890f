"""What the build of a snapshot kept, rejected, renamed and merged, counted from its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.build_report import BuildReport, RejectedTriples, read_build_report
from retrieval.snapshot.reader import Snapshot

__all__ = ["BuildCounts", "count_build", "find_build_report"]


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
