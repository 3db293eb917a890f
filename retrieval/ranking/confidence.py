"""Confidence: how likely any tool serves a request, how likely each tool is needed, and how few tools are enough.

A ranking only says which tool is better. Whether the best one is any good is asked of two yardsticks that do not depend on
the request: the catalogue itself, and *foreign needs*, 800 vectors of what tools elsewhere do. A request that is nearer to
needs which this catalogue does not serve than to its best tool is likely served by none of it. What the yardsticks say, and
where a tool stands in the ranking, become probabilities by two small logistic models, fitted by
``research/confidence/fit_confidence.py`` on catalogues that no benchmark uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.query.query import Query
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "CALIBRATION",
    "RANKS",
    "Calibration",
    "Confidence",
    "Judge",
    "Yardsticks",
    "judge_for",
    "need_evidence",
    "read_calibration",
    "yardsticks",
]

CALIBRATION = Path(__file__).parent / "calibration"
"""Where the shipped calibrations lie, a folder for each encoder: ``confidence.json`` and ``foreign.npy``."""

RANKS = 30
"""The model of tools is fitted to the best so many of an answer: of the hundreds below them nothing is expected."""
_NEAREST = 5  # foreign needs that speak against a request
_SAMPLE = 1_024  # tools that stand for the catalogue where it is large
_BLOCK = 4_096
_MISSED = 0.5  # an answer is long enough when no more needed tools than this are expected beyond it
_FAR = 30.0  # from here on a logistic function is 0 or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """What is thought of one ranking.

    :param fit: probability in [0, 1] that some tool serves the request, were every second request unserved.
    :param nothing_fits: whether that is below what 95 of 100 served requests have.
    :param probabilities: of each candidate that it is needed, given that the request is served, float32 [candidates],
        in (0, 1), falling with the rank.
    """

    fit: float
    nothing_fits: bool
    probabilities: Floats1d

    def enough(self, best: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first of the ranked candidates, so few that at most half a needed tool is expected among the others.

        :param best: positions of candidates, best first, cut to the most that are wanted.
        :returns: a beginning of ``best``, at least one long unless it is empty; empty where nothing fits.
        """
        if self.nothing_fits:
            return best[:0]
        expected = float(np.sort(self.probabilities)[-RANKS:].sum())
        beyond = expected - np.cumsum(self.probabilities[best])
        return best[: int((beyond > _MISSED).sum()) + 1]

    def of(self, best: NDArray[np.int64]) -> Confidence:
        """The same with the probabilities of these positions, in this order."""
        return replace(self, probabilities=self.probabilities[best])

    @property
    def refusal(self) -> tuple[str, ...]:
        """What is said of an answer that is empty since nothing fits; empty where something does."""
        if not self.nothing_fits:
            return ()
        return (f"no tool fits: the probability that one does is only {self.fit:.2f}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The parameters of both models.

    :param foreign_FD: unit rows, float32 [foreign needs, D].
    :param fit: evidence → weight of the model of requests; ``""`` is the constant.
    :param need: evidence → weight of the model of tools; ``""`` is the constant.
    :param least_fit: below this probability a request counts as unserved.
    """

    foreign_FD: Floats2d
    fit: Mapping[str, float]
    need: Mapping[str, float]
    least_fit: float


def read_calibration(folder: Path) -> Calibration:
    """The calibration that lies in a folder."""
    said: dict[str, Any] = json.loads((folder / "confidence.json").read_text(encoding="utf-8"))
    rows: Floats2d = np.load(folder / "foreign.npy").astype(np.float32)
    return Calibration(
        foreign_FD=rows / np.linalg.norm(rows, axis=1, keepdims=True),
        fit=said["fit"],
        need=said["need"],
        least_fit=said["least_fit"],
    )


def judge_for(snapshot: Snapshot, encoder: str) -> Judge | None:
    """A judge over a snapshot; None where no calibration ships for the encoder of this name, or there is no tool."""
    folder = CALIBRATION / encoder
    return Judge(snapshot, read_calibration(folder)) if snapshot.tool_count and folder.is_dir() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """What one catalogue is measured by, made once.

    :param sample_SD: vectors of tools that stand for the catalogue, float32 [sample, D].
    :param foreign_FD: the foreign needs, unit rows, float32 [F, D].
    :param served_F: how well the catalogue serves each of them: the cosine of its nearest tool, float32 [F].
    """

    sample_SD: Floats2d
    foreign_FD: Floats2d
    served_F: Floats1d

    def evidence(self, vector_D: Floats1d, best: float) -> dict[str, float]:
        """What speaks for and against a request, each without unit.

        :param best: the cosine of the nearest tool.
        """
        against = self.foreign_FD @ vector_D - self.served_F
        nearest = np.partition(against, -_NEAREST)[-_NEAREST:]
        return {
            "best": best,
            "mean": float((self.sample_SD @ vector_D).mean()),
            "foreign": float(nearest.mean()),
            "standing": (best - float(self.served_F.mean())) / (float(self.served_F.std()) or 1.0),
        }


def yardsticks(snapshot: Snapshot, foreign_FD: Floats2d) -> Yardsticks:
    """The yardsticks of a snapshot that has at least one tool."""
    tools = np.arange(snapshot.tool_count)
    served = np.full(len(foreign_FD), -1.0, dtype=np.float32)
    for start in range(0, len(tools), _BLOCK):
        block = snapshot.vectors.rows(tools[start : start + _BLOCK]) @ foreign_FD.T
        np.maximum(served, block.max(axis=0), out=served)
    step = -(-len(tools) // _SAMPLE)
    return Yardsticks(sample_SD=snapshot.vectors.rows(tools[::step]), foreign_FD=foreign_FD, served_F=served)


class Judge:
    """Judges rankings of one snapshot. Thread-safe; what it knows of the snapshot is made once."""

    def __init__(self, snapshot: Snapshot, calibration: Calibration) -> None:
        self._snapshot = snapshot
        self._calibration = calibration
        self._yardsticks = yardsticks(snapshot, calibration.foreign_FD)

    def judge(self, query: Query, tools: NDArray[np.int64], scores: Floats1d) -> Confidence | None:
        """What to think of a ranking; None where the encoder was down or there is no candidate.

        :param tools: numbers of the candidates, ascending.
        :param scores: one a candidate, of any scale; higher is better.
        """
        if query.vector_D is None or not len(tools):
            return None
        best = float(self._snapshot.vectors.similarities(query.vector_D, tools).max())
        fit = float(_probability(self._calibration.fit, self._yardsticks.evidence(query.vector_D, best)))
        return Confidence(
            fit=fit,
            nothing_fits=fit < self._calibration.least_fit,
            probabilities=_probability(self._calibration.need, need_evidence(scores)),
        )


def need_evidence(scores: Floats1d) -> dict[str, Floats1d]:
    """What speaks for each candidate, one array [candidates] a signal.

    Scores count in standard deviations of the candidates' scores, so that their scale does not matter.

    :param scores: at least one, in the order of the tools' numbers.
    """
    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    spread = float(scores.std()) or 1.0
    lead = float(scores.max() - scores.mean()) / spread
    return {"rank": np.log(ranks), "gap": (scores.max() - scores) / spread, "lead": np.full_like(ranks, lead)}


def _probability(weights: Mapping[str, float], evidence: Mapping[str, Floats1d | float]) -> NDArray[np.float32]:
    total = weights[""] + sum(weight * np.asarray(evidence[name]) for name, weight in weights.items() if name)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(total, -_FAR, _FAR))), dtype=np.float32)
