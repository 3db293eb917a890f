"""Groups of requests over which figures are averaged: a class, a set, all sets; with the draws of the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from eval.bootstrap import resampled_means
from eval.metrics import METRICS, Scores, cutoff_of, metric_of, share_too_large
from eval.queries import QuerySet

__all__ = ["Group", "Scored", "classes", "groups", "strict_group"]

_BY_CLASS = {metric.name for metric in METRICS if metric.by_class}

Scored: TypeAlias = tuple[QuerySet, Mapping[str, Scores]]
"""One set with the scores of each system that ran on it; all of them have the same measures."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Requests, or sets of them, with the mean of every system and measure.

    :param scope: as in :class:`eval.summary.Figure`; likewise ``name`` (``group`` there) and ``set_name``.
    :param queries: number of requests.
    :param too_large: for each measure, the share of requests with more gold tools than its cutoff.
    :param values_SM: means, float64 [systems, measures].
    :param draws_SMB: means over each draw, float32 [systems, measures, resamples].
    """

    scope: str
    name: str
    set_name: str
    queries: int
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    too_large: tuple[float, ...]
    values_SM: NDArray[np.float64]
    draws_SMB: NDArray[np.float32]


def classes(queries: QuerySet) -> dict[str, int]:
    """Return a map from class to number of requests, in the order of first appearance, without unclassified requests."""
    counts: dict[str, int] = {}
    for query in queries.queries:
        if query.request_class:
            counts[query.request_class] = counts.get(query.request_class, 0) + 1
    return counts


def groups(sets: Sequence[Scored], *, resamples: int, seed: int) -> Iterator[Group]:
    """Yield each set and its classes, then the averages over all sets, for the systems that ran on all of them.

    Draws are within a set, so the draws of the averages are stratified by set.

    :param sets: each with at least one answerable request.
    """
    if not sets:
        return
    everywhere = [name for name in sets[0][1] if all(name in scores for _, scores in sets)]
    total = sum(len(queries.queries) for queries, _ in sets)
    macro: Group | None = None
    micro: Group | None = None
    for queries, scores in sets:
        if not scores:
            continue
        whole = _of_requests(queries, scores, "", resamples=resamples, seed=seed)
        yield whole
        if everywhere:
            chosen = _of_systems(whole, everywhere)
            macro = _add_weighted(macro, chosen, scope="macro", weight=1 / len(sets))
            micro = _add_weighted(micro, chosen, scope="micro", weight=whole.queries / total)
            del chosen
        del whole
        for request_class in classes(queries):
            yield _of_requests(queries, scores, request_class, resamples=resamples, seed=seed)
    if macro and micro:
        yield macro
        yield micro


def strict_group(queries: QuerySet, scores: Mapping[str, Scores], *, resamples: int, seed: int) -> Group:
    """Return the group of one set, scored with only the first tool of each slot; the draws are those of the set."""
    return replace(_of_requests(queries, scores, "", resamples=resamples, seed=seed), scope="strict")


def _of_requests(
    queries: QuerySet, scores: Mapping[str, Scores], request_class: str, *, resamples: int, seed: int
) -> Group:
    """The group of one set, or of one class of it."""
    all_measures = next(iter(scores.values())).measures
    kept = [name for name in all_measures if not request_class or metric_of(name) in _BY_CLASS]
    columns = [all_measures.index(name) for name in kept]
    rows = [row for row, query in enumerate(queries.queries) if request_class in ("", query.request_class)]
    members = [queries.queries[row] for row in rows]
    values_QSM = np.stack([each.values_QM[np.ix_(rows, columns)] for each in scores.values()], axis=1)
    draws_CB = resampled_means(
        values_QSM.reshape(len(rows), -1),
        resamples=resamples,
        seed=seed,
        stratum=f"{queries.name}\n{request_class}" if request_class else queries.name,
    )
    return Group(
        scope="class" if request_class else "set",
        name=request_class or queries.name,
        set_name=queries.name,
        queries=len(rows),
        systems=tuple(scores),
        measures=tuple(kept),
        too_large=tuple(share_too_large(members, cutoff_of(name)) for name in kept),
        values_SM=values_QSM.mean(axis=0, dtype=np.float64),
        draws_SMB=draws_CB.reshape(len(scores), len(kept), resamples),
    )


def _of_systems(group: Group, systems: Sequence[str]) -> Group:
    """The group with only these systems."""
    if group.systems == tuple(systems):
        return group
    chosen = [group.systems.index(name) for name in systems]
    return replace(group, systems=tuple(systems), values_SM=group.values_SM[chosen], draws_SMB=group.draws_SMB[chosen])


def _add_weighted(mean: Group | None, group: Group, *, scope: str, weight: float) -> Group:
    """Add one set to a weighted mean; the draws are added in place."""
    if mean is None:
        mean = replace(
            group,
            scope=scope,
            name="",
            set_name="",
            queries=0,
            too_large=(0.0,) * len(group.measures),
            values_SM=np.zeros_like(group.values_SM),
            draws_SMB=np.zeros_like(group.draws_SMB),
        )
    for target_MB, draws_MB in zip(mean.draws_SMB, group.draws_SMB, strict=True):
        target_MB += np.float32(weight) * draws_MB
    return replace(
        mean,
        queries=mean.queries + group.queries,
        too_large=tuple(old + weight * new for old, new in zip(mean.too_large, group.too_large, strict=True)),
        values_SM=mean.values_SM + weight * group.values_SM,
    )
