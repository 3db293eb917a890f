"""What tells a request that some tool serves from one that nothing serves, whatever the ranking.

A request is compared with the tools and with three sets of *background texts*: talk that is no task (thanks, general knowledge,
talk about the conversation), tasks of many kinds of systems, and what tools of other catalogues do. A background task or tool
counts against the catalogue only as far as no tool of it is near. How near the tools are to talk says what nearness means in this catalogue, so evidence is relative to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inference.arrays import Floats1d, Floats2d
from retrieval.query.query import Query
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "SERVED_EVIDENCE",
    "TASK_EVIDENCE",
    "Background",
    "CatalogueStatistics",
    "catalogue_statistics",
    "mean_of_nearest",
]

TASK_EVIDENCE = ("margin", "standing", "probe")
"""The evidence that a request is a task. ``margin``: how much nearer its best clause is to a tool than to talk, and ``standing``: how near it
is to a tool, both in standard deviations of what talk reaches in this catalogue; ``probe``: the log odds of a linear model of its vector.
"""
SERVED_EVIDENCE = ("best", "whole", "mean", "talk", "task", "unserved", "rival", "foreign", "level")
"""The evidence that a tool serves a task. Cosines: of the best clause and its nearest tool; of the request and its nearest tool; mean of
the tools; mean of talk and its nearest tool; of the nearest background tasks; how much nearer they are than their own nearest
tools; how much nearer the best of them is than both its own nearest tool and that of the request; how much nearer background tools are than
their own nearest tools. ``level``: how near the request is to a tool, in standard deviations of what background tools reach.
"""

_NEAREST = 3  # chosen, not tuned
_MAX_FOREIGN = 0.45  # a catalogue nearer to the background tools is large or like them, and no clearer
_SAMPLE = 1_024  # number of sampled tools of a larger catalogue
_BLOCK = 4_096
_EXACT = 65_536  # tools up to which the nearest one is found by comparing all


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Background texts, as vectors of one encoder.

    :param talk_TD: talk that is no task, unit rows, float32 [talk, D].
    :param tasks_BD: tasks of many kinds of systems, unit rows, float32 [tasks, D].
    :param tools_BD: means of clusters of tools of another catalogue, unit rows, float32 [background tools, D].
    :param probe: weights of the linear model of tasks against talk, the constant last, float32 [D + 1].
    """

    talk_TD: Floats2d
    tasks_BD: Floats2d
    tools_BD: Floats2d
    probe: Floats1d


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueStatistics:
    """What one catalogue's tools are to the background texts.

    :param mean_D: mean of the vectors of tools that represent the catalogue, float32 [D].
    :param talk_T: for each text of talk, the cosine of the nearest tool, float32 [talk].
    :param tasks_B: the same of each background task, float32 [tasks].
    :param tools_B: the same of each background tool, float32 [background tools].
    :param margin_T: for each text of talk, ``talk_T`` less its nearness to other talk, float32 [talk].
    :param log_tools: natural logarithm of the number of tools.
    :param log_words: natural logarithm of the mean number of distinct terms of a tool's text.
    """

    background: Background
    mean_D: Floats1d
    talk_T: Floats1d
    tasks_B: Floats1d
    tools_B: Floats1d
    margin_T: Floats1d
    log_tools: float
    log_words: float

    def evidence(
        self, query: Query, similarities: Callable[[Floats1d], Floats1d], *, without: int | None = None
    ) -> dict[str, float]:
        """The evidence of one request, without units.

        :param query: with its vector.
        :param similarities: cosines of a vector with the tools that may answer, float32 [tools], at least one.
        :param without: the number of a text of talk that does not count: the request itself, when the models are fitted.
        :raises ValueError: when the query has no vector.
        """
        vector_D = query.vector_D
        if vector_D is None:
            raise ValueError("the query has no vector")
        background = self.background
        parts = [clause.vector_D for clause in query.clauses if clause.vector_D is not None] or [vector_D]
        vectors_CD = np.stack(parts)
        best = float(similarities(vector_D).max())
        clauses = np.asarray([similarities(part).max() for part in parts] if query.clauses else [best])
        talk_TD = background.talk_TD if without is None else np.delete(background.talk_TD, without, axis=0)
        margin = float((clauses - mean_of_nearest(vectors_CD @ talk_TD.T)).max())
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

    def need_evidence(self, query: Query, similarities: Callable[[Floats1d], Floats1d]) -> dict[str, float]:
        """The evidence of one need, without units: how near the nearest tool is, whether a task that no tool serves is nearer, and what nearness
        means in this catalogue. ``clarity``: how much nearer tools are to what tools of other catalogues do than to talk, which is little where
        documents say little; ``words``: how long they are.

        :param query: with its vector.
        :param similarities: as for :meth:`evidence`.
        """
        vector_D = query.vector_D
        if vector_D is None:
            raise ValueError("the need has no vector")
        near_B = self.background.tasks_BD @ vector_D
        best = float(similarities(vector_D).max())
        return {
            "best": best,
            "rival": _rival(near_B, best, self.tasks_B),
            "clarity": min(float(self.tools_B.mean()), _MAX_FOREIGN) - float(self.talk_T.mean()),
            "words": self.log_words,
        }


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
