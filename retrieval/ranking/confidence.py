"""Calibrated confidence: how likely a tool of the catalogue serves a request, and how likely each tool is needed.

Scores of a ranking are comparable within one request only. Four logistic models, fitted by ``benchmarks/training/fit_confidence.py``: that a
request is a *task*, and that a tool *serves* it, from evidence that does not depend on the ranking; that each tool is *needed*, from its
place in the ranking; and that a tool serves one *need*, judged by how informative the catalogue's documents are.
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

from inference.encoder import Floats1d, Floats2d
from ontology.errors import ModelError
from retrieval.index.records import READING_HEADERS
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause, Query
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

# The evidence that a request is a task. ``margin``: how much nearer its best clause is to a tool than to talk, and
# ``standing``: how near it is to a tool, both in standard deviations of what talk reaches in this catalogue; ``probe``:
# the log odds of a linear model of its vector.
TASK_EVIDENCE = ("margin", "standing", "probe")
# The evidence that a tool serves a task. Cosines: of the best clause and its nearest tool; of the request and its
# nearest tool; mean of the tools; mean of talk and its nearest tool; of the nearest background tasks; how much nearer
# they are than their own nearest tools; how much nearer the best of them is than both its own nearest tool and that of
# the request; how much nearer background tools are than their own nearest tools. ``level``: how near the request is to
# a tool, in standard deviations of what background tools reach.
SERVED_EVIDENCE = ("best", "whole", "mean", "talk", "task", "unserved", "rival", "foreign", "level")

_NEAREST = 3  # chosen, not tuned
_MAX_FOREIGN = 0.45  # a catalogue nearer to the background tools is large or like them, and no clearer
_SAMPLE = 1_024  # number of sampled tools of a larger catalogue
_BLOCK = 4_096
_EXACT = 65_536  # tools up to which the nearest one is found by comparing all


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Background texts, as vectors of one encoder."""

    talk_TD: Floats2d  # talk that is no task, unit rows, float32 [talk, D]
    tasks_BD: Floats2d  # tasks of many kinds of systems, unit rows, float32 [tasks, D]
    tools_BD: Floats2d  # means of clusters of tools of another catalogue, unit rows, float32 [background tools, D]
    probe: Floats1d  # weights of the linear model of tasks against talk, the constant last, float32 [D + 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueStatistics:
    """What one catalogue's tools are to the background texts."""

    background: Background
    mean_D: Floats1d  # mean of the vectors of tools that represent the catalogue, float32 [D]
    talk_T: Floats1d  # for each text of talk, the cosine of the nearest tool, float32 [talk]
    tasks_B: Floats1d  # the same of each background task, float32 [tasks]
    tools_B: Floats1d  # the same of each background tool, float32 [background tools]
    margin_T: Floats1d  # for each text of talk, ``talk_T`` less its nearness to other talk, float32 [talk]
    log_tools: float  # natural logarithm of the number of tools
    log_words: float  # natural logarithm of the mean number of distinct terms of a tool's text

    def evidence(
        self, query: Query, similarities: Callable[[Clause], Floats1d], *, without: int | None = None
    ) -> dict[str, float]:
        """The evidence of one request, without units. ``query`` has a vector.

        :param similarities: cosines of the query or a clause with the tools that may answer, float32 [tools], at least one.
        :param without: the number of a text of talk that does not count: the request itself, when the models are fitted.
        """
        vector_D, background = _vector(query), self.background
        parts = [clause for clause in query.clauses if clause.vector_D is not None] or [query]
        best = float(similarities(query).max())
        clauses = np.asarray([similarities(part).max() for part in parts])
        talk_TD = background.talk_TD if without is None else np.delete(background.talk_TD, without, axis=0)
        margin = float((clauses - mean_of_nearest(np.stack([*map(_vector, parts)]) @ talk_TD.T)).max())
        near_B = background.tasks_BD @ vector_D
        excess_B = near_B - self.tasks_B
        return {
            "margin": _standard(margin, self.margin_T),
            "standing": _standard(float(clauses.max()), self.talk_T),
            "probe": float(background.probe[:-1] @ vector_D + background.probe[-1]),
            "best": float(clauses.max()),
            "whole": best,
            "mean": float(self.mean_D @ vector_D),
            "talk": float(self.talk_T.mean()),
            "task": float(mean_of_nearest(near_B[None])[0]),
            "unserved": float(mean_of_nearest(excess_B[None])[0]),
            "rival": _rival(near_B, best, self.tasks_B),
            "foreign": float(mean_of_nearest((background.tools_BD @ vector_D - self.tools_B)[None])[0]),
            "level": _standard(best, self.tools_B),
        }

    def need_evidence(self, query: Query, similarities: Callable[[Clause], Floats1d]) -> dict[str, float]:
        """The evidence of one need, without units: how near the nearest tool is, whether a task that no tool serves is
        nearer, and what nearness means in this catalogue. ``clarity``: how much nearer tools are to what tools of other
        catalogues do than to talk, which is little where documents say little; ``words``: how long they are."""
        vector_D = _vector(query)
        near_B = self.background.tasks_BD @ vector_D
        best = float(similarities(query).max())
        return {
            "best": best,
            "rival": _rival(near_B, best, self.tasks_B),
            "clarity": min(float(self.tools_B.mean()), _MAX_FOREIGN) - float(self.talk_T.mean()),
            "words": self.log_words,
        }


def _vector(query: Clause) -> Floats1d:
    if query.vector_D is None:
        raise ValueError("the query has no vector")
    return query.vector_D


def catalogue_statistics(snapshot: Snapshot, background: Background) -> CatalogueStatistics:
    """The statistics of a snapshot that has at least one tool."""
    step = -(-snapshot.visible_count // _SAMPLE)
    talk_T = _served(snapshot, background.talk_TD)
    others_TT = background.talk_TD @ background.talk_TD.T
    np.fill_diagonal(others_TT, -1.0)
    return CatalogueStatistics(
        background=background,
        mean_D=snapshot.vectors.rows(snapshot.tool_numbers[::step]).mean(axis=0),
        talk_T=talk_T,
        tasks_B=_served(snapshot, background.tasks_BD),
        tools_B=_served(snapshot, background.tools_BD),
        margin_T=talk_T - mean_of_nearest(others_TT),
        log_tools=float(np.log(snapshot.visible_count)),
        log_words=float(np.log(max(1.0, snapshot.fields["text"].mean_terms))),
    )


def _rival(near_B: Floats1d, best: float, tasks_B: Floats1d) -> float:
    """By how much a background task is nearer than the best tool, and nearer than any tool is to that task."""
    return float(np.minimum(near_B - best, near_B - tasks_B).max())


def mean_of_nearest(cosines: Floats2d) -> Floats1d:
    """The mean of the largest values of each row, float32 [rows]."""
    count = min(_NEAREST, cosines.shape[1])
    return np.asarray(np.partition(cosines, -count, axis=1)[:, -count:].mean(axis=1), dtype=np.float32)


def _served(snapshot: Snapshot, texts_BD: Floats2d) -> Floats1d:
    """For each text the cosine of its nearest tool. A large catalogue is represented by tools at equal distances."""
    step = -(-snapshot.visible_count // _EXACT)
    tools = snapshot.tool_numbers[::step]
    served = np.full(len(texts_BD), -1.0, dtype=np.float32)
    for start in range(0, len(tools), _BLOCK):
        block = snapshot.vectors.rows(tools[start : start + _BLOCK]) @ texts_BD.T
        np.maximum(served, block.max(axis=0), out=served)
    return served


def _standard(value: float, values: Floats1d) -> float:
    return (value - float(values.mean())) / (float(values.std()) or 1.0)


# Folder of the shipped calibrations, a folder for each encoder: ``confidence.json`` and ``background.npz``.
CALIBRATION = Path(__file__).parent / "calibration"

RANKS = 30  # the model of tools is fitted to this many of the best tools; lower ranks count as not needed
# With ``auto_k``: the least probability of a returned tool: one that is missed costs as much as nine that are not
# needed.
NEEDED = 0.1
_SCORED = 100  # number of best scores that differences are measured by
_FIFTH, _TENTH = 4, 9
# Between that of served needs and of others: a ranking without support speaks neither for nor against.
_USUAL_SUPPORT = 2.3
_REINSTALL = "Install egotools again"
_MAX_LOGIT = 30.0  # beyond it the logistic function is 0 or 1 in float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The confidence in one ranking."""

    # probability in [0, 1] that some tool serves the request, if every second request were unanswerable
    answerable: float
    unanswerable: bool  # whether ``answerable`` is below the threshold that 95 of 100 served requests reach
    # for each candidate, the probability that it is needed, given that the request is answerable; float32 [candidates],
    # in (0, 1), falling with the rank
    probabilities: Floats1d


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedNeed:
    """How well a need is served."""

    probability: float  # in [0, 1], that some tool serves it, if every second need were served by none
    unserved: bool  # whether that is below the threshold that 95 of 100 served needs reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The parameters of the models."""

    background: Background
    task: Mapping[str, float]  # evidence → weight in the model of tasks; ``""`` is the constant
    served: Mapping[str, float]  # evidence → weight in the model of served tasks; ``""`` is the constant
    needed: Mapping[str, float]  # evidence → weight in the model of tools; ``""`` is the constant
    threshold: float  # a request with a lower probability counts as unanswerable
    need: Mapping[str, float]  # evidence → weight in the model of served needs; ``""`` is the constant
    need_threshold: float  # a need with a lower probability counts as served by nothing

    def answerable(self, evidence: Mapping[str, Floats1d | float]) -> NDArray[np.float32]:
        """The probability that some tool serves each request, float32 [requests]."""
        return np.asarray(probability(self.task, evidence) * probability(self.served, evidence), dtype=np.float32)


def read_calibration(folder: Path) -> Calibration:
    """Read the calibration of a folder."""
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
        self._calibration = calibration
        self._statistics = catalogue_statistics(snapshot, calibration.background)

    def estimate(self, context: QueryContext, ranking: Ranking) -> Confidence | None:
        """The confidence in a ranking of all candidates; None where the query has no vector or there is no candidate."""
        query, tools = context.query, ranking.tools
        if query.vector_D is None or not len(tools):
            return None
        evidence = self._statistics.evidence(query, _similarities(context, tools))
        answerable = float(self._calibration.answerable(evidence))
        return Confidence(
            answerable=answerable,
            unanswerable=answerable < self._calibration.threshold,
            probabilities=probability(self._calibration.needed, tool_evidence(ranking.scores, len(query.clauses))),
        )

    def of_need(self, context: QueryContext, ranking: Ranking) -> ServedNeed | None:
        """How well some tool of a need's ranking serves it; None as for :meth:`estimate`.

        Evidence beside that of :meth:`CatalogueStatistics.need_evidence`: ``named``: how near the nearest tool is, by its text
        or by its name; ``graph``: support of the best supported tool; ``support``: the same by the logarithm of the number
        of tools; ``covered``: the share of the need's terms that the text of the best tool has.
        """
        query, tools, features = context.query, ranking.tools, ranking.features
        if query.vector_D is None or not len(tools):
            return None
        evidence = self._statistics.need_evidence(query, _similarities(context, tools))
        names, support = features.get("cosine_name"), features.get("graph_support")
        evidence["named"] = evidence["best"] if names is None else max(evidence["best"], float(names.max()))
        evidence["graph"] = _USUAL_SUPPORT if support is None else float(support.max())
        evidence["support"] = evidence["graph"] / max(1.0, self._statistics.log_tools)
        best, text = tools[ranking.best(1)], context.snapshot.fields["text"]
        having = sum(float(text.scores_of(best, (term,))[0]) > 0 for term in query.weights)
        evidence["covered"] = having / max(1, len(query.weights))
        served = float(probability(self._calibration.need, evidence))
        return ServedNeed(probability=served, unserved=served < self._calibration.need_threshold)


def _similarities(context: QueryContext, tools: NDArray[np.int64]) -> Callable[[Clause], Floats1d]:
    """Cosines of the request or a clause with the tools; halfway to that of the best everyday phrase, where that is
    higher: the calibration knows no phrases."""

    def cosines(clause: Clause) -> Floats1d:
        own = context.cosines("vectors", clause, tools)
        phrase = context.cosines("phrase_vectors", clause, tools) if context.phrases is not None else own
        if own is None or phrase is None:
            raise ValueError("the query has no vector")
        return np.asarray(own + np.maximum(phrase - own, 0.0) / 2, dtype=np.float32)

    return cosines


def tool_evidence(scores: Floats1d, clauses: int = 1) -> dict[str, Floats1d]:
    """The evidence that each candidate is needed, float32 [candidates] each. Only ``rank`` and ``gap`` differ between
    the candidates. Differences of scores count in standard deviations of the hundred best scores, so the scale does not
    matter, and hardly the number of candidates. ``scores``: at least one, in the order of the tools' numbers."""
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[order] = np.arange(1, len(scores) + 1)
    best = scores[order[:_SCORED]]
    spread = float(best.std()) or 1.0
    gaps = (scores.max() - scores) / spread
    fifth, tenth = (gaps[order[min(place, len(scores) - 1)]] for place in (_FIFTH, _TENTH))
    lead = (best[0] - best.mean()) / spread
    same = {"lead": lead, "fifth": fifth, "tenth": tenth, "clauses": np.log(max(1, clauses))}
    return {"rank": np.log(ranks), "gap": gaps, **{name: np.full_like(ranks, value) for name, value in same.items()}}


def probability(weights: Mapping[str, float], evidence: Mapping[str, Floats1d | float]) -> NDArray[np.float32]:
    """The logistic model of these weights, float32 of the evidence's shape, in [0, 1]."""
    total = weights[""] + sum(weight * np.asarray(evidence[name]) for name, weight in weights.items() if name)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(total, -_MAX_LOGIT, _MAX_LOGIT))), dtype=np.float32)


def _unit(rows: Floats2d) -> Floats2d:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
