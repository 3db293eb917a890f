"""Read the build report of a snapshot: the counts of kept, rejected, renamed and merged records."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ontology.errors import InvalidArgumentError
from retrieval.snapshot.reader import Snapshot

__all__ = ["BuildCounts", "RejectedTriples", "count_build", "find_build_report"]

_LOG = logging.getLogger(__name__)


class RejectedTriples(NamedTuple):
    """The number of triples of a predicate that were rejected for a reason."""

    predicate: str
    reason: str
    triples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCounts:
    """The counts of a build report.

    :param extractions_failed: number of documents without triples, because the extractor failed.
    :param tools_rejected: map from reason to count; ``merges``: map from kind of merge to number of names.
    :param warnings: number of warnings of the canonicalisation.
    """

    triples_kept: int
    triples_rejected: tuple[RejectedTriples, ...]
    extractions_failed: int
    tools_read: int
    tools_rejected: Mapping[str, int]
    tools_renamed: int
    merges: Mapping[str, int]
    warnings: int


def find_build_report(snapshot: Snapshot) -> dict[str, Any] | None:
    """Read the build report at ``STORE/reports/<snapshot id>.json``; None when it is missing or cannot be read."""
    path = snapshot.folder.resolve().parent.parent / "reports" / f"{snapshot.id}.json"
    if not path.is_file():
        return None
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        _LOG.warning("%s: the build report cannot be read, so rejected records and merges are unknown: %s", path, error)
        return None
    return report if isinstance(report, dict) else None


def count_build(report: Mapping[str, Any], snapshot: Snapshot) -> BuildCounts:
    """Return the counts of a build report.

    :raises InvalidArgumentError: when the report belongs to another snapshot, or is not a build report.
    """
    subject = f"snapshot {snapshot.id}"
    if report.get("snapshot_id") != snapshot.id:
        raise InvalidArgumentError(
            f"the build report is of snapshot {report.get('snapshot_id')}",
            subject=subject,
            remedy="Give its own report",
        )
    try:
        triples = report["triples"]
        return BuildCounts(
            triples_kept=sum(triples["kept"].values()),
            triples_rejected=tuple(RejectedTriples(*row) for row in triples["rejected_by_predicate_and_reason"]),
            extractions_failed=len(triples["tools_failed"]),
            tools_read=report["tools"],
            tools_rejected=dict(report["rejected_tools"]["by_reason"]),
            tools_renamed=len(report["renamed"]),
            merges=dict(report["merges"]["by_kind"]),
            warnings=len(report["merges"]["warnings"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidArgumentError(
            f"the build report lacks what a build writes: {error}", subject=subject, remedy="Build again"
        ) from error
