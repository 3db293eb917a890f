"""Metrics: the value of one answer, given the gold set of its request.

A measure is a metric at a cutoff, ``CompleteRecall@10``. ``ir_measures`` computes all of them and parses their names.
A new metric is one entry of :data:`METRICS`: the name of a metric of ``ir_measures`` (https://ir-measur.es), or a name
with your own function. Reports, summaries and the published results then show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from eval.answers import Run
from eval.queries import LabelledQuery, QuerySet
from ontology.errors import InvalidArgumentError

__all__ = [
    "COMPLETE",
    "CUTOFFS",
    "METRICS",
    "Metric",
    "Scores",
    "complete_at",
    "cutoff_of",
    "gold_ranks",
    "is_answered",
    "measures_at",
    "metric_of",
    "ranks_of",
    "score",
    "share_too_large",
]


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

# The value of an answer depends only on the number of gold tools and on the ranks of those found, ascending.
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


def share_too_large(queries: Sequence[LabelledQuery], k: int) -> float:
    """Return the share of requests with more than ``k`` gold tools, which no answer of ``k`` tools can complete."""
    return sum(len(query.tools) > k for query in queries) / len(queries) if queries else 0.0


def is_answered(run: Run, query_id: str) -> bool:
    """Whether the run has an answer to the request; an empty answer counts."""
    answer = run.answers.get(query_id)
    return answer is not None and not answer.error


def ranks_of(run: Run, query: LabelledQuery) -> tuple[int | None, ...]:
    """Return the rank of each gold tool, from 1; None where it is not in the answer, or there is no answer."""
    tools = run.answers[query.id].tools if is_answered(run, query.id) else ()
    return gold_ranks(tools, query.tools)


def complete_at(ranks: Iterable[int | None]) -> int | None:
    """Return the smallest k at which the first k tools include all gold tools; None when one is not in the answer."""
    known = list(ranks)
    return max((rank or 0 for rank in known), default=0) if None not in known else None


def score(run: Run, queries: QuerySet, cutoffs: Sequence[int] = CUTOFFS) -> Scores:
    """Score a run against the gold sets; a request without an answer scores 0 in every measure.

    :raises InvalidArgumentError: when there is no cutoff, one below 1, or a repeated one.
    """
    if not cutoffs or min(cutoffs) < 1 or len(set(cutoffs)) < len(cutoffs):
        raise InvalidArgumentError(f"cutoffs are distinct and at least 1, not {list(cutoffs)}", subject="cutoffs")
    patterns = [_pattern(run, query, max(cutoffs)) for query in queries.queries]
    distinct = {pattern: row for row, pattern in enumerate(dict.fromkeys(patterns))}
    measures = measures_at(cutoffs)
    values_PM = _values(distinct, measures)
    rows = [distinct[pattern] for pattern in patterns]
    return Scores(measures=measures, values_QM=values_PM[rows], query_ids=tuple(query.id for query in queries.queries))


def _pattern(run: Run, query: LabelledQuery, depth: int) -> _Pattern:
    tools = run.answers[query.id].tools[:depth] if is_answered(run, query.id) else ()
    return len(query.tools), tuple(sorted(rank for rank in gold_ranks(tools, query.tools) if rank is not None))


def _values(patterns: Mapping[_Pattern, int], measures: Sequence[str]) -> NDArray[np.float32]:
    """Return the measures of each pattern, float32 [patterns, measures].

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
        for (gold, ranks), row in patterns.items()
    }
    ranked = {
        str(row): {str(rank): float(-rank) for rank in range(1, ranks[-1] + 1)}
        for (_, ranks), row in patterns.items()
        if ranks
    }
    columns = {measure: column for column, measure in enumerate(measures)}
    for value in make_evaluator(measures, judged).iter_calc(ranked):
        values_PM[int(value.query_id), columns[str(value.measure)]] = value.value
    return values_PM
