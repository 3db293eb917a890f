"""Quality: every system on every set, ``make bench-quality``; writes ``docs/results.md``.

For each set it builds the snapshot (what did not change since the last time is reused), asks every system every request
and writes a report of that set; then it averages over the sets and renews the documents. A run that stops goes on where
it was. ``--sets`` and ``--systems`` measure a part; only a run over everything renews the documents.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from services.threads import pin_threads

pin_threads()  # before anything numeric is imported

from eval.measured import read_measured
from eval.summary import MeasuredSet
from inference import load_encoder
from scripts.bench_sets import ROOT, BenchSet, bench_sets, catalog_address
from services.build import build_snapshot
from services.evaluate import EvaluationPlan, evaluate

__all__ = ["main", "measure"]

OUT = ROOT / "out" / "bench-quality"
SYSTEMS = ("all",)
_ENCODER = "minilm-l6-int8.v1"
_TIMEOUT_S = 60.0  # a shared machine may stall; a slow answer is seen in the latency, not lost


def main() -> int:
    """Measure, report, renew the documents; returns the exit code: 1 when a system died on the way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="", help="only these, comma-separated")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="only these, comma-separated")
    parser.add_argument("--limit", type=int, default=0, help="requests of each set at most")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    sets = bench_sets(_names(options.sets))
    measured, died = [], []
    for bench_set in sets:
        started = time.perf_counter()
        result, gone = measure(bench_set, options.out / bench_set.name, _names(options.systems), limit=options.limit)
        measured.append(result)
        died += [f"{bench_set.name}: {name}" for name in gone]
        print(
            f"{bench_set.name}: {len(result.queries.queries)} requests, {time.perf_counter() - started:.0f} s",
            flush=True,
        )
    if not options.sets and not options.limit and options.systems == ",".join(SYSTEMS):
        from scripts.results import write_results

        write_results(measured)
    for name in died:
        print(f"died, and resumes when run again: {name}", file=sys.stderr)
    return 1 if died else 0


def measure(
    bench_set: BenchSet, folder: Path, systems: Sequence[str], *, limit: int = 0
) -> tuple[MeasuredSet, list[str]]:
    """Build the set's snapshot and ask the systems; returns the results and the names of systems that died."""
    store = folder / "store"
    build_snapshot(
        [str(catalog_address(bench_set, folder))], store, encoder=load_encoder(_ENCODER, workers=2), workers=2
    )
    plan = EvaluationPlan(
        store=store,
        queries=(bench_set.queries,),
        name=bench_set.name,
        out=folder / "report",
        systems=tuple(systems),
        timeout_s=_TIMEOUT_S,
        limit=limit,
        keys=bench_set.keys,
        footprint=False,
    )
    done = evaluate(plan, lambda stage, finished, total: None)
    return read_measured(plan.out), [run.system for run in done.died]


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    sys.exit(main())
