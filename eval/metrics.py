"""Metrics: the value of one answer, given the gold set of its request.

Where a gold set has alternatives, an answer is measured leniently, against the tools that suit it best: of each slot the
tool that it ranks first. With the set of :func:`eval.queries.strict_queries` it is measured strictly. A slot without a tool
in the answer counts as one missing tool. A tool that fills several slots counts once.

A measure is a metric at a cutoff, ``CompleteRecall@10``. ``ir_measures`` computes all of them and parses their names.
A new metric is one entry of :data:`METRICS`: the name of a metric of ``ir_measures`` (https://ir-measur.es), or a name
with your own function. Reports, summaries and the published results then show it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from eval.answers import Run
from eval.queries import LabelledQuery, QuerySet, Slot
from ontology.errors import InvalidArgumentError

__all__ = [
    "COMPLETE",
    "CUTOFFS",
    "METRICS",
    "Scores",
    "answered_tools",
    "check",
    "complete_at",
    "cutoff_of",
    "gold_ranks",
    "interval",
    "is_answered",
    "measures_at",
    "metric_of",
    "p_value",
    "ranks_of",
    "resampled_means",
    "score",
    "share_too_large",
]

_TAIL = 0.025  # on each side of a 95 % interval
_DRAWS_AT_ONCE = 1 << 20  # bounds the memory: 8 bytes each, a few times over
# The precision of means in float32; smaller differences count as 0.
_TIE = 1e-6


def check(*, resamples: int, seed: int) -> None:
    """Check the arguments of the bootstrap.

    :raises InvalidArgumentError: when ``resamples`` is below 1, or the seed is negative.
    """
    if resamples < 1:
        raise InvalidArgumentError(f"there must be at least one resample, not {resamples}", subject="resamples")
    if seed < 0:
        raise InvalidArgumentError(f"the seed must not be negative, it is {seed}", subject="seed")


def resampled_means(values_QC: NDArray[np.float32], *, resamples: int, seed: int, stratum: str) -> NDArray[np.float32]:
    """Return the mean of every column over each draw of the rows.

    :param values_QC: float32 [requests, columns]; all columns are averaged over the same draws.
    :param stratum: name of the set of requests. The draws depend only on it, the seed and the number of requests, and
        not on other strata.
    :returns: float32 [columns, resamples].
    """
    rows, columns = values_QC.shape
    generator = _generator(seed, stratum)
    means_CB = np.empty((columns, resamples), dtype=np.float32)
    at_once = max(1, _DRAWS_AT_ONCE // rows)
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        drawn = generator.integers(0, rows, size=(size, rows), dtype=np.int64)
        drawn += np.arange(size, dtype=np.int64)[:, None] * rows
        times_BQ = np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float32)
        np.matmul(values_QC.T, times_BQ.T, out=means_CB[:, start : start + size])
    means_CB /= np.float32(rows)
    return means_CB


def interval(means_CB: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the lower and upper ends of the 95 % percentile intervals, float32 [columns] each."""
    # As np.quantile does it, which partitions: of means of few requests, most of them equal, that takes many times as long.
    sorted_CB = np.sort(means_CB, axis=1)
    low, high = (_quantile_of_sorted(sorted_CB, share) for share in (_TAIL, 1 - _TAIL))
    return low, high


def _quantile_of_sorted(sorted_CB: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Interpolate between the two draws around the quantile, from the nearer one as numpy does, so that nothing is rounded otherwise."""
    at = share * (sorted_CB.shape[1] - 1)
    below = int(at)
    weight = at - below
    lower_C, upper_C = sorted_CB[:, below].astype(np.float64), sorted_CB[:, min(below + 1, sorted_CB.shape[1] - 1)]
    step_C = (upper_C - sorted_CB[:, below]).astype(np.float64)
    found_C: NDArray[np.float64] = lower_C + step_C * weight if weight < 0.5 else upper_C - step_C * (1 - weight)
    return found_C.astype(np.float32)


def p_value(differences_CB: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return two-sided p-values of differences, float64 [columns], in (0, 1].

    Twice the share of draws on the rarer side of 0. Draws without a difference count on both sides, and one is added
    to count and total, so the number of draws limits how small p can be (Davison and Hinkley, 1997, section 4.2).
    Systems with the same answers have p = 1.
    """
    resamples = differences_CB.shape[1]
    below = np.count_nonzero(differences_CB <= _TIE, axis=1)
    above = np.count_nonzero(differences_CB >= -_TIE, axis=1)
    tail: NDArray[np.float64] = (1 + np.minimum(below, above)) / (resamples + 1)
    return np.clip(2 * tail, 0.0, 1.0)


def _generator(seed: int, stratum: str) -> np.random.Generator:
    name = int.from_bytes(hashlib.sha256(stratum.encode("utf-8", "surrogatepass")).digest()[:16], "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, name])))


def complete_recall(ranks: Sequence[int], gold: int) -> float:
    """1 where there is a gold tool and all are among the first k, else 0 (arXiv 2508.05888, section 5.2)."""
    return float(len(ranks) == gold > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric.

    :param by_class: whether reports also show it for each class of requests.
    :param value: computes the value of one answer from the ranks (from 1, ascending) of the gold tools among its first k
        and the number of gold tools; None where ``ir_measures`` has the metric.
    """

    name: str
    by_class: bool = False
    value: Callable[[Sequence[int], int], float] | None = None


CUTOFFS = (3, 5, 10, 20, 30)
COMPLETE = "CompleteRecall"
METRICS = (
    Metric(name=COMPLETE, by_class=True, value=complete_recall),
    Metric(name="R", by_class=True),  # recall
    Metric(name="nDCG"),  # with gains of 0 and 1
    Metric(name="AP"),  # average precision over all gold tools
    Metric(name="RR"),  # reciprocal rank
)

# The value of an answer depends only on the number of gold tools, one for each slot, and on the ranks of those found,
# ascending.
_Pattern: TypeAlias = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The values of the answers of a run.

    :param measures: names, ``CompleteRecall@3`` …, the columns.
    :param values_QM: float32 [queries, measures], each in [0, 1].
    :param query_ids: the rows.
    """

    measures: tuple[str, ...]
    values_QM: NDArray[np.float32]
    query_ids: tuple[str, ...]


def measures_at(cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Return the names of all metrics at all cutoffs, metric by metric."""
    return tuple(f"{metric.name}@{cutoff}" for metric in METRICS for cutoff in cutoffs)


def metric_of(measure: str) -> str:
    """Return the metric in a measure's name: ``nDCG`` for ``nDCG@10``."""
    return measure.rpartition("@")[0]


def cutoff_of(measure: str) -> int:
    """Return the cutoff in a measure's name: 10 for ``nDCG@10``."""
    return int(measure.rpartition("@")[2])


def gold_ranks(tools: Sequence[str], gold: Sequence[str]) -> tuple[int | None, ...]:
    """Return the rank of each gold tool in an answer, from 1, None if it is not in it; in the order of ``gold``."""
    rank_of: dict[str, int] = {}
    for rank, tool in enumerate(tools, start=1):
        rank_of.setdefault(tool, rank)
    return tuple(rank_of.get(tool) for tool in gold)


def slot_ranks(tools: Sequence[str], slots: Sequence[Slot]) -> tuple[int | None, ...]:
    """Return the rank at which an answer fills each slot, from 1, None if it does not; in the order of ``slots``."""
    filled = ([rank for rank in gold_ranks(tools, slot) if rank is not None] for slot in slots)
    return tuple(min(ranks, default=None) for ranks in filled)


def share_too_large(queries: Sequence[LabelledQuery], k: int) -> float:
    """Return the share of requests that need more than ``k`` tools, which no answer of ``k`` tools can complete."""
    return sum(query.least_tools > k for query in queries) / len(queries) if queries else 0.0


def is_answered(run: Run, query_id: str) -> bool:
    """Whether the run has an answer to the request; an empty answer counts."""
    answer = run.answers.get(query_id)
    return answer is not None and not answer.error


def answered_tools(run: Run, query_id: str) -> tuple[str, ...]:
    """Return the tools of the answer to the request, best first; none where there is no answer."""
    return run.answers[query_id].tools if is_answered(run, query_id) else ()


def ranks_of(run: Run, query: LabelledQuery) -> tuple[int | None, ...]:
    """Return the rank at which each slot is filled, from 1; None where the answer does not, or there is no answer."""
    return slot_ranks(answered_tools(run, query.id), query.slots)


def complete_at(ranks: Iterable[int | None]) -> int | None:
    """Return the smallest k at which the first k tools fill all slots; None when the answer leaves one unfilled."""
    known = list(ranks)
    return max((rank or 0 for rank in known), default=0) if None not in known else None


def score(run: Run, queries: QuerySet, cutoffs: Sequence[int] = CUTOFFS) -> Scores:
    """Score a run against the gold sets; a request without an answer scores 0 in every measure.

    :raises InvalidArgumentError: when there is no cutoff, one below 1, or a repeated one.
    """
    if not cutoffs or min(cutoffs) < 1 or len(set(cutoffs)) < len(cutoffs):
        raise InvalidArgumentError(f"cutoffs are distinct and at least 1, not {list(cutoffs)}", subject="cutoffs")
    measures = measures_at(cutoffs)
    values_QM = np.zeros((len(queries.queries), len(measures)), dtype=np.float32)
    for cutoff in cutoffs:
        patterns = [_pattern(run, query, cutoff) for query in queries.queries]
        distinct = {pattern: row for row, pattern in enumerate(dict.fromkeys(patterns))}
        columns = [column for column, measure in enumerate(measures) if cutoff_of(measure) == cutoff]
        values_PM = _values(tuple(distinct), tuple(measures[column] for column in columns))
        values_QM[:, columns] = values_PM[[distinct[pattern] for pattern in patterns]]
    return Scores(measures=measures, values_QM=values_QM, query_ids=tuple(query.id for query in queries.queries))


def _pattern(run: Run, query: LabelledQuery, cutoff: int) -> _Pattern:
    ranks = slot_ranks(answered_tools(run, query.id)[:cutoff], query.slots)
    found = sorted({rank for rank in ranks if rank is not None})
    return len(found) + ranks.count(None), tuple(found)


@lru_cache(maxsize=1_024)
def _values(patterns: tuple[_Pattern, ...], measures: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the measures of each pattern, float32 [patterns, measures]; kept, as systems that answer alike have the same patterns.

    The library does not get the real ids: it breaks ties by id, and a lone surrogate in an id ends the process. It gets one
    document for each rank, with strictly decreasing scores; the found gold tools are at their ranks.
    """
    from eval.rank_measures import make_evaluator, register_measure  # its library is not there on every platform

    for metric in METRICS:
        if metric.value is not None:
            register_measure(metric.name, metric.value)
    values_PM = np.zeros((len(patterns), len(measures)), dtype=np.float32)
    judged = {
        str(row): {str(rank): 1 for rank in ranks} | {f"absent {at}": 1 for at in range(gold - len(ranks))}
        for row, (gold, ranks) in enumerate(patterns)
    }
    ranked = {
        str(row): {str(rank): float(-rank) for rank in range(1, ranks[-1] + 1)}
        for row, (_, ranks) in enumerate(patterns)
        if ranks
    }
    columns = {measure: column for column, measure in enumerate(measures)}
    for value in make_evaluator(measures, judged).iter_calc(ranked):
        values_PM[int(value.query_id), columns[str(value.measure)]] = value.value
    return values_PM
