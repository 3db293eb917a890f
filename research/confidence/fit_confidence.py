"""Fit the two models of ``retrieval/ranking/confidence.py`` and write the calibration that ships.

    python -m research.confidence.fit_confidence --background STORE --catalogue STORE=QUERIES --catalogue … --out retrieval/ranking/calibration

The background queries are the means of clusters of the tool vectors of one large, mixed catalogue. Each catalogue counts alike
but for its kind (``--kind NAME_PREFIX``): all catalogues of one kind count as one. Prints a table in which every
catalogue is measured under a fit on those of the other kinds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from inference.arrays import Floats2d
from research.confidence.confidence_evidence import Case, Evidence, gather, read_cases, remembering
from retrieval.ranking.confidence import CALIBRATION, tool_evidence
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot_engine import open_engine
from scripts.run_command import run_command

__all__ = ["clustered", "fit_logistic", "kept_and_hit"]

_BACKGROUND = 800
_ROUNDS = 10
_RIDGE = 1.0
_KEPT = 0.95
_BEREFT = 0.3  # of the weight of what is unserved: near tools are left, and some of them do
_FIT_NAMES = ("best", "mean", "background", "standing")
_NEED_NAMES = tuple(tool_evidence(np.zeros(1, dtype=np.float32)))

Floats = NDArray[np.float64]


def main(
    background: Annotated[Path, typer.Option(help="store whose tools the background queries are made of")],
    catalogue: Annotated[list[str], typer.Option(help="STORE=QUERIES, to fit on; may be repeated")],
    measure: Annotated[list[str] | None, typer.Option(help="STORE=QUERIES, only for the table")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="catalogues whose name starts so count as one")] = None,
    limit: Annotated[int, typer.Option(help="requests of a catalogue")] = 300,
    out: Path = CALIBRATION,
) -> None:
    """Fit, print the table, write."""
    centres = clustered(_tool_vectors(background), _BACKGROUND)
    packed = np.round(centres * 127 / np.abs(centres).max()).astype(np.int8)
    centres = packed / np.linalg.norm(packed.astype(np.float32), axis=1, keepdims=True)
    cases, measured, kinds = read_cases(catalogue, limit=limit), read_cases(measure or (), limit=limit), kind or ()
    encoder = remembering(open_engine(cases[0].store).encoder)
    # What is fitted sees no request of what is only measured; both are asked what the others of the fit ask.
    evidence = [gather(case, _foreign(case, cases, kinds), centres, encoder) for case in cases + measured]
    fitted, rest = evidence[: len(cases)], evidence[len(cases) :]
    for one in evidence:
        own = _kind(one.name, kinds)
        others = [other for other in fitted if _kind(other.name, kinds) != own] or fitted
        if one in rest or one is next(first for first in fitted if _kind(first.name, kinds) == own):
            print(_row(one, fit_requests(others, kinds), fit_tools(others, kinds)))
    fit, need = fit_requests(fitted, kinds), fit_tools(fitted, kinds)
    calibration: dict[str, Any] = {
        "catalogues": sorted(one.name for one in fitted),
        "answerable": dict(zip((*_FIT_NAMES, ""), map(_rounded, fit), strict=True)),
        "needed": dict(zip((*_NEED_NAMES, ""), map(_rounded, need), strict=True)),
        "threshold": _rounded(_threshold(fitted, fit, kinds)),
    }
    folder = out / encoder.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "confidence.json").write_text(json.dumps(calibration, indent=1) + "\n", encoding="utf-8")
    np.save(folder / "background.npy", packed)
    print(json.dumps(calibration))


def _threshold(fitted: Sequence[Evidence], fit: Floats, kinds: Sequence[str]) -> float:
    """The threshold that keeps most requests of the kind whose served requests are hardest to tell."""
    low = {one.name: float(np.quantile(_p(fit, one.requests["served"]), 1 - _KEPT)) for one in fitted}
    of_kind = {
        kind: float(np.mean([low[name] for name in low if _kind(name, kinds) == kind]))
        for kind in _kinds(fitted, kinds)
    }
    print("threshold of each kind:", ", ".join(f"{kind} {value:.3f}" for kind, value in of_kind.items()))
    return min(of_kind.values())


def fit_requests(evidence: Sequence[Evidence], kinds: Sequence[str]) -> Floats:
    """Weights of the model of requests, the constant last."""
    rows, labels, weights = [], [], []
    for one, share in zip(evidence, _shares(evidence, kinds), strict=True):
        for kind, part in (("served", 1.0), ("bereft", _BEREFT), ("foreign", 1 - _BEREFT)):
            found = one.requests[kind]
            rows.append(found)
            labels.append(np.full(len(found), kind == "served", dtype=float))
            weights.append(np.full(len(found), 1_000 * part * share / max(1, len(found))))
    return fit_logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights))


def fit_tools(evidence: Sequence[Evidence], kinds: Sequence[str]) -> Floats:
    """Weights of the model of tools, the constant last."""
    rows, labels, weights = [], [], []
    for one, share in zip(evidence, _shares(evidence, kinds), strict=True):
        for asked in one.asked:
            rows.append(asked.evidence)
            labels.append(asked.gold.astype(float))
            weights.append(np.full(len(asked.gold), 5_000 * share / len(one.asked) / len(asked.gold)))
    return fit_logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights))


def fit_logistic(rows: Floats, labels: Floats, weights: Floats) -> Floats:
    """Ridge logistic regression by Newton's method: a weight a column of ``rows`` as it is, and the constant last."""
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    scaled = np.column_stack(((rows - mean) / spread, np.ones(len(rows))))
    ridge = np.diag([_RIDGE] * rows.shape[1] + [1e-6])
    found = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ (weights * (chance - labels)) + ridge @ found
        curve = (scaled * (weights * chance * (1 - chance))[:, None]).T @ scaled + ridge
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    plain = found[:-1] / spread
    return np.append(plain, found[-1] - plain @ mean)


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


def kept_and_hit(served: Floats, unserved: Floats, *, kept: float = _KEPT) -> float:
    """False hits: the share of unserved requests at or above the threshold that keeps ``kept`` of the served ones."""
    return float((unserved >= np.quantile(served, 1 - kept)).mean())


def _tool_vectors(store: Path) -> Floats2d:
    snapshot = open_snapshot(store)
    return snapshot.vectors.rows(np.arange(snapshot.tool_count))


def _foreign(case: Case, cases: Sequence[Case], kinds: Sequence[str], *, each: int = 60, seed: int = 0) -> list[str]:
    """Requests of other catalogues, as many of each kind."""
    rng = random.Random(seed)
    of_kind: dict[str, list[str]] = {}
    for other in cases:
        if other.store != case.store:
            of_kind.setdefault(_kind(other.name, kinds), []).extend(text for text, _ in other.queries)
    return [text for texts in of_kind.values() for text in rng.sample(texts, min(each, len(texts)))]


def _kind(name: str, kinds: Sequence[str]) -> str:
    return next((kind for kind in kinds if name.startswith(kind)), name)


def _kinds(evidence: Sequence[Evidence], kinds: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(_kind(one.name, kinds) for one in evidence))


def _shares(evidence: Sequence[Evidence], kinds: Sequence[str]) -> list[float]:
    names = [_kind(one.name, kinds) for one in evidence]
    return [1 / names.count(name) for name in names]


def _p(weights: Floats, rows: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-(rows @ weights[:-1] + weights[-1]))))


def _rounded(value: float) -> float:
    return round(float(value), 4)


def _row(one: Evidence, fit: Floats, need: Floats) -> str:
    served = _p(fit, one.requests["served"])
    said = [f"{one.name:28}"]
    for kind in ("foreign", "bereft"):
        unserved = _p(fit, one.requests[kind])
        area = (np.sign(np.subtract.outer(served, unserved)) + 1).mean() / 2
        said.append(f"{kind} {area:.3f} {kept_and_hit(served, unserved):.2f}")
    chances = np.concatenate([_p(need, asked.evidence[:10]) for asked in one.asked])
    gold = np.concatenate([asked.gold[:10] for asked in one.asked])
    bins = np.minimum((chances * 10).astype(int), 9)
    error = sum(abs(chances[bins == b].sum() - gold[bins == b].sum()) for b in range(10)) / len(gold)
    return "  ".join([*said, f"said {chances.mean():.3f} true {gold.mean():.3f} error {error:.3f}"])


if __name__ == "__main__":
    run_command(main)
