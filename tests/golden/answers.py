"""Recordings of snapshots and of the answers to requests."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from egotools.values import Response
from inference import DEFAULT_ENCODER, load_encoder
from retrieval.ablations import make_ablations
from retrieval.query.request import Request
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from scripts.bench_sets import BENCH, BenchSet, bench_sets, catalog_address, real_sets, reduced, sampled
from services.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_REQUESTS
from services.jobs.build import build_snapshot

__all__ = ["ANSWERS", "NotHere", "Recorder", "company_store", "digest", "encoder_print"]

Recorder: TypeAlias = Callable[[Path], dict[str, Any]]
"""From a folder for what is built to what is seen, by its place."""

_PRESETS = ("default", "rrf", "paper")
_SETS = ("restbench", "apibank", "workbench", "tau2_service", "ultratool", "gtc", "toollinkos-given")
_REQUESTS, _TOOLS, _K = 40, 1_000, 30
_FIRST = 5  # ids in clear; the rest is in the hash
_FILTERS: Mapping[str, Mapping[str, list[str]]] = {
    "namespace": {"namespace": ["hr", "travel"]},
    "excluded": {"id": ["!hr/*"]},
    "effect": {"effect": ["read"]},
}


class NotHere(Exception):
    """What is recorded needs data that is not on this machine."""


def digest(value: Any) -> str:
    """A short hash of a text, of bytes, or of the JSON form of anything else."""
    data = value if isinstance(value, bytes) else value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


@cache
def encoder_print() -> str:
    """A hash of what the shipped encoder makes of a text: processors differ in the last bits."""
    return digest(load_encoder(DEFAULT_ENCODER).encode(["find an employee by name"]).tobytes())


def company_store(folder: Path) -> Path:
    """The store of the shipped company, built at the first call."""
    store = folder / "company"
    if not store.is_dir():
        build_snapshot([os.path.relpath(SHIPPED_CATALOG)], store, encoder=load_encoder(DEFAULT_ENCODER))
    return store


def _seen(response: Response) -> list[str]:
    """The first ids, and a hash of the whole answer but for its times; scores to four digits."""
    tools = [{**asdict(tool), "score": f"{tool.score:.4g}", "features": None} for tool in response.tools]
    rest = [
        response.fallbacks,
        response.unanswerable,
        [asdict(each) | {"probability": None} for each in response.need_results],
    ]
    whole = json.dumps([tools, rest], sort_keys=True, default=_plain)
    return [*(tool.id for tool in response.tools[:_FIRST]), digest(whole)]


def _plain(value: Any) -> Any:
    return (
        sorted(value)
        if isinstance(value, (set, frozenset))
        else dict(value)
        if isinstance(value, Mapping)
        else str(value)
    )


def _answers(engine: SnapshotEngine, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    snapshot = engine.snapshot
    seen: dict[str, Any] = {"snapshot": snapshot.id, "tools": snapshot.tool_count}
    retrievers = {name: engine.retriever(name) for name in _PRESETS}
    retrievers["no-graph"] = make_ablations(snapshot, engine.encoder)["default-no-graph"]
    for row in rows:
        for name, retriever in retrievers.items():
            asked = Request(query=row["query"], k=_K, explain=True, explanation=True)
            seen[f"{row['id']} {name}"] = _seen(retriever.retrieve(asked))
    return seen


def _company(folder: Path) -> dict[str, Any]:
    """Snapshot files, and the demo's requests: whole, filtered, with what is done, and as needs."""
    store = company_store(folder)
    engine = open_engine(store)
    rows = [json.loads(line) for line in SHIPPED_REQUESTS.read_text(encoding="utf-8").splitlines()]
    seen = _answers(engine, rows)
    files = (store / (store / "CURRENT").read_text(encoding="utf-8").strip()).rglob("*")
    seen["files"] = {path.name: digest(path.read_bytes()) for path in sorted(files) if path.is_file()}
    default = engine.retriever("default")
    for row in rows:
        for name, filters in _FILTERS.items():
            seen[f"{row['id']} {name}"] = _seen(default.retrieve(Request(query=row["query"], k=_K, filters=filters)))
        clauses = [part.strip() for part in row["query"].split(" and ") if any(map(str.isalpha, part))][:32]
        for query in ("", row["query"]):
            asked = Request(query=query, needs=[clause[:500] for clause in clauses], k=_K, done=["hr/searchEmployees"])
            seen[f"{row['id']} needs {'with' if query else 'without'} query"] = _seen(default.retrieve(asked))
        asked = Request(query=row["query"], k=_K, auto_k=True, abstain=True)
        seen[f"{row['id']} auto_k"] = _seen(default.retrieve(asked))
    return seen


def _set(name: str, folder: Path) -> dict[str, Any]:
    if not BENCH.is_dir():
        raise NotHere("the open sets are not beside the checkout")
    (bench_set,) = bench_sets([name])
    return _measured(reduced(bench_set, folder / name, queries=_REQUESTS, tools=_TOOLS), folder / name)


def _real(folder: Path) -> dict[str, Any]:
    if not real_sets():
        raise NotHere("the real documents are not fetched")
    return _measured(real_sets()[0], folder / "real")


def _measured(bench_set: BenchSet, folder: Path) -> dict[str, Any]:
    build_snapshot([str(catalog_address(bench_set, folder))], folder / "store", encoder=load_encoder(DEFAULT_ENCODER))
    seen = _answers(open_engine(folder / "store"), sampled(bench_set, _REQUESTS))
    return {place: value[-1] if isinstance(value, list) else value for place, value in seen.items()}  # no ids of theirs


ANSWERS: Mapping[str, Recorder] = {
    "company": _company,
    **{name: partial(_set, name) for name in _SETS},
    "real": _real,
}
