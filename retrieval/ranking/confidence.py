"""Calibrated confidence: how likely a tool of the catalogue serves a request, and how likely each tool is needed.

Scores of a ranking are comparable within one request only. Whether anything serves the request is estimated from evidence that does not
depend on the ranking (:mod:`retrieval.ranking.request_evidence`), as a product: it is a task, and a tool serves it. A
third model turns the place of a tool in the ranking into the probability that it is needed.
``research/confidence/fit_confidence.py`` fits these three. A fourth says how likely a tool serves one *need*, which is short and always a
task. It has to hold for poor documents too: nearness is judged by how informative the catalogue's documents are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from ontology.errors import ModelError
from retrieval.index.mapped_array import READING_HEADERS
from retrieval.query.context import QueryContext
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.request_evidence import Background, catalogue_statistics
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "CALIBRATION",
    "NEEDED",
    "RANKS",
    "Calibration",
    "Confidence",
    "ConfidenceModel",
    "ServedNeed",
    "confidence_model_for",
    "probability",
    "read_calibration",
    "tool_evidence",
]

CALIBRATION = Path(__file__).parent / "calibration"
"""Folder of the shipped calibrations, a folder for each encoder: ``confidence.json`` and ``background.npz``."""

RANKS = 30
"""The model of tools is fitted to this many of the best tools; lower ranks count as not needed."""
NEEDED = 0.1
"""With ``auto_k``: the least probability of a returned tool. Chosen among .05 to .3: a needed tool that is missed costs as much as nine that are
not needed. On 15 catalogues, each under a fit on the others, it returns fewer tools than a limit on the expected number of missed
ones, at the same completeness.
"""
_SCORED = 100  # number of best scores that differences are measured by
_FIFTH, _TENTH = 4, 9
_USUAL_SUPPORT = 2.3
"""Graph support of the best supported tool, midway between the means of served needs, 2.8, and of needs that nothing serves, 1.8, of the fit: where a
ranking has none, it speaks neither for nor against.
"""
_REINSTALL = "Install egotools again"
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
        """Return the first tools of a ranking, as long as each is needed with a probability of at least 0.1.

        :param best: positions of the best candidates, best first, at most as many as the request allows.
        :returns: at least one position unless ``best`` is empty.
        """
        return best[: max(1, int((self.probabilities[best] >= NEEDED).sum()))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedNeed:
    """How well a need is served.

    :param probability: in [0, 1], that some tool serves it, if every second need were served by none.
    :param unserved: whether that is below the threshold that 95 of 100 served needs reach.
    """

    probability: float
    unserved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The parameters of the models.

    :param task: evidence → weight in the model of tasks; ``""`` is the constant.
    :param served: evidence → weight in the model of served tasks; ``""`` is the constant.
    :param needed: evidence → weight in the model of tools; ``""`` is the constant.
    :param threshold: a request with a lower probability counts as unanswerable.
    :param need: evidence → weight in the model of served needs; ``""`` is the constant.
    :param need_threshold: a need with a lower probability counts as served by nothing.
    """

    background: Background
    task: Mapping[str, float]
    served: Mapping[str, float]
    needed: Mapping[str, float]
    threshold: float
    need: Mapping[str, float]
    need_threshold: float

    def answerable(self, evidence: Mapping[str, Floats1d | float]) -> NDArray[np.float32]:
        """The probability that some tool serves each request, float32 [requests]."""
        return np.asarray(probability(self.task, evidence) * probability(self.served, evidence), dtype=np.float32)


def read_calibration(folder: Path) -> Calibration:
    """Read the calibration of a folder.

    :raises ModelError: when the file of background vectors is none, or was altered.
    """
    parameters: dict[str, Any] = json.loads((folder / "confidence.json").read_text(encoding="utf-8"))
    path = folder / "background.npz"
    try:
        # numpy leaves the file of a broken archive open
        with READING_HEADERS, path.open("rb") as file, np.load(file) as texts:
            talk, tasks, tools, probe = (texts[name].astype(np.float32) for name in ("talk", "tasks", "tools", "probe"))
        valid = all(np.isfinite(rows).all() and rows.any(axis=-1).all() for rows in (talk, tasks, tools, probe))
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise ModelError(f"the calibration cannot be read: {error}", subject=str(path), remedy=_REINSTALL) from error
    if not valid:
        raise ModelError("the calibration has rows without a direction", subject=str(path), remedy=_REINSTALL)
    return Calibration(
        background=Background(talk_TD=_unit(talk), tasks_BD=_unit(tasks), tools_BD=_unit(tools), probe=probe),
        task=parameters["task"],
        served=parameters["served"],
        needed=parameters["needed"],
        threshold=parameters["threshold"],
        need=parameters["need"],
        need_threshold=parameters["need_threshold"],
    )


def confidence_model_for(snapshot: Snapshot, encoder: str) -> ConfidenceModel | None:
    """The confidence model of a snapshot; None where no calibration ships for this encoder, or there is no tool."""
    folder = CALIBRATION / encoder
    return ConfidenceModel(snapshot, read_calibration(folder)) if snapshot.visible_count and folder.is_dir() else None


class ConfidenceModel:
    """Estimates the confidence in rankings of one snapshot. Thread-safe; the statistics are computed once."""

    def __init__(self, snapshot: Snapshot, calibration: Calibration) -> None:
        self._vectors = snapshot.vectors
        self._calibration = calibration
        self._statistics = catalogue_statistics(snapshot, calibration.background)

    def estimate(self, context: QueryContext, ranking: Ranking) -> Confidence | None:
        """The confidence in a ranking of all candidates; None where the query has no vector or there is no candidate."""
        query, tools = context.query, ranking.tools
        if query.vector_D is None or not len(tools):
            return None
        calibration = self._calibration
        evidence = self._statistics.evidence(query, self._similarities(context, tools))
        answerable = float(calibration.answerable(evidence))
        return Confidence(
            answerable=answerable,
            unanswerable=answerable < calibration.threshold,
            probabilities=probability(calibration.needed, tool_evidence(ranking.scores, len(query.clauses))),
        )

    def of_need(self, context: QueryContext, ranking: Ranking) -> ServedNeed | None:
        """How well some tool of a need's ranking serves it; None as for :meth:`estimate`."""
        query, tools = context.query, ranking.tools
        if query.vector_D is None or not len(tools):
            return None
        evidence = self._need_evidence(context, ranking)
        served = float(probability(self._calibration.need, evidence))
        return ServedNeed(probability=served, unserved=served < self._calibration.need_threshold)

    def _need_evidence(self, context: QueryContext, ranking: Ranking) -> dict[str, float]:
        """The evidence of :meth:`CatalogueStatistics.need_evidence`, and of the ranking: ``named``: how near the nearest tool is, by its text or by
        its name alone, which advertising leaves as it is; ``graph``: support of the best supported tool; ``support``: the same by the
        logarithm of the number of tools; ``covered``: the share of the need's terms that the text of the best tool has.
        """
        query, features = context.query, ranking.features
        evidence = self._statistics.need_evidence(query, self._similarities(context, ranking.tools))
        names, support = features.get("cosine_name"), features.get("graph_support")
        evidence["named"] = evidence["best"] if names is None else max(evidence["best"], float(names.max()))
        evidence["graph"] = _USUAL_SUPPORT if support is None else float(support.max())
        evidence["support"] = evidence["graph"] / max(1.0, self._statistics.log_tools)
        best, text = ranking.tools[ranking.best(1)], context.snapshot.fields["text"]
        having = sum(float(text.scores_of(best, (term,))[0]) > 0 for term in query.weights)
        evidence["covered"] = having / max(1, len(query.weights))
        return evidence

    def _similarities(self, context: QueryContext, tools: NDArray[np.int64]) -> Callable[[Floats1d], Floats1d]:
        """Cosines of a vector of the request with the tools."""
        known = None if context.query.clauses else context.cosines("vectors", context.query, tools)
        if known is not None:  # a request of one clause is compared once, and its ranking has done so already
            return lambda vector_D: known
        rows_TD = self._vectors.rows(tools)  # read once for the request and all its clauses
        return lambda vector_D: np.asarray(rows_TD @ vector_D, dtype=np.float32)


def tool_evidence(scores: Floats1d, clauses: int = 1) -> dict[str, Floats1d]:
    """The evidence that each candidate is needed, float32 [candidates] each.

    Only ``rank`` and ``gap`` differ between the candidates. Differences of scores count in standard deviations of the
    hundred best scores, so the scale does not matter, and hardly the number of candidates.

    :param scores: at least one, in the order of the tools' numbers.
    :param clauses: the number of clauses of the request.
    """
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[order] = np.arange(1, len(scores) + 1)
    best = scores[order[:_SCORED]]
    spread = float(best.std()) or 1.0
    gaps = (scores.max() - scores) / spread
    fifth, tenth = (gaps[order[min(place, len(scores) - 1)]] for place in (_FIFTH, _TENTH))
    same = {
        "lead": (best[0] - best.mean()) / spread,
        "fifth": fifth,
        "tenth": tenth,
        "clauses": np.log(max(1, clauses)),
    }
    whole = {name: np.full_like(ranks, value) for name, value in same.items()}
    return {"rank": np.log(ranks), "gap": gaps, **whole}


def probability(weights: Mapping[str, float], evidence: Mapping[str, Floats1d | float]) -> NDArray[np.float32]:
    """The logistic model of these weights, float32 of the evidence's shape, in [0, 1]."""
    total = weights[""] + sum(weight * np.asarray(evidence[name]) for name, weight in weights.items() if name)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(total, -_MAX_LOGIT, _MAX_LOGIT))), dtype=np.float32)


def _unit(rows: Floats2d) -> Floats2d:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
