"""Checking without building: an ontology file, tool documents, a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ingest.sources import read_catalog
from ontology.ontology import check_ontology
from retrieval.snapshot.reader import open_snapshot

__all__ = ["check_documents", "check_ontology_file", "check_store"]


def check_ontology_file(path: Path) -> list[dict[str, str]]:
    """Every fault of an ontology file with its line."""
    _, faults = check_ontology(path)
    return [
        {"where": f"{path}:{fault.line}", "problem": f"{fault.problem}. {fault.remedy}".strip(" .")} for fault in faults
    ]


def check_documents(addresses: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Read documents and report what would be refused.

    :raises CatalogError: when no tool can be read at all.
    """
    catalog = read_catalog(addresses)
    reasons = Counter(refusal.reason for refusal in catalog.rejected)
    summary = {"tools": len(catalog.tools), "refused": len(catalog.rejected), **dict(sorted(reasons.items()))}
    return summary, [
        {"where": refusal.subject, "problem": f"{refusal.reason}: {refusal.detail}"} for refusal in catalog.rejected
    ]


def check_store(store: Path) -> dict[str, Any]:
    """Open the published snapshot with every hash checked.

    :raises SnapshotError: naming the file that is wrong.
    """
    snapshot = open_snapshot(store, verify=True)
    return {"snapshot_id": snapshot.id, "files": len(snapshot.manifest["files"]), "tools": snapshot.tool_count}
