"""Measuring one set: its snapshot built, its systems asked, its report written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.measured_set import MeasuredSet, read_measured
from inference import DEFAULT_ENCODER, load_encoder
from ontology.progress import no_progress
from scripts.bench_sets import BenchSet, catalog_address
from services.jobs.build import build_snapshot
from services.jobs.evaluate import evaluate
from services.jobs.plans import EvaluationPlan

__all__ = ["measure"]

_TIMEOUT_S = 60.0  # a shared machine may stall; a slow answer is seen in the latency, not lost


def measure(
    bench_set: BenchSet, folder: Path, systems: Sequence[str], *, limit: int = 0
) -> tuple[MeasuredSet, list[str]]:
    """Build the set's snapshot and ask the systems; returns the results and the names of systems whose run failed."""
    store = folder / "store"
    build_snapshot(
        [str(catalog_address(bench_set, folder))], store, encoder=load_encoder(DEFAULT_ENCODER, workers=2), workers=2
    )
    plan = EvaluationPlan(
        store=store,
        queries=(bench_set.queries,),
        name=bench_set.name,
        out=folder / "report",
        systems=tuple(systems),
        timeout_s=_TIMEOUT_S,
        limit=limit,
        gold_edges=bench_set.gold_edges,
        footprint=False,
    )
    done = evaluate(plan, no_progress)
    return read_measured(plan.out), [run.system for run in done.failed]
