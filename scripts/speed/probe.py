"""One store measured in a process of its own: ``python -m scripts.speed.probe STORE ROUNDS`` prints the figures as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.bench_sets import ROOT
from scripts.speed.speed_queries import bench_queries, mixed

if TYPE_CHECKING:
    from inference.arrays import Floats2d
    from retrieval.snapshot.reader import Snapshot
    from retrieval.snapshot_engine import SnapshotEngine

__all__ = ["PRESETS", "RECALL_K", "probed"]

PRESETS = ("paper", "default")
RECALL_K = 10
_ENCODER = "minilm-l6-int8.v1"
_K = 10


def probed(store: Path, *, rounds: int) -> dict[str, Any]:
    """Load, memory, latency by stage and recall of the index, measured in a fresh process.

    :param rounds: how often every request is asked, at least 2; the first round warms up and is not counted.
    """
    command = [sys.executable, "-m", "scripts.speed.probe", str(store), str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _probe(store: Path, rounds: int) -> dict[str, Any]:
    from inference import load_encoder
    from ontology.names import noun_lemma
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot_engine import SnapshotEngine

    queries = mixed(bench_queries())
    encoder = load_encoder(_ENCODER)
    queries_ND = encoder.encode(queries)
    noun_lemma("words")
    __import__("faiss")
    models = _resident()
    started = time.perf_counter()
    snapshot = open_snapshot(store)
    load_s = time.perf_counter() - started
    engine = SnapshotEngine(snapshot, encoder)
    spent = {preset: _stages(engine, preset, queries, rounds) for preset in PRESETS}
    return {
        "load_s": load_s,
        "models_bytes": models,
        "resident_bytes": _resident() - models,
        "recall": _recall(snapshot, queries_ND),
        "snapshot_bytes": sum(path.stat().st_size for path in snapshot.folder.iterdir()),
        "median_ms": {preset: _percentiles(by_stage, 50) for preset, by_stage in spent.items()},
        "p95_ms": {preset: _percentiles(by_stage, 95) for preset, by_stage in spent.items()},
    }


def _stages(engine: SnapshotEngine, preset: str, queries: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Stage → milliseconds of every request."""
    from retrieval.retriever import Request

    retriever = engine.retriever(preset)
    stages: dict[str, list[float]] = {}
    for place in range(rounds):
        for query in queries:
            response = retriever.retrieve(Request(query=query, k=_K))
            for stage, ms in response.timings_ms.items() if place else ():
                stages.setdefault(stage, []).append(ms)
    return stages


def _recall(snapshot: Snapshot, queries_ND: Floats2d) -> float:
    """The share of the exact nearest nodes that the index finds."""
    import numpy as np

    found = total = 0
    vectors_ND = np.load(snapshot.folder / "nodes.vectors.npy").astype(np.float32)
    for query_D in queries_ND:
        exact = np.lexsort((np.arange(len(vectors_ND)), -(vectors_ND @ query_D)))[:RECALL_K]
        found += len(set(exact.tolist()) & set(snapshot.vectors.nearest(query_D, RECALL_K)[0].tolist()))
        total += len(exact)
    return found / total


def _percentiles(by_stage: Mapping[str, Sequence[float]], percent: int) -> dict[str, float]:
    import numpy as np

    return {stage: float(np.percentile(values, percent)) for stage, values in by_stage.items()}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    json.dump(_probe(Path(sys.argv[1]), int(sys.argv[2])), sys.stdout)
