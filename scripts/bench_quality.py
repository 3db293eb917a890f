"""Quality: every system on every set, ``make bench-quality``; writes ``docs/results.md``.

For each set it builds the snapshot (what did not change since the last time is reused), asks every system every request
and writes a report of that set; then it averages over the sets and renews the documents. A run that stops goes on where
it was. ``--sets`` and ``--systems`` measure a part; only a run over everything renews the documents.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from scripts.bench_sets import MACRO_SETS, ROOT, bench_sets
from services.threads import pin_threads

OUT = ROOT / "out" / "bench-quality"
EVERYTHING = "all"
# Ablations are averaged over the sets of the macro average alone, so elsewhere only the graph is taken away.
_ELSEWHERE = ("baselines", "paper", "default", "default-no-graph")


def main() -> int:
    """Measure, report, renew the documents; returns the exit code: 1 when a system died on the way."""
    pin_threads()  # before anything numeric is imported
    from scripts.measure import measure

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="", help="only these, comma-separated")
    parser.add_argument("--systems", default=EVERYTHING, help="only these, comma-separated")
    parser.add_argument("--limit", type=int, default=0, help="requests of each set at most")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    measured, died = [], []
    for bench_set in bench_sets(_names(options.sets)):
        started = time.perf_counter()
        systems = _names(options.systems)
        if options.systems == EVERYTHING and bench_set.name not in MACRO_SETS:
            systems = list(_ELSEWHERE)
        result, gone = measure(bench_set, options.out / bench_set.name, systems, limit=options.limit)
        measured.append(result)
        died += [f"{bench_set.name}: {name}" for name in gone]
        requests, seconds = len(result.queries.queries), time.perf_counter() - started
        print(f"{bench_set.name}: {requests:,} requests, {seconds:.0f} s", flush=True)
    for name in died:
        print(f"died, and resumes when run again: {name}", file=sys.stderr)
    if died:
        return 1
    part = options.sets or options.limit or options.systems != EVERYTHING
    if part or not set(MACRO_SETS) <= {one.queries.name for one in measured}:
        print("A part was measured: the documents stay as they were.")
        return 0
    from scripts.published_results import collect, read_results, write_results
    from scripts.results_page import renew_documents

    write_results(collect(measured))
    renew_documents(read_results())
    print("docs/results.md is renewed")
    return 0


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    sys.exit(main())
