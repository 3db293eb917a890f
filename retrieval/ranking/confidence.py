"""Calibrated confidence: how likely a tool of the catalogue serves a request, and how likely each tool is needed.

Scores of a ranking are comparable within one request only. Whether the best tool serves the request at all is estimated from
two statistics that do not depend on the ranking: the mean similarity of the catalogue, and *background queries*, 800 vectors
of what tools of other catalogues do. A request that is more similar to background queries than to its best tool is likely
unanswerable here. Two logistic models turn these statistics, and the place of a tool in the ranking, into probabilities.
``research/confidence/fit_confidence.py`` fits them on catalogues that no benchmark uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.query.context import QueryContext
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "CALIBRATION",
    "RANKS",
    "BackgroundStatistics",
    "Calibration",
    "Confidence",
    "ConfidenceModel",
    "background_statistics",
    "confidence_model_for",
    "read_calibration",
    "tool_evidence",
]

CALIBRATION = Path(__file__).parent / "calibration"
"""Folder of the shipped calibrations, a folder for each encoder: ``confidence.json`` and ``background.npy``."""

RANKS = 30
"""The model of tools is fitted to this many of the best tools; lower ranks count as not needed."""
_NEAREST = 5  # number of nearest background queries in the evidence
_SAMPLE = 1_024  # number of sampled tools of a larger catalogue
_BLOCK = 4_096
_COMPARED = 50_000  # tools; of more, the nearest come from the vector index
_MAX_EXPECTED_MISSED = 0.5  # with auto_k: maximum of the expected number of needed tools outside the answer
_MAX_LOGIT = 30.0  # beyond it the logistic function is 0 or 1 in float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The confidence in one ranking.

    :param answerable: probability in [0, 1] that some tool serves the request, if every second request were unanswerable.
    :param unanswerable: whether ``answerable`` is below the threshold that 95 of 100 served requests reach.
    :param probabilities: for each candidate, the probability that it is needed, given that the request is answerable;
        float32 [candidates], in (0, 1), falling with the rank.
    """

    answerable: float
    unanswerable: bool
    probabilities: Floats1d

    def sufficient(self, best: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shortest prefix of a ranking such that the expected number of needed tools in the rest is at most 0.5.

        :param best: positions of the best candidates, best first, at most as many as the request allows.
        :returns: at least one position unless ``best`` is empty; none where the request is unanswerable.
        """
        if self.unanswerable:
            return best[:0]
        expected = float(np.sort(self.probabilities)[-RANKS:].sum())
        missed = expected - np.cumsum(self.probabilities[best])
        return best[: int((missed > _MAX_EXPECTED_MISSED).sum()) + 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The parameters of both models.

    :param background_BD: background queries, unit rows, float32 [background, D].
    :param answerable: evidence → weight in the model of requests; ``""`` is the constant.
    :param needed: evidence → weight in the model of tools; ``""`` is the constant.
    :param threshold: a request with a lower probability counts as unanswerable.
    """

    background_BD: Floats2d
    answerable: Mapping[str, float]
    needed: Mapping[str, float]
    threshold: float


def read_calibration(folder: Path) -> Calibration:
    """Read the calibration of a folder."""
    parameters: dict[str, Any] = json.loads((folder / "confidence.json").read_text(encoding="utf-8"))
    rows: Floats2d = np.load(folder / "background.npy").astype(np.float32)
    return Calibration(
        background_BD=rows / np.linalg.norm(rows, axis=1, keepdims=True),
        answerable=parameters["answerable"],
        needed=parameters["needed"],
        threshold=parameters["threshold"],
    )


def confidence_model_for(snapshot: Snapshot, encoder: str) -> ConfidenceModel | None:
    """The confidence model of a snapshot; None where no calibration ships for this encoder, or there is no tool."""
    folder = CALIBRATION / encoder
    return ConfidenceModel(snapshot, read_calibration(folder)) if snapshot.tool_count and folder.is_dir() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStatistics:
    """Statistics of one catalogue that requests are compared with.

    :param sample_SD: vectors of tools that represent the catalogue, float32 [sample, D].
    :param background_BD: the background queries, unit rows, float32 [background, D].
    :param served_B: for each background query, the cosine of the nearest tool, float32 [background].
    """

    sample_SD: Floats2d
    background_BD: Floats2d
    served_B: Floats1d

    def evidence(self, vector_D: Floats1d, best: float) -> dict[str, float]:
        """The evidence that a request is answerable, without units.

        :param best: the cosine of the nearest tool.
        """
        excess = self.background_BD @ vector_D - self.served_B
        nearest = np.partition(excess, -_NEAREST)[-_NEAREST:]
        return {
            "best": best,
            "mean": float((self.sample_SD @ vector_D).mean()),
            "background": float(nearest.mean()),
            "standing": (best - float(self.served_B.mean())) / (float(self.served_B.std()) or 1.0),
        }


def background_statistics(snapshot: Snapshot, background_BD: Floats2d) -> BackgroundStatistics:
    """The statistics of a snapshot that has at least one tool.

    Of a large catalogue, the tool nearest to a background query comes from the vector index: comparing 800 queries with a million
    tools takes half a minute.
    """
    tools, vectors = np.arange(snapshot.tool_count), snapshot.vectors
    if len(tools) > _COMPARED:
        served = np.concatenate([vectors.nearest_tools(row_D, 1)[1] for row_D in background_BD])
    else:
        served = np.full(len(background_BD), -1.0, dtype=np.float32)
        for start in range(0, len(tools), _BLOCK):
            block = vectors.rows(tools[start : start + _BLOCK]) @ background_BD.T
            np.maximum(served, block.max(axis=0), out=served)
    step = -(-len(tools) // _SAMPLE)
    return BackgroundStatistics(sample_SD=vectors.rows(tools[::step]), background_BD=background_BD, served_B=served)


class ConfidenceModel:
    """Estimates the confidence in rankings of one snapshot. Thread-safe; the statistics are computed once."""

    def __init__(self, snapshot: Snapshot, calibration: Calibration) -> None:
        self._snapshot = snapshot
        self._calibration = calibration
        self._background = background_statistics(snapshot, calibration.background_BD)

    def estimate(self, context: QueryContext, ranking: Ranking) -> Confidence | None:
        """The confidence in a ranking of all candidates; None where the query has no vector or there is no candidate."""
        vector_D = context.query.vector_D
        if vector_D is None or not len(ranking.tools):
            return None
        cosines = context.cosines("vectors", context.query, ranking.tools)
        best = float(cosines.max()) if cosines is not None else 0.0
        calibration = self._calibration
        answerable = float(_probability(calibration.answerable, self._background.evidence(vector_D, best)))
        return Confidence(
            answerable=answerable,
            unanswerable=answerable < calibration.threshold,
            probabilities=_probability(calibration.needed, tool_evidence(ranking.scores)),
        )


def tool_evidence(scores: Floats1d) -> dict[str, Floats1d]:
    """The evidence that each candidate is needed, float32 [candidates] each.

    Differences of scores count in standard deviations of the candidates' scores, so the scale does not matter.

    :param scores: at least one, in the order of the tools' numbers.
    """
    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    spread = float(scores.std()) or 1.0
    lead = float(scores.max() - scores.mean()) / spread
    return {"rank": np.log(ranks), "gap": (scores.max() - scores) / spread, "lead": np.full_like(ranks, lead)}


def _probability(weights: Mapping[str, float], evidence: Mapping[str, Floats1d | float]) -> NDArray[np.float32]:
    total = weights[""] + sum(weight * np.asarray(evidence[name]) for name, weight in weights.items() if name)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(total, -_MAX_LOGIT, _MAX_LOGIT))), dtype=np.float32)
