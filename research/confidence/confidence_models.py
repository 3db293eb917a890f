"""The three logistic models of the confidence, fitted to evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from research.confidence.confidence_evidence import Evidence
from retrieval.ranking.confidence import SERVED_EVIDENCE, TASK_EVIDENCE, tool_evidence

__all__ = [
    "NAMES",
    "Floats",
    "answerable",
    "fit_logistic",
    "fit_needed",
    "fit_served",
    "fit_task",
    "fitted_threshold",
    "logistic",
]

Floats = NDArray[np.float64]

NAMES: Mapping[str, tuple[str, ...]] = {
    "task": TASK_EVIDENCE,
    "served": SERVED_EVIDENCE,
    "needed": tuple(tool_evidence(np.zeros(1, dtype=np.float32))),
}
_TASKS = len(TASK_EVIDENCE)  # the first columns of a request's evidence are those of the model of tasks
_KEPT = 0.95
# Chosen by the tasks of the dev half, measured on each catalogue under a fit on the others. Bereft requests count
# least: near tools are left, and some of them do.
_UNSERVED = {"tasks": 0.35, "foreign": 0.6, "bereft": 0.05}
_RIDGE = 1.0


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
