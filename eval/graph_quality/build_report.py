"""The account of the build: what it refused, merged and renamed, from the report that it left beside the snapshot."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from ontology.errors import InvalidArgumentError
from retrieval.snapshot.reader import Snapshot

__all__ = ["build_account", "find_build_report"]

_LOG = logging.getLogger(__name__)


def find_build_report(snapshot: Snapshot) -> dict[str, Any] | None:
    """The build's report at ``STORE/reports/<snapshot id>.json``; None when the snapshot stands elsewhere or was built elsewhere."""
    path = snapshot.folder.resolve().parent.parent / "reports" / f"{snapshot.id}.json"
    if not path.is_file():
        return None
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        _LOG.warning("%s: the build's report cannot be read, so refusals and merges are not known: %s", path, error)
        return None
    return report if isinstance(report, dict) else None


def build_account(report: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """What the build kept, refused and merged, counted.

    :raises InvalidArgumentError: when the report is of another snapshot, or is none.
    """
    subject = f"snapshot {snapshot.id}"
    if report.get("snapshot_id") != snapshot.id:
        raise InvalidArgumentError(
            f"the build report is of snapshot {report.get('snapshot_id')}",
            subject=subject,
            remedy="Give its own report",
        )
    try:
        triples, tools = report["triples"], report["refused_tools"]
        return {
            "triples_kept": sum(triples["kept"].values()),
            "triples_refused": [list(row) for row in triples["refused_by_predicate_and_reason"]],
            "extractions_failed": len(triples["tools_failed"]),
            "tools_read": report["tools"],
            "tools_refused": dict(tools["by_reason"]),
            "tools_renamed": len(report["renamed"]),
            "merges": dict(report["merges"]["by_kind"]),
            "warnings": len(report["merges"]["warnings"]),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidArgumentError(
            f"the build report lacks what a build writes: {error}", subject=subject, remedy="Build again"
        ) from error
