"""Snapshots of growing size from one catalogue, and what building them took."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ontology.files import write_file
from ontology.tool import Tool
from scripts.bench_sets import BENCH
from scripts.speed.speed_results import Build

__all__ = ["ENCODER", "built", "catalog_tools", "earlier", "store_of"]

_SCALE = BENCH / "scale_44k" / "tools.jsonl"
ENCODER = "egotools-minilm-int8.v1"
_WORKERS = 2
_BUILD = TypeAdapter(Build)


def catalog_tools(addresses: Sequence[str] | None) -> Sequence[Tool]:
    """The tools of these addresses; without any, of the open catalogue beside the checkout, else botocore's and Google's."""
    from ingest.sources import read_catalog

    if not addresses:
        addresses = [str(_SCALE)] if _SCALE.exists() else ["aws:*", "google-discovery:*"]
    return read_catalog(list(addresses)).tools


def store_of(size: int, out: Path) -> Path:
    """The store of the snapshot of so many tools."""
    return out / f"{size}.store"


def built(size: int, tools: Sequence[Tool], out: Path, *, reuse: bool) -> Build:
    """Build a snapshot of ``size`` tools, spread evenly over the catalogue.

    :param reuse: take an earlier build, with its figures, when it is of exactly these tools.
    """
    chosen = tools[:: max(1, len(tools) // size)][:size]
    content = "".join(tool.canonical_json() + "\n" for tool in chosen)
    digest = hashlib.sha256(content.encode()).hexdigest()
    store, record = store_of(size, out), out / f"{size}.build.json"
    if reuse and (known := earlier(store, record, digest)):
        return replace(known, reused=True)
    out.mkdir(parents=True, exist_ok=True)
    table = out / f"{size}.jsonl"
    table.write_text(content, encoding="utf-8")
    shutil.rmtree(store, ignore_errors=True)
    made = _build(table, store, tools=len(chosen), digest=digest)
    write_file(record, _BUILD.dump_json(made, indent=1).decode() + "\n")
    return made


def earlier(store: Path, record: Path, digest: str) -> Build | None:
    """The build of what is published in the store, or None when that is of other tools.

    :param record: the file in which that build was kept.
    :param digest: SHA-256 of the tools.
    """
    try:
        known = _BUILD.validate_json(record.read_bytes())
        published = (store / "CURRENT").read_text(encoding="utf-8").strip()
    except (OSError, ValidationError):
        return None
    return known if (known.tools_sha256, known.snapshot_id) == (digest, published) else None


def _build(table: Path, store: Path, *, tools: int, digest: str) -> Build:
    from inference import load_encoder
    from services.jobs.build import build_snapshot

    encoder = load_encoder(ENCODER, workers=_WORKERS)
    started = time.perf_counter()
    report = build_snapshot([str(table)], store, encoder=encoder, workers=_WORKERS, cached=False)
    return Build(
        tools=tools,
        tools_sha256=digest,
        snapshot_id=report.snapshot_id,
        nodes=report.graph.nodes,
        edges=report.graph.edges,
        build_s=time.perf_counter() - started,
        seconds=dict(report.seconds),
    )
