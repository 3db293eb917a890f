"""Figures: every measure of every system on every group of requests, with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eval.queries import QuerySet
from eval.run import Run

__all__ = ["Figure", "MeasuredSet", "Summary", "SystemFacts"]


@dataclass(frozen=True, kw_only=True)
class MeasuredSet:
    """One set of requests with what every system answered: all that figures are made from.

    :param tools: size of the catalogue.
    :param missing_gold: query id → gold tools that the catalogue does not have (``--allow-missing``); these stay in the
        gold set, so that such a request can never be complete.
    :param graph: quality of the tool graph (:mod:`eval.graph_quality`), JSON values; empty when it was not measured.
    """

    queries: QuerySet
    runs: tuple[Run, ...]
    tools: int
    snapshot_id: str
    missing_gold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    graph: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a report, with all that one must know to trust it.

    :param scope: ``class`` (one class of one set), ``set`` (micro-average of one set), ``macro`` (mean over the sets) or
        ``micro`` (all requests of all sets).
    :param group: the class, the set, or empty.
    :param measure: ``CompleteRecall@10``, ``R@5``, ``nDCG@10``, ``AP@30``, ``RR@30``: the name that parses back.
    :param value: mean in [0, 1].
    :param low: lower end of the 95 % bootstrap interval; ``high`` the upper.
    :param queries: how many requests it is the mean of.
    :param too_large: share of them with more gold tools than the cutoff: no system can complete those.
    :param set_name: the set of a class or set figure; empty at the scopes over all sets.
    :param difference: value minus the baseline's, with its paired interval ``difference_low`` to ``difference_high``
        and two-sided p-value ``p``; None for the baseline itself.
    """

    scope: str
    group: str
    system: str
    measure: str
    value: float
    low: float
    high: float
    queries: int
    too_large: float
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    set_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """What a system cost on one set.

    :param stages_ms: stage → (p50, p95) in milliseconds over the answered requests, ``total`` included.
    :param unanswered: requests without an answer; each scores 0.
    :param resources: as in :class:`eval.run.Run`.
    """

    set_name: str
    system: str
    config_hash: str
    snapshot_id: str
    answered: int
    unanswered: int
    degraded: int
    stages_ms: Mapping[str, tuple[float, float]]
    resources: Mapping[str, float] = field(default_factory=dict)
    died: str = ""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All figures of one evaluation over one or more sets.

    :param systems: names in the order of the tables.
    :param sets: set name → what is known of it: ``tools``, ``queries``, ``snapshot_id``, ``queries_sha256``,
        ``classes`` (class → number of requests), ``missing_gold`` (number of requests).
    :param baseline: the system that differences are against.
    :param resamples: of the bootstrap, and its ``seed``.
    """

    systems: tuple[str, ...]
    sets: Mapping[str, Mapping[str, Any]]
    figures: tuple[Figure, ...]
    facts: tuple[SystemFacts, ...]
    baseline: str
    resamples: int
    seed: int
