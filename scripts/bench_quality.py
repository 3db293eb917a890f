"""Quality: every system on every set, ``make bench-quality``; writes ``docs/results.md``.

For each set it builds the snapshot (what did not change since the last time is reused), asks every system every
request and writes a report of that set; then it averages over the sets and renews the documents. An interrupted run
resumes. Where the real documents have been fetched, they are one more set, with the half of their requests that rules may be
chosen on; the other half, ``real-kept``, is measured only when it is named. ``--sets`` and ``--systems`` measure a part, which ``--publish`` puts in the place of the published figures:
all systems on sets outside the published mean, the two halves of the shipped requests, or one ablation on the nine sets
beside ``rrf`` and ``default``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scripts.bench_sets import (
    MACRO_SETS,
    REAL,
    REAL_ABSENT,
    REAL_KEPT,
    ROOT,
    SHIPPED,
    SHIPPED_DEV,
    SHIPPED_TEST,
    BenchSet,
    bench_sets,
    real_sets,
)
from scripts.provenance import current
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.measured_set import MeasuredSet

OUT = ROOT / "out" / "bench-quality"
EVERYTHING = "all"
# Ablations are averaged over the sets of the macro average alone, so elsewhere only the graph is switched off.
_ELSEWHERE = ("baselines", "paper", "default", "default-no-graph")


def main(
    sets: Annotated[str, typer.Option(help="Only these, with commas.")] = "",
    systems: Annotated[str, typer.Option(help="Only these, with commas.")] = EVERYTHING,
    limit: Annotated[int, typer.Option(help="Requests of each set at most; 0 for all.")] = 0,
    publish: Annotated[
        bool, typer.Option("--publish", help="Replace the published figures of the measured part.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of snapshots, answers and reports.")] = OUT,
) -> None:
    """Measure, report, renew the documents; exit code 1 when a run stopped before its end."""
    pin_threads()  # before anything numeric is imported
    from scripts.measure import measure

    measured, failed = [], []
    for bench_set in chosen_sets(_names(sets)):
        started = time.perf_counter()
        elsewhere = systems == EVERYTHING and bench_set.name not in MACRO_SETS
        chosen = _ELSEWHERE if elsewhere else _names(systems)
        result = measure(bench_set, out / bench_set.name, chosen, limit=limit)
        measured.append(result.measured)
        failed += [f"{bench_set.name}: {name}" for name in result.failed]
        requests, seconds = len(result.measured.queries.queries), time.perf_counter() - started
        print(f"{bench_set.name}: {requests:,} requests, {seconds:.0f} s", flush=True)
    for name in failed:
        print(f"stopped before its end, and resumes when run again: {name}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)
    part = bool(sets or limit or systems != EVERYTHING)
    if publish or not (part or set(MACRO_SETS) - {one.queries.name for one in measured}):
        _publish(measured, _names(systems) if part else ())
        print("docs/results.md is renewed")
    else:
        print("A part was measured: the documents stay as they were.")


def chosen_sets(names: Sequence[str]) -> list[BenchSet]:
    """The sets of these names, or all but the half that is kept for the end; says what is left out or opened."""
    if REAL_KEPT in names:
        print(f"{REAL_KEPT} is kept for the end: report it once, and choose nothing by it.", file=sys.stderr)
    if names:
        return bench_sets(names)
    real = [one for one in real_sets() if one.name == REAL]
    if not real:
        print(REAL_ABSENT, file=sys.stderr)
    return [*real, *bench_sets()]


def _publish(measured: Sequence[MeasuredSet], part: Sequence[str]) -> None:
    """Write ``docs/results.json`` and what is made from it.

    :param part: the systems that were measured, where not everything was.
    """
    from eval.systems.ablations import ABLATIONS
    from inference import DEFAULT_ENCODER
    from scripts.published_results import collect, read_results, with_halves, with_sets, with_system, write_results
    from scripts.results_page import renew_documents

    now = current(DEFAULT_ENCODER)
    if not part:
        write_results(replace(collect(measured), measured={"everything": now}))
    else:
        results, fresh = read_results(), []
        for system in part:
            if system in ABLATIONS and set(MACRO_SETS) <= {one.queries.name for one in measured}:
                results = with_system(results, measured, system)
                fresh.append(system)
        for one in measured:
            if one.queries.name == SHIPPED:
                results = with_halves(results, one)
                fresh += [SHIPPED_DEV, SHIPPED_TEST]
        if EVERYTHING in part:
            others = [one for one in measured if one.queries.name not in MACRO_SETS]
            results = with_sets(results, others) if others else results
            fresh += [one.queries.name for one in others]
        write_results(replace(results, measured={**results.measured, **dict.fromkeys(fresh, now)}))
    renew_documents(read_results())


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    run_command(main)
