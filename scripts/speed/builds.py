"""Snapshots of growing size from one catalogue, and what building them took."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ontology.tool import Tool
from scripts.bench_sets import BENCH

__all__ = ["built", "catalog_tools", "earlier", "store_of"]

_SCALE = BENCH / "scale_44k" / "tools.jsonl"
_ENCODER = "minilm-l6-int8.v1"
_WORKERS = 2


def catalog_tools(addresses: Sequence[str] | None) -> Sequence[Tool]:
    """The tools of these addresses, or of the catalogue that is there: the open one, else botocore and Google's."""
    from ingest.sources import read_catalog

    if not addresses:
        addresses = [str(_SCALE)] if _SCALE.exists() else ["aws:*", "google-discovery:*"]
    return read_catalog(list(addresses)).tools


def store_of(size: int, out: Path) -> Path:
    """Where the snapshot of so many tools lies."""
    return out / f"{size}.store"


def built(size: int, tools: Sequence[Tool], out: Path, *, reuse: bool) -> dict[str, Any]:
    """Build a snapshot of ``size`` tools, spread evenly over the catalogue, afresh.

    :param reuse: take an earlier build, with its figures, when it is of exactly these tools; ``reused`` says so.
    """
    chosen = tools[:: max(1, len(tools) // size)][:size]
    content = "".join(tool.canonical_json() + "\n" for tool in chosen)
    digest = hashlib.sha256(content.encode()).hexdigest()
    store, record = store_of(size, out), out / f"{size}.build.json"
    if reuse and (figures := earlier(store, record, digest)):
        return {**figures, "reused": True}
    out.mkdir(parents=True, exist_ok=True)
    table = out / f"{size}.jsonl"
    table.write_text(content, encoding="utf-8")
    shutil.rmtree(store, ignore_errors=True)
    figures = {"tools": len(chosen), "tools_sha256": digest, **_build(table, store)}
    record.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return {**figures, "reused": False}


def earlier(store: Path, record: Path, digest: str) -> dict[str, Any] | None:
    """The figures of the build that made what is published in the store, or None when it is of other tools.

    :param record: where that build noted its figures.
    :param digest: SHA-256 of the tools.
    """
    try:
        figures: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        published = (store / "CURRENT").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return figures if (figures["tools_sha256"], figures["snapshot_id"]) == (digest, published) else None


def _build(table: Path, store: Path) -> dict[str, Any]:
    from inference import load_encoder
    from services.jobs.build import build_snapshot

    encoder = load_encoder(_ENCODER, workers=_WORKERS)
    started = time.perf_counter()
    report = build_snapshot([str(table)], store, encoder=encoder, workers=_WORKERS, cached=False)
    return {
        "snapshot_id": report.snapshot_id,
        "nodes": report.graph.graph.number_of_nodes(),
        "edges": report.graph.graph.number_of_edges(),
        "build_s": time.perf_counter() - started,
        "seconds": dict(report.seconds),
    }
