"""Latency: what an answer costs beside the bare encoding of its request; ``python -m research.answer_latency``.

For each set that ``make bench-quality`` has built, the same requests are encoded, answered by ``fast``, and answered by
``default`` with the reranking by the reranker that ships: in turn, request by request, on one thread. Wall time counts
where the machine is idle; where it is not, the time of the thread does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from scripts.bench_sets import ROOT, bench_sets, sampled
from scripts.run_command import run_command
from services.threads import pin_threads

OUT = ROOT / "out" / "bench-quality"
RERANKER = "egotools-reranker-int8.v1"


def main(
    sets: Annotated[str, typer.Option(help="only these, comma-separated")] = "",
    stores: Annotated[Path, typer.Option(help="what make bench-quality built")] = OUT,
    limit: Annotated[int, typer.Option(help="requests of each set at most")] = 150,
) -> None:
    """Measure and print."""
    from inference import load_reranker
    from retrieval.query.request import Request
    from retrieval.snapshot_engine import open_engine

    reranker = load_reranker(RERANKER)
    print("p50 of thread ms (of wall ms): bare encoding | fast | default with reranker || fast / bare")
    ratios = []
    for bench_set in bench_sets([name for name in sets.split(",") if name]):
        store = stores / bench_set.name / "store"
        if not store.exists():
            continue
        engine = open_engine(store, reranker=reranker)
        fast, default = engine.retriever("fast"), engine.retriever("default")
        spent: list[list[tuple[float, float]]] = [[], [], []]
        for row in sampled(bench_set, limit):
            request = Request(query=row["query"], explain=False)
            spent[0].append(_timed(lambda: engine.encoder.encode([request.query])))  # noqa: B023 - called at once
            spent[1].append(_timed(lambda: fast.retrieve(request)))  # noqa: B023
            spent[2].append(_timed(lambda: default.retrieve(request)))  # noqa: B023
        medians = [(median(thread for thread, _ in column), median(wall for _, wall in column)) for column in spent]
        ratios.append(medians[1][0] / medians[0][0])
        cells = " | ".join(f"{thread:5.1f} ({wall:5.1f})" for thread, wall in medians)
        print(f"{bench_set.name:22} {cells} || {ratios[-1]:.2f}", flush=True)
    print(f"median of the sets: fast costs {median(ratios):.2f} bare encodings")


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of this thread, and of the clock."""
    thread, wall = time.thread_time(), time.perf_counter()
    work()
    return (time.thread_time() - thread) * 1e3, (time.perf_counter() - wall) * 1e3


if __name__ == "__main__":
    pin_threads()  # before anything numeric is imported
    run_command(main)
