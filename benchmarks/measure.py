"""Measuring one set: build its snapshot, ask the systems, write its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.sets import BenchSet, catalog_address
from eval.measured_set import MeasuredSet, read_measured
from inference import DEFAULT_ENCODER, load_encoder
from inference.encoder_wrappers import with_recent_vectors
from ontology.reporting import no_progress
from services.jobs.build import build_snapshot
from services.jobs.evaluate import evaluate, measure_systems
from services.jobs.plans import DEFAULT_RERANKER, EvaluationPlan

_TIMEOUT_S = 60.0  # a shared machine may stall; a slow answer is part of the latency, and is not lost


def measure(
    bench_set: BenchSet,
    folder: Path,
    systems: Sequence[str],
    *,
    report: bool = True,
    needs: bool = False,
    reranker: str = DEFAULT_RERANKER,
) -> MeasuredSet:
    """Build the set's snapshot and ask the systems.

    :param report: whether its report is written too. Without it the vector of a request is made once for all systems, which are then
        not compared in their latency.
    :param needs: whether the systems are asked by the set's recorded needs too.
    :param reranker: of ``default``; ``fast`` is ``default`` without it.
    """
    store = folder / "store"
    encoder = load_encoder(DEFAULT_ENCODER, workers=2)
    build_snapshot([str(catalog_address(bench_set, folder))], store, encoder=encoder, workers=2)
    plan = EvaluationPlan(
        store=store,
        queries=(bench_set.queries,),
        name=bench_set.name,
        split=bench_set.split,
        out=folder / "report",
        systems=tuple(systems),
        timeout_s=_TIMEOUT_S,
        reranker=reranker,
        gold_edges=bench_set.gold_edges,
        needs_files=(bench_set.needs,) if needs and bench_set.needs is not None else (),
    )
    if report:
        evaluate(plan, no_progress)
        return read_measured(plan.out)
    return measure_systems(plan, no_progress, load=lambda name: with_recent_vectors(load_encoder(name)))
