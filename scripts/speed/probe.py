"""One store measured in a process of its own: ``python -m scripts.speed.probe STORE ROUNDS`` prints the figures as JSON."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from scripts.bench_sets import ROOT
from scripts.speed.speed_queries import bench_queries, mixed
from scripts.speed.speed_results import InProcess

if TYPE_CHECKING:
    from inference.encoder import Floats2d
    from retrieval.engine import SnapshotEngine
    from retrieval.snapshot.reader import Snapshot

__all__ = ["PRESETS", "RECALL_K", "probed"]

PRESETS = ("paper", "default")
RECALL_K = 10
_NEEDS = (4, 8)  # of a request
_GROUPS = 30  # requests of so many needs
_ENCODER = "egotools-minilm-int8.v1"
_K = 10
_FIGURES = TypeAdapter(InProcess)


def probed(store: Path, *, rounds: int) -> InProcess:
    """Load, memory, latency by stage and recall of the index, measured in a fresh process.

    :param rounds: how often every request is asked, at least 2; the first round warms up and is not counted.
    """
    command = [sys.executable, "-m", "scripts.speed.probe", str(store), str(rounds)]
    return _FIGURES.validate_json(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)


def _probe(store: Path, rounds: int) -> InProcess:
    import numpy as np

    from inference import load_encoder
    from ontology.names import noun_lemma
    from retrieval.engine import SnapshotEngine
    from retrieval.snapshot.reader import open_snapshot

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

    def percentile(percent: float) -> dict[str, dict[str, float]]:
        return {
            preset: {stage: float(np.percentile(ms, percent)) for stage, ms in by_stage.items()}
            for preset, by_stage in spent.items()
        }

    return InProcess(
        load_s=load_s,
        resident_bytes=_resident() - models,
        snapshot_bytes=sum(path.stat().st_size for path in snapshot.folder.iterdir()),
        recall=_recall(snapshot, queries_ND),
        median_ms=percentile(50),
        p95_ms=percentile(95),
        **_needs(engine, queries, rounds),
    )


def _stages(engine: SnapshotEngine, preset: str, queries: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Stage → milliseconds of every request."""
    from retrieval.query.request import Request

    retriever = engine.retriever(preset)
    stages: dict[str, list[float]] = {}
    for place in range(rounds):
        for query in queries:
            response = retriever.retrieve(Request(query=query, k=_K))
            for stage, ms in response.timings_ms.items() if place else ():
                stages.setdefault(stage, []).append(ms)
    return stages


def _needs(engine: SnapshotEngine, queries: Sequence[str], rounds: int) -> dict[str, dict[int, float]]:
    """What needs cost, which are clauses of the requests, and what the same words cost as one request.

    They are asked in turns, and the fastest round of each counts: other programs slow a round down, and never speed it up.
    """
    import numpy as np

    from retrieval.query.query import decompose
    from retrieval.query.request import MAX_NEED_CHARS, Request

    retriever = engine.retriever("default")
    clauses = dict.fromkeys(clause for query in queries for clause in decompose(query))
    phrases = [each for each in clauses if len(each) <= MAX_NEED_CHARS and any(map(str.isalpha, each))]

    def spent(request: Request) -> tuple[float, float]:
        started = time.thread_time(), time.perf_counter()
        retriever.retrieve(request)
        return time.thread_time() - started[0], (time.perf_counter() - started[1]) * 1e3

    figures: dict[str, dict[int, float]] = {"needs_cpu": {}, "needs_ms": {}, "words_ms": {}}
    for number in _NEEDS:
        starts = range(0, min(len(phrases), _GROUPS * number) - number + 1, number)
        asked = [Request(needs=phrases[start : start + number], k=_K) for start in starts]
        pairs = [(each, Request(query=each.text, k=_K)) for each in asked]
        times = np.array([[[spent(each) for each in pair] for _ in range(rounds)] for pair in pairs]).min(axis=1)
        needs_cpu, words_cpu = times[:, :, 0].sum(axis=0)
        figures["needs_cpu"][number] = float(needs_cpu / words_cpu)
        figures["needs_ms"][number], figures["words_ms"][number] = np.median(times[:, :, 1], axis=0).tolist()
    return figures


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


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    print(_FIGURES.dump_json(_probe(Path(sys.argv[1]), int(sys.argv[2]))).decode())
