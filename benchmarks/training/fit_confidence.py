"""Fit the models of ``retrieval/ranking/confidence.py`` and write the calibration that ships.

    python -m benchmarks.training.fit_confidence --stores out/bench-quality

``--stores`` has ``NAME/store`` for each set, built with the encoder to calibrate for. Run it again after each change of the ranking:
only the model of needed tools depends on it. Each catalogue counts alike. The table measures every catalogue under a fit on all others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.command import run_command
from benchmarks.sets import REAL, REAL_LONG, SHIPPED, SHIPPED_LONG, bench_sets
from benchmarks.training.confidence_evidence import (
    CATALOGUES,
    Case,
    Evidence,
    background_lines,
    foreign,
    gather,
    read_case,
    written,
)
from inference.encoder import Encoder, Floats1d, Floats2d
from inference.encoder_wrappers import with_recent_vectors
from retrieval.engine import open_engine
from retrieval.ranking.confidence import CALIBRATION, SERVED_EVIDENCE, TASK_EVIDENCE, Background, tool_evidence
from retrieval.snapshot.reader import open_snapshot

Floats = NDArray[np.float64]

NAMES: Mapping[str, tuple[str, ...]] = {
    "task": TASK_EVIDENCE,
    "served": SERVED_EVIDENCE,
    "needed": tuple(tool_evidence(np.zeros(1, dtype=np.float32))),
}


_TASKS = len(TASK_EVIDENCE)  # the first columns of a request's evidence are those of the model of tasks


_KEPT = 0.95


_UNSERVED = {"tasks": 0.35, "foreign": 0.6, "bereft": 0.05}


_RIDGE = 1.0
_FOLDS = 5
_OTHERS = "sealtools"  # the catalogue whose tools are background: large and mixed
_CLUSTERS = 800
_ROUNDS = 10
_LONG = {SHIPPED: SHIPPED_LONG, REAL: REAL_LONG}


def main(
    stores: Annotated[Path, typer.Option(help="folder with NAME/store for each set")],
    limit: Annotated[int, typer.Option(help="requests of a catalogue")] = 100,
    out: Path = CALIBRATION,
) -> None:
    """Fit, print the table, write."""
    cases = [_read(name, stores / name / "store", limit) for name in CATALOGUES if (stores / name / "store").is_dir()]
    encoder = with_recent_vectors(open_engine(cases[0].store).encoder)
    others = open_snapshot(stores / _OTHERS / "store")
    background, probes = _background(cases, encoder, others.vectors.rows(others.tool_numbers))
    evidence = [_evidence(case, cases, background, probes, encoder) for case in cases]
    print("\n".join(table(evidence)), flush=True)
    task, served, needed = fit_task(evidence), fit_served(evidence), fit_needed(evidence)
    calibration: dict[str, Any] = {
        "catalogues": sorted(one.name for one in evidence),
        "task": _named("task", task),
        "served": _named("served", served),
        "needed": _named("needed", needed),
        "threshold": round(fitted_threshold(evidence, task, served), 4),
    }
    folder = out / encoder.name
    folder.mkdir(parents=True, exist_ok=True)
    if (
        known := folder / "confidence.json"
    ).is_file():  # the model of needs is fitted to needs that were read, not to sets
        before = json.loads(known.read_text(encoding="utf-8"))
        calibration |= {name: before[name] for name in ("need", "need_threshold")}
    (folder / "confidence.json").write_text(json.dumps(calibration, indent=1) + "\n", encoding="utf-8")
    texts = {"talk": background.talk_TD, "tasks": background.tasks_BD, "tools": background.tools_BD}
    packed = {name: _packed(rows) for name, rows in texts.items()}
    np.savez(folder / "background.npz", **packed, probe=background.probe)
    print(json.dumps(calibration))


def _read(name: str, store: Path, limit: int) -> Case:
    one, *long = bench_sets([name, *([_LONG[name]] if name in _LONG else [])])
    case = read_case(replace(one, split="dev") if name == SHIPPED else one, store, limit=limit)
    more = tuple(query for tasks in long for query in read_case(tasks, store, limit=limit // 5).queries)
    return replace(case, queries=case.queries + more)


def clustered(vectors_ND: Floats2d, count: int, *, seed: int = 0) -> Floats2d:
    """The unit means of ``count`` clusters by cosine, float32 [count, D]; deterministic."""
    rng = np.random.default_rng(seed)
    centres = vectors_ND[rng.choice(len(vectors_ND), min(count, len(vectors_ND)), replace=False)].copy()
    for _ in range(_ROUNDS):
        nearest = (vectors_ND @ centres.T).argmax(axis=1)
        for number in np.unique(nearest):
            mean = vectors_ND[nearest == number].mean(axis=0)
            centres[number] = mean / np.linalg.norm(mean)
    return centres


def _background(cases: Sequence[Case], encoder: Encoder, others_ND: Floats2d) -> tuple[Background, list[Floats1d]]:
    """The background with the probe that ships, and for each fold a probe that saw neither its catalogues nor its talk."""
    talk_TD, tasks_BD = (_unpacked(_packed(encoder.encode(background_lines(name)))) for name in ("talk", "tasks"))
    served = [encoder.encode([text for text, _ in case.queries]) for case in cases]

    def probe(fold: int | None) -> Floats1d:
        asked = np.concatenate([rows for number, rows in enumerate(served) if number % _FOLDS != fold])
        talk = talk_TD[[number % _FOLDS != fold for number in range(len(talk_TD))]]
        return _probe(asked, talk)

    tools_BD = _unpacked(_packed(clustered(others_ND, _CLUSTERS)))
    shipped = Background(talk_TD=talk_TD, tasks_BD=tasks_BD, tools_BD=tools_BD, probe=probe(None))
    return shipped, [probe(fold) for fold in range(_FOLDS)]


def _probe(served: Floats2d, talk: Floats2d) -> Floats1d:
    labels = np.repeat([1.0, 0.0], [len(served), len(talk)])
    weights = np.where(labels, 500 / len(served), 500 / len(talk))
    rows: Floats = np.concatenate((served, talk)).astype(np.float64)
    return fit_logistic(rows, labels, weights, scaled=False).astype(np.float32)


def _evidence(
    case: Case, cases: Sequence[Case], background: Background, probes: Sequence[Floats1d], encoder: Encoder
) -> Evidence:
    unserved = {
        "foreign": foreign(case, cases),
        "tasks": written(case.name, "dev"),
        "unseen talk": written("talk", "dev"),
        "talk": background_lines("talk"),
    }
    own = replace(background, probe=probes[cases.index(case) % _FOLDS])
    print(f"asking {case.name}", flush=True)
    return gather(case, unserved, own, probes, encoder)


def _packed(rows: Floats2d) -> Any:
    return np.round(rows * 127 / np.abs(rows).max()).astype(np.int8)


def _unpacked(packed: Any) -> Floats2d:
    rows = packed.astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _named(model: str, weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip((*NAMES[model], ""), weights, strict=True)}


def fit_task(evidence: Sequence[Evidence]) -> Floats:
    """Weights of the model of tasks against talk, the constant last."""
    return _fit(evidence, {"talk": 1.0}, slice(None, _TASKS))


def fit_served(evidence: Sequence[Evidence]) -> Floats:
    """Weights of the model of served tasks against others, the constant last."""
    return _fit(evidence, _UNSERVED, slice(_TASKS, None))


def fit_needed(evidence: Sequence[Evidence]) -> Floats:
    """Weights of the model of needed tools, the constant last."""
    rows, labels, weights = [], [], []
    for one in evidence:
        asked = [request for request in one.asked if len(request.gold)]
        for request in asked:
            rows.append(request.evidence)
            labels.append(request.gold.astype(float))
            weights.append(np.full(len(request.gold), 5_000 / len(asked) / len(request.gold)))
    return fit_logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights))


def fitted_threshold(evidence: Sequence[Evidence], task: Floats, served: Floats) -> float:
    """The probability that 95 of 100 served requests of all catalogues reach."""
    found = np.concatenate([answerable(task, served, one.requests["served"]) for one in evidence])
    return float(np.quantile(found, 1 - _KEPT))


def answerable(task: Floats, served: Floats, rows: Floats) -> Floats:
    """The probability that some tool serves each request, as the product of both models."""
    return logistic(task, rows[:, :_TASKS]) * logistic(served, rows[:, _TASKS:])


def logistic(weights: Floats, rows: Floats) -> Floats:
    """The probability of each row."""
    return np.asarray(1 / (1 + np.exp(-np.clip(rows @ weights[:-1] + weights[-1], -30, 30))))


def fit_logistic(rows: Floats, labels: Floats, weights: Floats, *, scaled: bool = True) -> Floats:
    """Ridge logistic regression by Newton's method: a weight a column of ``rows`` as it is, and the constant last.

    :param scaled: whether the ridge is the same for all columns in their standard deviations, not in their units.
    """
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    if not scaled:
        mean, spread = np.zeros_like(mean), np.ones_like(spread)
    columns = np.column_stack(((rows - mean) / spread, np.ones(len(rows))))
    ridge = np.diag([_RIDGE] * rows.shape[1] + [1e-6])
    found = np.zeros(columns.shape[1])
    for _ in range(50):
        chance = logistic(np.append(found, 0.0), columns)
        slope = columns.T @ (weights * (chance - labels)) + ridge @ found
        curve = (columns * (weights * chance * (1 - chance))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    plain = found[:-1] / spread
    return np.append(plain, found[-1] - plain @ mean)


def _fit(evidence: Sequence[Evidence], unserved: Mapping[str, float], columns: slice) -> Floats:
    """Each catalogue counts alike, its served requests as much as the unserved ones."""
    rows, labels, weights = [], [], []
    for one in evidence:
        total = sum(share for kind, share in unserved.items() if kind in one.requests)
        for kind, share in {"served": total, **unserved}.items():
            if kind in one.requests:
                found = one.requests[kind][:, columns]
                rows.append(found)
                labels.append(np.full(len(found), kind == "served", dtype=float))
                weights.append(np.full(len(found), 1_000 * share / total / len(found)))
    return fit_logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights))


def table(evidence: Sequence[Evidence]) -> Iterator[str]:
    """For each catalogue, under a fit on the others: which share of served and unserved requests is answered, and how long answers are."""
    kinds = ("served", "talk", "unseen talk", "tasks", "foreign", "bereft")
    yield f"| catalogue | {' | '.join(kinds)} |"
    yield f"|---|{'---:|' * len(kinds)}"
    for one in evidence:
        others = [other for other in evidence if other is not one]
        task, served = fit_task(others), fit_served(others)
        threshold = fitted_threshold(others, task, served)
        shares = [
            f"{(answerable(task, served, one.requests[kind]) >= threshold).mean():.2f}" if kind in one.requests else "–"
            for kind in kinds
        ]
        yield f"| {one.name} | {' | '.join(shares)} |"


if __name__ == "__main__":
    run_command(main)
