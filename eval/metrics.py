"""Measures: what one answer is worth against the gold set of its request.

CompleteRecall@k is the measure of the paper (section 5.2): 1 where every gold tool is among the first k, else 0. The
others are the standard ones, computed by ``ir_measures`` and called as it calls them, so that a name parses back:
recall ``R@k``, ``nDCG@k`` with gains of 0 and 1, average precision ``AP@k`` over all gold tools, reciprocal rank ``RR@k``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from eval.answers import Run
from eval.queries import LabelledQuery, QuerySet
from ontology.errors import InvalidArgumentError, MissingExtraError

__all__ = [
    "COMPLETE",
    "CUTOFFS",
    "STANDARD",
    "Scores",
    "cutoff_of",
    "gold_ranks",
    "is_answered",
    "measures_at",
    "score",
    "share_too_large",
]

CUTOFFS = (3, 5, 10, 20, 30)
COMPLETE = "CompleteRecall"
STANDARD = ("R", "nDCG", "AP", "RR")

# What an answer is worth depends on this alone: how many gold tools there are, and the ranks at which some were found.
_Pattern: TypeAlias = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What each answer of a run is worth.

    :param measures: names, ``CompleteRecall@3`` …, the columns.
    :param values_QM: float32 [queries, measures], each in [0, 1].
    :param query_ids: the rows.
    """

    measures: tuple[str, ...]
    values_QM: NDArray[np.float32]
    query_ids: tuple[str, ...]


def measures_at(cutoffs: Sequence[int], names: Sequence[str] = (COMPLETE, *STANDARD)) -> tuple[str, ...]:
    """The names of the measures at all cutoffs, measure by measure."""
    return tuple(f"{name}@{cutoff}" for name in names for cutoff in cutoffs)


def cutoff_of(measure: str) -> int:
    """The cutoff in a measure's name: 10 of ``nDCG@10``."""
    return int(measure.rpartition("@")[2])


def gold_ranks(tools: Sequence[str], gold: Sequence[str]) -> tuple[int | None, ...]:
    """The rank of each gold tool in an answer, 1 for the best, None where it is not there; in the order of ``gold``."""
    rank_of: dict[str, int] = {}
    for rank, tool in enumerate(tools, start=1):
        rank_of.setdefault(tool, rank)
    return tuple(rank_of.get(tool) for tool in gold)


def share_too_large(queries: Sequence[LabelledQuery], k: int) -> float:
    """The share of requests with more than ``k`` gold tools: those that no answer of ``k`` tools can complete."""
    return sum(len(query.tools) > k for query in queries) / len(queries) if queries else 0.0


def is_answered(run: Run, query_id: str) -> bool:
    """Whether the run has an answer to the request, be it an empty one."""
    answer = run.answers.get(query_id)
    return answer is not None and not answer.error


def score(run: Run, queries: QuerySet, cutoffs: Sequence[int] = CUTOFFS) -> Scores:
    """Score a run against the gold sets; a request without an answer scores 0 in every measure, and counts.

    :raises InvalidArgumentError: when there is no cutoff, or one below 1 or twice.
    :raises MissingExtraError: when ir_measures is not installed.
    """
    if not cutoffs or min(cutoffs) < 1 or len(set(cutoffs)) < len(cutoffs):
        raise InvalidArgumentError(f"cutoffs are distinct and at least 1, not {list(cutoffs)}", subject="cutoffs")
    patterns = [_pattern(run, query, max(cutoffs)) for query in queries.queries]
    distinct = {pattern: row for row, pattern in enumerate(dict.fromkeys(patterns))}
    values_PM = np.hstack([_complete(distinct, cutoffs), _standard(distinct, cutoffs)])
    rows = [distinct[pattern] for pattern in patterns]
    return Scores(
        measures=measures_at(cutoffs), values_QM=values_PM[rows], query_ids=tuple(query.id for query in queries.queries)
    )


def _pattern(run: Run, query: LabelledQuery, depth: int) -> _Pattern:
    tools = run.answers[query.id].tools[:depth] if is_answered(run, query.id) else ()
    return len(query.tools), tuple(sorted(rank for rank in gold_ranks(tools, query.tools) if rank is not None))


def _complete(patterns: Mapping[_Pattern, int], cutoffs: Sequence[int]) -> NDArray[np.float32]:
    """CompleteRecall of each pattern at each cutoff, float32 [patterns, cutoffs]."""
    rows = [[len(ranks) == gold and ranks[-1] <= cutoff for cutoff in cutoffs] for gold, ranks in patterns]
    return np.array(rows, dtype=np.float32).reshape(len(patterns), len(cutoffs))


def _standard(patterns: Mapping[_Pattern, int], cutoffs: Sequence[int]) -> NDArray[np.float32]:
    """The standard measures of each pattern, float32 [patterns, measures].

    The library is given no real ids (it breaks ties by id, and half a character in one is the end of the process) but
    one document for each rank: found gold tools at theirs, with scores that fall strictly.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("measures of retrieval", extra="eval") from error
    columns = {measure: column for column, measure in enumerate(measures_at(cutoffs, STANDARD))}
    values_PM = np.zeros((len(patterns), len(columns)), dtype=np.float32)
    judged = {
        str(row): {str(rank): 1 for rank in ranks} | {f"absent {at}": 1 for at in range(gold - len(ranks))}
        for (gold, ranks), row in patterns.items()
    }
    ranked = {
        str(row): {str(rank): float(-rank) for rank in range(1, ranks[-1] + 1)}
        for (_, ranks), row in patterns.items()
        if ranks
    }
    evaluator = ir_measures.evaluator([ir_measures.parse_measure(measure) for measure in columns], judged)
    for metric in evaluator.iter_calc(ranked):
        values_PM[int(metric.query_id), columns[str(metric.measure)]] = metric.value
    return values_PM
