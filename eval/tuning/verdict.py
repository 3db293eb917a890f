"""The decision whether fitted weights are better: CompleteRecall before and after, with intervals, and the rule.

Requests of one tool path are not independent, so the bootstrap draws groups, not requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.bootstrap import interval, resampled_means
from eval.queries import LabelledQuery
from eval.report.numbers import points

__all__ = ["Ranks", "RecallChange", "changes", "cutoffs_for", "rejection"]

_CUTOFFS = (3, 5, 10, 20)
_RESAMPLES = 10_000
_DIGITS = 6
_MIN_GROUPS = 5  # the interval of a class with fewer groups is not reliable


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """The rank at which each request is complete, before and after; int64 [requests] each."""

    before_Q: NDArray[np.int64]
    after_Q: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallChange:
    """CompleteRecall at one cutoff before and after, in [0, 1], over all requests or those of a class.

    :param request_class: empty for all requests.
    :param groups: number of groups of the requests.
    :param low: lower end of the 95 % interval of the difference, by the paired bootstrap over groups; ``high`` its
        upper end.
    """

    request_class: str
    cutoff: int
    requests: int
    groups: int
    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before


def cutoffs_for(k: int) -> tuple[int, ...]:
    """Return the cutoffs for fitting and reporting: the usual ones below ``k``, and ``k``."""
    return (*(cutoff for cutoff in _CUTOFFS if cutoff < k), k)


def changes(
    queries: Sequence[LabelledQuery], groups_Q: NDArray[np.int64], ranks: Ranks, *, cutoffs: Sequence[int], seed: int
) -> tuple[RecallChange, ...]:
    """Return the change at every cutoff: over all requests, then in each class, in the order of first appearance."""
    classes = dict.fromkeys(["", *(query.request_class for query in queries)])
    return tuple(
        change
        for request_class in classes
        for rows in [[at for at, query in enumerate(queries) if request_class in ("", query.request_class)]]
        for change in _changes(request_class, groups_Q[rows], ranks, rows, cutoffs=cutoffs, seed=seed)
    )


def _changes(
    request_class: str, groups_Q: NDArray[np.int64], ranks: Ranks, rows: list[int], *, cutoffs: Sequence[int], seed: int
) -> list[RecallChange]:
    bounds = np.asarray(cutoffs)
    before_QK = ranks.before_Q[rows, None] <= bounds
    after_QK = ranks.after_Q[rows, None] <= bounds
    gained_QK = after_QK.astype(np.float32) - before_QK.astype(np.float32)
    distinct, group_Q = np.unique(groups_Q, return_inverse=True)
    sums_GC = np.zeros((len(distinct), len(cutoffs) + 1), dtype=np.float32)
    np.add.at(sums_GC, group_Q, np.column_stack([gained_QK, np.ones(len(rows), dtype=np.float32)]))
    draws_CB = resampled_means(sums_GC, resamples=_RESAMPLES, seed=seed, stratum=f"tuning\n{request_class}")
    low_K, high_K = interval(draws_CB[:-1] / draws_CB[-1])  # a ratio, because the number of drawn requests varies
    return [
        RecallChange(
            request_class=request_class,
            cutoff=cutoff,
            requests=len(rows),
            groups=len(distinct),
            before=round(float(before_QK[:, at].mean()), _DIGITS),
            after=round(float(after_QK[:, at].mean()), _DIGITS),
            low=round(float(low_K[at]), _DIGITS) + 0.0,
            high=round(float(high_K[at]), _DIGITS) + 0.0,
        )
        for at, cutoff in enumerate(cutoffs)
    ]


def rejection(held_out: Sequence[RecallChange], test: Sequence[RecallChange], *, k: int) -> str:
    """Return why the weights must not be published, one sentence without a full stop; empty where they are better.

    They are better when, on held-out tool paths, the whole interval of the difference in CompleteRecall@k is above 0, and
    no class of five groups or more has its whole interval below 0, neither there nor among the test requests, which are
    not used to choose the weights.
    """
    (whole,) = (change for change in held_out if change.cutoff == k and not change.request_class)
    if whole.low <= 0:
        found = f"on held-out paths CompleteRecall@{k} goes from {whole.before:.1%} to {whole.after:.1%}"
        if whole.difference <= 0:
            return f"{found}: nothing is gained"
        return f"{found}, which may be chance: the interval of the difference is {_interval(whole)}"
    for name, among in (("on held-out paths", held_out), ("of the test requests", test)):
        for change in among:
            if change.cutoff == k and change.high < 0 and change.groups >= _MIN_GROUPS:
                which = f"the class {change.request_class!r} {name}" if change.request_class else f"the mean {name}"
                return (
                    f"{which} falls at {k} from {change.before:.1%} to {change.after:.1%}, more than chance explains: "
                    f"the interval of the difference is {_interval(change)}"
                )
    return ""


def _interval(change: RecallChange) -> str:
    return f"{points(change.low)} to {points(change.high)} points"
