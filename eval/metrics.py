"""Metrics: the value of one answer, given the gold set of its request; and what chance does to their means.

Where a gold set has alternatives, an answer is measured against the tools that suit it best: of each slot the tool that it
ranks first. A slot without a tool in the answer counts as one missing tool. A tool that fills several slots counts once.

A measure is a metric at a cutoff, ``CompleteRecall@10``. A new metric is one entry of :data:`METRICS`: reports, summaries and
the published results then show it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.measured_set import MeasuredSet, Run
from eval.queries import LabelledQuery, QuerySet
from ontology.errors import InvalidArgumentError


def complete_recall(ranks: Sequence[int], gold: int, k: int) -> float:
    """1 where there is a gold tool and all are among the first k, else 0 (arXiv 2508.05888, section 5.2)."""
    return float(len(ranks) == gold > 0)


def recall(ranks: Sequence[int], gold: int, k: int) -> float:
    """The share of the gold tools that are among the first k."""
    return len(ranks) / gold if gold else 0.0


def ndcg(ranks: Sequence[int], gold: int, k: int) -> float:
    """The discounted gain of the gold tools, 1 each, over the largest possible one."""
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, gold) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks) / ideal if gold else 0.0


def average_precision(ranks: Sequence[int], gold: int, k: int) -> float:
    """The mean over all gold tools of the precision at their ranks, 0 for one that is not among the first k."""
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / gold if gold else 0.0


def reciprocal_rank(ranks: Sequence[int], gold: int, k: int) -> float:
    """One over the rank of the first gold tool; 0 where none is among the first k."""
    return 1 / ranks[0] if ranks else 0.0


CUTOFFS = (3, 5, 10, 20, 30)
PAPER_CUTOFFS = (3, 5, 10)
COMPLETE = "CompleteRecall"
COMPLETE_MEASURES = tuple(f"{COMPLETE}@{k}" for k in PAPER_CUTOFFS)
# Name → the value of one answer in [0, 1], from the ranks (from 1, ascending) of the gold tools among its first k, the number of
# gold tools, and k.
METRICS: Mapping[str, Callable[[Sequence[int], int, int], float]] = {
    COMPLETE: complete_recall,
    "R": recall,
    "nDCG": ndcg,
    "AP": average_precision,
    "RR": reciprocal_rank,
}
BY_CLASS = (COMPLETE, "R")  # what reports also show for each class of requests


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The values of the answers of a run."""

    measures: tuple[str, ...]  # names, ``CompleteRecall@3`` …, metric by metric; the columns
    values_QM: NDArray[np.float32]  # float32 [queries, measures], each in [0, 1]; rows in the order of the set


def metric_of(measure: str) -> str:
    """Return the metric in a measure's name: ``nDCG`` for ``nDCG@10``."""
    return measure.rpartition("@")[0]


def cutoff_of(measure: str) -> int:
    """Return the cutoff in a measure's name: 10 for ``nDCG@10``."""
    return int(measure.rpartition("@")[2])


def gold_ranks(tools: Sequence[str], gold: Sequence[str]) -> tuple[int | None, ...]:
    """Return the rank of each gold tool in an answer, from 1, None if it is not in it; in the order of ``gold``."""
    rank_of = {tool: rank for rank, tool in reversed(list(enumerate(tools, start=1)))}
    return tuple(rank_of.get(tool) for tool in gold)


def ranks_of(run: Run, query: LabelledQuery) -> tuple[int | None, ...]:
    """Return the rank at which each slot is filled, from 1; None where the answer does not, or there is no answer."""
    tools = run.tools_of(query.id)
    filled = ([rank for rank in gold_ranks(tools, slot) if rank is not None] for slot in query.slots)
    return tuple(min(ranks, default=None) for ranks in filled)


def complete_at(ranks: Iterable[int | None]) -> int | None:
    """Return the smallest k at which the first k tools fill all slots; None when the answer leaves one unfilled."""
    known = list(ranks)
    return max((rank or 0 for rank in known), default=0) if None not in known else None


def completes(ranks: Iterable[Iterable[int | None]], cutoffs: Sequence[int]) -> NDArray[np.bool_]:
    """Whether each request is complete at each cutoff, bool [requests, cutoffs]. ``ranks``: those of its slots."""
    depths = map(complete_at, ranks)
    return np.array([[depth is not None and depth <= k for k in cutoffs] for depth in depths], dtype=np.bool_)


def completed_ranks(measured: MeasuredSet) -> dict[str, dict[str, int]]:
    """System → request → the rank at which it is complete; 0 where it is not. What every figure of CompleteRecall is made from."""
    return {
        run.system: {query.id: complete_at(ranks_of(run, query)) or 0 for query in measured.queries.queries}
        for run in measured.runs
    }


def share_too_large(queries: Sequence[LabelledQuery], k: int) -> float:
    """Return the share of requests that need more than ``k`` tools, which no answer of ``k`` tools can complete."""
    return sum(query.least_tools > k for query in queries) / len(queries) if queries else 0.0


def score(run: Run, queries: QuerySet, cutoffs: Sequence[int] = CUTOFFS) -> Scores:
    """Score a run against the gold sets; a request without an answer scores 0 in every measure."""
    if not cutoffs or min(cutoffs) < 1 or len(set(cutoffs)) < len(cutoffs):
        raise InvalidArgumentError(f"cutoffs are distinct and at least 1, not {list(cutoffs)}", subject="cutoffs")
    values_QM = np.zeros((len(queries.queries), len(METRICS) * len(cutoffs)), dtype=np.float32)
    for row, query in enumerate(queries.queries):
        ranks = ranks_of(run, query)
        # Of each cutoff the ranks of the gold tools, ascending, and their number: a slot that is not filled counts as one.
        found = [sorted({rank for rank in ranks if rank is not None and rank <= k}) for k in cutoffs]
        gold = [len(found[at]) + sum(rank is None or rank > k for rank in ranks) for at, k in enumerate(cutoffs)]
        values_QM[row] = [value(found[at], gold[at], k) for value in METRICS.values() for at, k in enumerate(cutoffs)]
    measures = tuple(f"{metric}@{k}" for metric in METRICS for k in cutoffs)
    return Scores(measures=measures, values_QM=values_QM)


_TAIL = 0.025  # on each side of a 95 % interval
_DRAWS_AT_ONCE = 1 << 20  # bounds the memory: 8 bytes each, a few times over
_TIE = 1e-6  # the precision of means in float32; smaller differences count as 0
_DIGITS = 6


def rounded(value: float) -> float:
    """A figure as results hold it: six digits, and never -0.0."""
    return round(float(value), _DIGITS) + 0.0


def check(*, resamples: int, seed: int) -> None:
    """Check the arguments of the bootstrap."""
    if resamples < 1:
        raise InvalidArgumentError(f"there must be at least one resample, not {resamples}", subject="resamples")
    if seed < 0:
        raise InvalidArgumentError(f"the seed must not be negative, it is {seed}", subject="seed")


def resampled_means(values_QC: NDArray[np.float32], *, resamples: int, seed: int, stratum: str) -> NDArray[np.float32]:
    """Return the mean of every column over each draw of the rows. ``values_QC``: float32 [requests, columns]; all
    columns are averaged over the same draws. ``stratum``: name of the set of requests. The draws depend only on it, the
    seed and the number of requests, and not on other strata. Returns float32 [columns, resamples]."""
    rows, columns = values_QC.shape
    name = int.from_bytes(hashlib.sha256(stratum.encode("utf-8", "surrogatepass")).digest()[:16], "big")
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, name])))
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
    # Sorted first: of means of few requests, most of them equal, the partition of np.quantile takes many times as long.
    low, high = np.quantile(np.sort(means_CB, axis=1), (_TAIL, 1 - _TAIL), axis=1).astype(np.float32)
    return low, high


def p_value(differences_CB: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return two-sided p-values of differences, float64 [columns], in (0, 1]. Twice the share of draws on the rarer
    side of 0. Draws without a difference count on both sides, and one is added to count and total, so the number of
    draws limits how small p can be (Davison and Hinkley, 1997, section 4.2). Systems with the same answers have p = 1.
    """
    below = np.count_nonzero(differences_CB <= _TIE, axis=1)
    above = np.count_nonzero(differences_CB >= -_TIE, axis=1)
    tail: NDArray[np.float64] = (1 + np.minimum(below, above)) / (differences_CB.shape[1] + 1)
    return np.clip(2 * tail, 0.0, 1.0)


UNANSWERABLE, KIND, ANSWERABLE = "unanswerable", "kind", "answerable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionRate:
    """The share of a group of requests on which one system abstains."""

    set_name: str
    system: str
    # ``unanswerable`` (all requests of the set that no tool serves), ``kind`` (one kind of them) or ``answerable``
    scope: str
    kind: str  # of the scope ``kind``, else empty
    requests: int
    abstained: int  # number of requests, of ``requests``, on which it abstains
    low: float  # lower end of the 95 % bootstrap interval of the share; ``high`` the upper
    high: float

    @property
    def value(self) -> float:
        """The share in [0, 1]."""
        return self.abstained / self.requests


def abstains(run: Run, query_id: str) -> bool:
    """Whether the answer says that no tool serves the request, or has no tool. No answer at all is no abstention."""
    answer = run.answered(query_id)
    return answer is not None and (answer.abstained or not answer.tools)


def abstention_rates(measured: MeasuredSet, *, resamples: int, seed: int) -> Iterator[AbstentionRate]:
    """Yield for each system the rate on all unanswerable requests, on each kind of them, and on the answerable ones,
    where it is false. Without unanswerable requests there are none: what a system does on answerable requests alone
    says nothing about abstaining."""
    unanswerable = measured.queries.unanswerable
    groups: dict[tuple[str, str], Sequence[LabelledQuery]] = {(UNANSWERABLE, ""): unanswerable}
    for kind in dict.fromkeys(query.kind for query in unanswerable if query.kind):
        groups[KIND, kind] = [query for query in unanswerable if query.kind == kind]
    groups[ANSWERABLE, ""] = measured.queries.queries
    for (scope, kind), queries in groups.items():
        if not unanswerable or not queries:
            continue
        hits = [[abstains(run, query.id) for run in measured.runs] for query in queries]
        abstained_QS = np.array(hits, dtype=np.float32)
        stratum = "\n".join((measured.queries.name, scope, kind))
        low_S, high_S = interval(resampled_means(abstained_QS, resamples=resamples, seed=seed, stratum=stratum))
        for at, run in enumerate(measured.runs):
            yield AbstentionRate(
                set_name=measured.queries.name,
                system=run.system,
                scope=scope,
                kind=kind,
                requests=len(queries),
                abstained=int(abstained_QS[:, at].sum()),
                low=rounded(low_S[at]),
                high=rounded(high_S[at]),
            )
