"""Fit the three models of ``retrieval/ranking/confidence.py`` and write the calibration that ships.

    python -m research.confidence.fit_confidence --stores out/bench-quality

``--stores`` has ``NAME/store`` for each set, built with the encoder to calibrate for. Run it again after each change of the ranking:
only the model of needed tools depends on it. Each catalogue counts alike. The table measures every catalogue under a fit on all others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from inference.encoder import Encoder, Floats1d, Floats2d
from research.confidence.confidence_evidence import Case, Evidence, gather, read_case, remembering
from research.confidence.confidence_models import (
    NAMES,
    Floats,
    fit_logistic,
    fit_needed,
    fit_served,
    fit_task,
    fitted_threshold,
)
from research.confidence.confidence_table import table
from research.confidence.unserved import CATALOGUES, background_lines, foreign, written
from retrieval.engine import open_engine
from retrieval.ranking.confidence import CALIBRATION, Background
from retrieval.snapshot.reader import open_snapshot
from scripts.bench_sets import REAL, REAL_LONG, SHIPPED, SHIPPED_LONG, bench_sets
from scripts.run_command import run_command

__all__ = ["clustered"]

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
    encoder = remembering(open_engine(cases[0].store).encoder)
    background, probes = _background(cases, encoder, _tool_vectors(stores / _OTHERS / "store"))
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


def _tool_vectors(store: Path) -> Floats2d:
    snapshot = open_snapshot(store)
    return snapshot.vectors.rows(np.arange(snapshot.tool_count))


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


if __name__ == "__main__":
    run_command(main)
