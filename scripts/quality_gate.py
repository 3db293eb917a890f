"""The gate of CI: exit code 1 when ``default`` is below the flat hybrid on any set, beyond its bootstrap interval.

Every set is cut to a few minutes' work: at most 150 requests and 1,000 tools, chosen by the hash of their ids. Where the
open sets do not lie beside the checkout, the shipped one is the gate, and the output says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.bench_sets import BENCH, ROOT, BenchSet, bench_sets, reduced
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.summary import Summary

__all__ = ["main", "run_gate"]

CANDIDATE = "default"
BASELINE = "rrf"
OUT = ROOT / "out" / "quality-gate"
_REQUESTS = 150
_TOOLS = 1_000


def main() -> int:
    """Measure, print the table, say what was lost; returns the exit code."""
    pin_threads()  # before anything numeric is imported
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidate", default=CANDIDATE, help="the system that must not lose")
    parser.add_argument("--sets", default="", help="only these, comma-separated")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    if not BENCH.is_dir():
        print("The open sets are not beside the checkout: only the shipped set is measured.")
    sets = bench_sets([name for name in options.sets.split(",") if name])
    return run_gate(sets, options.candidate, options.out)


def run_gate(sets: Sequence[BenchSet], candidate: str, out: Path) -> int:
    """Measure the candidate beside the baseline on every set; returns 1 when it loses on one."""
    from eval.gate import GATE_MEASURES, losses
    from eval.summary import summarise
    from scripts.measure import measure

    measured = []
    for bench_set in sets:
        small = reduced(bench_set, out / bench_set.name, queries=_REQUESTS, tools=_TOOLS)
        measured.append(measure(small, out / bench_set.name, (BASELINE, candidate))[0])
    summary = summarise(measured, baseline=BASELINE)
    print(_table(summary, candidate))
    lost = losses(summary, candidate)
    for loss in lost:
        print(f"LOST  {loss}")
    print(f"{candidate} loses to {BASELINE} on {len(lost)} of {len(sets) * len(GATE_MEASURES)} figures")
    return 1 if lost else 0


def _table(summary: Summary, candidate: str) -> str:
    from eval.gate import GATE_MEASURES
    from eval.report.figure_lookup import Figures

    figures = Figures(summary)
    lines = [f"{candidate} minus {summary.baseline}, points of CompleteRecall with the paired 95 % interval"]
    for set_name in summary.sets:
        found = (figures.get(figures.requests(set_name), candidate, measure) for measure in GATE_MEASURES)
        cells = [
            f"@{one.measure.partition('@')[2]} {one.difference:+.1%} [{one.difference_low:+.1%}, {one.difference_high:+.1%}]"
            for one in found
            if one is not None
        ]
        lines.append(f"{set_name:20} " + "  ".join(cells))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
