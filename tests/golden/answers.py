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
from eval.systems.ablations import make_ablations
from examples.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_REQUESTS
from inference import DEFAULT_ENCODER, load_encoder
from retrieval.engine import SnapshotEngine, open_engine
from retrieval.query.request import Request
from scripts.bench_sets import BENCH, BenchSet, bench_sets, catalog_address, real_sets, reduced, sampled
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


def _seen(response: Response) -> dict[str, Any]:
    """The first ids in clear, and hashes of all ids and of each other part of the answer but times; scores to four digits."""
    tools = [{**asdict(tool), "score": f"{tool.score:.4g}"} for tool in response.tools]
    parts = {
        "ids": [tool["id"] for tool in tools],
        "scores": [tool["score"] for tool in tools],
        "bindings": [tool["reasons"]["bindings"] for tool in tools],
        "explanations": [[tool["explanation"], {**tool["reasons"], "features": None}] for tool in tools],
        "tools": [{**tool, "reasons": None, "score": None, "probability": None} for tool in tools],
        "needs": [asdict(each) | {"probability": None} for each in response.need_results],
        "rest": [response.fallbacks, response.unanswerable],
    }
    hashes = {
        name: digest(json.dumps(part, sort_keys=True, default=_plain))[:8] for name, part in parts.items() if part
    }
    return {"first": " ".join(parts["ids"][:_FIRST]), "hashes": " ".join(f"{k} {v}" for k, v in hashes.items())}


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
    seen: dict[str, Any] = {
        "snapshot": snapshot.id,
        "tools": snapshot.tool_count,
        "edges": snapshot.manifest.counts.edges,
    }
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
    seen["files"] = _files(store)
    default = engine.retriever("default")
    restricted = engine.restricted({"namespace": ["hr", "travel"]}).retriever("default")
    for row in rows:
        asked = Request(query=row["query"], k=_K, explain=True, explanation=True)
        seen[f"{row['id']} restricted"] = _seen(restricted.retrieve(asked))
        for name, filters in _FILTERS.items():
            seen[f"{row['id']} {name}"] = _seen(default.retrieve(Request(query=row["query"], k=_K, filters=filters)))
        clauses = [part.strip() for part in row["query"].split(" and ") if any(map(str.isalpha, part))][:32]
        for query in ("", row["query"]):
            asked = Request(query=query, needs=[clause[:500] for clause in clauses], k=_K, done=["hr/searchEmployees"])
            seen[f"{row['id']} needs {'with' if query else 'without'} query"] = _seen(default.retrieve(asked))
        asked = Request(query=row["query"], k=_K, auto_k=True, abstain=True)
        seen[f"{row['id']} auto_k"] = _seen(default.retrieve(asked))
    return seen


def _files(store: Path) -> dict[str, str]:
    """The file names of the published snapshot with hashes."""
    published = store / "snapshots" / (store / "CURRENT").read_text(encoding="utf-8").strip()
    files = (path for path in sorted(published.rglob("*")) if path.is_file())
    seen = {path.relative_to(published).as_posix(): digest(path.read_bytes()) for path in files}
    if not seen:
        raise FileNotFoundError(published)
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
    seen["files"] = digest(_files(folder / "store"))
    return {
        place: value.get("hashes", value) if isinstance(value, dict) else value for place, value in seen.items()
    }  # no ids of theirs


ANSWERS: Mapping[str, Recorder] = {
    "company": _company,
    **{name: partial(_set, name) for name in _SETS},
    "real": _real,
}
