"""Does tuning on generated requests pay on hand-made ones? ``python -m research.tune_pays [--sets NAME,…] [--out FOLDER]``.

For each set: the snapshot is built, requests are generated from it, weights are fitted to those, and the hand-made requests of the set are
ranked with the shipped and with the fitted weights. Three rows tell what came of it:

- ``generated``: the weights that were fitted to the generated requests, whether or not a tuning would publish them;
- ``published``: what ``egotools tune`` leaves behind, the shipped weights where nothing was published;
- ``hand-made``: weights that were fitted, in the same way but as to hand-made requests, to the judged requests themselves. No tuning can
  do much better with these weights: it is the most that there is to gain.

Nothing of the judged requests is used for the first two. A second run goes on where the first one stopped; whatever the code or the
requests have changed is done again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scripts.bench_sets import ROOT, BenchSet, bench_sets, catalog_address
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.queries import LabelledQuery
    from eval.tuning import Cases
    from retrieval.ranking.weights import RankingWeights
    from retrieval.snapshot_engine import SnapshotEngine

JUDGED = ("enterprise-test", "real-kept", "restbench", "workbench")
"""The sets whose hand-made requests judge."""
CUTOFFS = (3, 5, 10)
ROWS = ("generated", "published", "hand-made")
_SEED = 0


def main(
    sets: Annotated[str, typer.Option(help="only these, with commas")] = ",".join(JUDGED),
    per_class: Annotated[int, typer.Option(help="generated requests of each class")] = 50,
    k: Annotated[int, typer.Option(help="CompleteRecall at this k decides")] = 10,
    out: Annotated[Path, typer.Option(help="snapshots, requests and results")] = ROOT / "out" / "tune-pays",
) -> None:
    """Build, generate, fit, judge, and print a table."""
    pin_threads()
    print(table_head(), flush=True)
    for name in sets.split(","):
        (bench_set,) = bench_sets([name])
        print(table_rows(measured(bench_set, out / name, per_class, k)), flush=True)


def table_head() -> str:
    """The head of the table."""
    columns = (f"@{cutoff}" for cutoff in CUTOFFS)
    return (
        f"CompleteRecall {' / '.join(columns)} in percent; differences in points with paired 95 % bootstrap intervals over requests.\n\n"
        "| set | requests | shipped | fitted to | then | difference | seconds of tune | |\n|---|---:|---:|---|---:|---|---:|---|"
    )


def table_rows(result: dict[str, Any]) -> str:
    """The rows of one set."""
    lines = []
    for name in ROWS:
        changes = result[name]
        before, after = (" / ".join(f"{100 * one[key]:.1f}" for one in changes) for key in ("before", "after"))
        differences = " / ".join(f"{_bold(one)} [{100 * one['low']:+.1f}, {100 * one['high']:+.1f}]" for one in changes)
        told = result["reason"] or "published" if name == "published" else _told(result["weights"][name])
        seconds = f"{result['seconds']:.0f}" if name == "published" else ""
        head = f"{result['set']} | {result['requests']:,} | {before}" if name == ROWS[0] else " | | "
        lines.append(f"| {head} | {name} | {after} | {differences} | {seconds} | {told} |")
    return "\n".join(lines)


def _bold(change: dict[str, float]) -> str:
    text = f"{100 * (change['after'] - change['before']):+.1f}"
    return f"**{text}**" if change["low"] > 0 or change["high"] < 0 else text


def _told(weights: dict[str, float]) -> str:
    return ", ".join(f"{name} ×{factor:.3g}" for name, factor in weights.items()) or "the shipped weights"


def measured(bench_set: BenchSet, folder: Path, per_class: int, k: int) -> dict[str, Any]:
    """Return what tuning does to the hand-made requests of a set; what an earlier run has found is read."""
    from eval.queries import read_queries
    from ontology.digests import code_digest
    from retrieval.snapshot_engine import open_engine

    build_store(bench_set, folder)
    generated = generated_requests(folder, per_class)
    engine = open_engine(folder / "store")
    code = code_digest("eval", "retrieval", "inference")
    hand = read_queries([bench_set.queries], split=bench_set.split)
    digest = hashlib.sha256(generated.read_bytes()).hexdigest()
    key = hashlib.sha256(repr((engine.snapshot_id, digest, hand.sha256, code, k)).encode()).hexdigest()[:16]
    file = folder / f"result-{key}.json"
    if not file.exists():
        result = {"set": bench_set.name, "requests": len(hand.queries)} | _judged(engine, generated, hand.queries, k)
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def build_store(bench_set: BenchSet, folder: Path) -> None:
    """Build the snapshot of a set into a folder."""
    from ingest.usage.usage_build import RulesUsage

    from inference import DEFAULT_ENCODER, load_encoder
    from ontology.ontology_file import load_ontology
    from services.jobs.build import build_snapshot

    folder.mkdir(parents=True, exist_ok=True)
    usage = RulesUsage(load_ontology())
    address = str(catalog_address(bench_set, folder))
    build_snapshot([address], folder / "store", encoder=load_encoder(DEFAULT_ENCODER), usage=usage, workers=1)


def generated_requests(folder: Path, per_class: int) -> Path:
    """Generate requests, and return their file; those that the same generator made from the same snapshot are kept."""
    from ontology.progress import no_progress
    from services.jobs.generate import generate_requests
    from services.jobs.plans import DatagenPlan

    plan = DatagenPlan(store=folder / "store", out=folder / "requests", per_class=per_class)
    generate_requests(plan, no_progress)
    return folder / "requests" / "queries.jsonl"


def _judged(engine: SnapshotEngine, generated: Path, hand: tuple[LabelledQuery, ...], k: int) -> dict[str, Any]:
    from eval.tuning import collect, read_labels, tune_weights
    from ontology.progress import no_progress
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.presets import DEFAULT_PRESET
    from retrieval.ranking.weights import SHIPPED

    started = time.process_time()
    retriever = GraphRetriever(engine.snapshot, engine.encoder, name=DEFAULT_PRESET)
    labels = read_labels(generated)
    tuning = tune_weights(
        collect(retriever, engine.snapshot, labels.queries.queries, no_progress), labels, k=k, seed=_SEED
    )
    seconds = time.process_time() - started
    cases = collect(retriever, engine.snapshot, hand, no_progress)
    compare = _comparison(cases, hand)
    weights = {
        "generated": tuning.weights,
        "published": SHIPPED if tuning.reason else tuning.weights,
        "hand-made": _fitted_to(cases, hand, k),
    }
    factors = {
        row: {name: found[name] / SHIPPED[name] for name in SHIPPED if found[name] != SHIPPED[name]}
        for row, found in weights.items()
    }
    held_out = [_row(change) for change in tuning.held_out if not change.request_class]
    return {
        "reason": tuning.reason,
        "seconds": seconds,
        "fitted_on": len(labels.queries.queries),
        "held_out": held_out,
        "weights": factors,
        **{row: compare(found) for row, found in weights.items()},
    }


def _fitted_to(cases: Cases, hand: tuple[LabelledQuery, ...], k: int) -> RankingWeights:
    """Return weights fitted to the judged requests themselves."""
    from eval.tuning.fit import fit_weights
    from eval.tuning.labels import group
    from eval.tuning.verdict import cutoffs_for

    return fit_weights(cases, group(hand, {}), cutoffs=cutoffs_for(k), seed=_SEED).weights


def _comparison(cases: Cases, hand: tuple[LabelledQuery, ...]) -> Callable[[RankingWeights], list[dict[str, float]]]:
    """Return what compares weights with the shipped ones on all requests, a row for each cutoff."""
    import numpy as np

    from eval.tuning.verdict import Ranks, changes
    from retrieval.ranking.weights import SHIPPED

    before_Q, alone_Q = cases.completed_at(SHIPPED), np.arange(len(hand))

    def compare(weights: RankingWeights) -> list[dict[str, float]]:
        ranks = Ranks(before_Q=before_Q, after_Q=cases.completed_at(weights))
        found = changes(hand, alone_Q, ranks, cutoffs=CUTOFFS, seed=_SEED)
        return [_row(change) for change in found if not change.request_class]

    return compare


def _row(change: Any) -> dict[str, float]:
    return {
        "k": change.cutoff,
        "before": change.before,
        "after": change.after,
        "low": change.low,
        "high": change.high,
    }


if __name__ == "__main__":
    run_command(main)
