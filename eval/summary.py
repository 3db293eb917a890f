"""The figures: every measure of every system on every group of requests, with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from eval.measured_set import MeasuredSet, Run
from eval.metrics import (
    BY_CLASS,
    CUTOFFS,
    AbstentionRate,
    Scores,
    abstention_rates,
    check,
    cutoff_of,
    interval,
    metric_of,
    p_value,
    resampled_means,
    rounded,
    score,
    share_too_large,
)
from eval.queries import QuerySet
from ontology.errors import InvalidArgumentError

_FORMAT = "egotools.summary.v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a report, with its interval and its group of requests.

    :param scope: ``class`` (one class of one set), ``set`` (micro-average of one set) or ``macro`` (mean over the sets).
    :param group: the class, the set, or empty.
    :param measure: ``CompleteRecall@10``, ``R@5``, ``nDCG@10``, ``AP@30``, ``RR@30``.
    :param value: mean in [0, 1].
    :param low: lower end of the 95 % bootstrap interval; ``high`` the upper.
    :param queries: number of requests in the mean.
    :param too_large: share of them with more gold tools than the cutoff, which no system can complete.
    :param set_name: the set of a class or set figure; empty for the scopes over all sets.
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


Scope: TypeAlias = tuple[str, str, str]
"""Names requests: ``scope``, ``set_name`` and ``group`` of their figures."""
MEAN: Scope = ("macro", "", "")
"""All sets, each counting the same."""


def of_set(name: str) -> Scope:
    """All requests of a set."""
    return ("set", name, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """How long a system took on one set, and the numbers of its answers.

    :param unanswered: requests without an answer; each scores 0.
    :param fallbacks: number of answers in which the system left something out.
    :param stages_ms: map from stage to (p50, p95) in milliseconds over the answered requests, ``total`` included.
    :param failure: as in :class:`eval.measured_set.Run`.
    """

    set_name: str
    system: str
    config_hash: str
    snapshot_id: str
    answered: int
    unanswered: int
    fallbacks: int
    stages_ms: Mapping[str, tuple[float, float]]
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacts:
    """One set of requests.

    :param tools: size of the catalogue.
    :param queries: number of answerable requests; ``missing_gold`` of them have gold tools that the catalogue does not have.
    :param classes: map from class to number of answerable requests.
    :param unanswerable: number of requests that no tool serves.
    """

    tools: int
    queries: int
    snapshot_id: str
    queries_sha256: str
    classes: Mapping[str, int]
    missing_gold: int
    unanswerable: int = 0


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All figures of one evaluation over one or more sets.

    :param systems: names in the order of the tables.
    :param sets: the facts of each set, by its name.
    :param baseline: the system that all others are compared with.
    :param resamples: number of bootstrap resamples; ``seed`` is their seed.
    :param abstention: the rates of each set with unanswerable requests; all other figures are over the answerable ones.
    """

    systems: tuple[str, ...]
    sets: Mapping[str, SetFacts]
    figures: tuple[Figure, ...]
    facts: tuple[SystemFacts, ...]
    baseline: str
    resamples: int
    seed: int
    abstention: tuple[AbstentionRate, ...] = ()

    @cached_property
    def _by_key(self) -> dict[tuple[Scope, str, str], Figure]:
        return {((one.scope, one.set_name, one.group), one.system, one.measure): one for one in self.figures}

    def figure(self, scope: Scope, system: str, measure: str) -> Figure | None:
        """The figure of some requests; None where it was not measured."""
        return self._by_key.get((scope, system, measure))


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as JSON values; the figures are rows with one common list of columns."""
    columns = [column.name for column in fields(Figure)]
    value = TypeAdapter(Summary).dump_python(summary, mode="json")
    figures = [[figure[column] for column in columns] for figure in value.pop("figures")]
    return {"format": _FORMAT, **value, "figure_columns": columns, "figures": figures}


def summarise(
    sets: Sequence[MeasuredSet],
    *,
    baseline: str,
    cutoffs: Sequence[int] = CUTOFFS,
    resamples: int = 10_000,
    seed: int = 0,
) -> Summary:
    """Compute every figure of the evaluation, rounded to six digits.

    Figures are over the answerable requests; a set without any has none. A set with unanswerable requests also has rates of
    abstention. Sets and the mean over them have all measures; classes have the metrics with ``by_class``. Requests without a class
    are in no class figure. All draws are within a set (or class), so the intervals of the mean show the variation of requests within
    these sets. A system that did not run on every set has no mean, because one over fewer sets is not comparable. Where the baseline
    did not run, there are no differences.

    :param resamples: draws of the bootstrap; p-values cannot be below ``2 / (resamples + 1)``.
    :raises InvalidArgumentError: when there is nothing to measure, the baseline ran on no set, a set or a system of a
        set occurs twice, a run belongs to other requests or to another snapshot than its set, or has fewer tools than
        a cutoff.
    """
    check(resamples=resamples, seed=seed)
    _check_sets(sets, baseline)
    for measured in sets:
        for run in measured.runs:
            _check_run(run, measured, max(cutoffs, default=0))
    scored = [
        (each.queries, {run.system: score(run, each.queries, cutoffs) for run in each.runs})
        for each in sets
        if each.queries.queries
    ]
    groups = _groups(scored, resamples=resamples, seed=seed)
    return Summary(
        systems=tuple(dict.fromkeys(run.system for measured in sets for run in measured.runs)),
        sets={
            each.queries.name: SetFacts(
                tools=each.tools,
                queries=len(each.queries.queries),
                snapshot_id=each.snapshot_id,
                queries_sha256=each.queries.sha256,
                classes=_classes(each.queries),
                missing_gold=len(each.missing_gold),
                unanswerable=len(each.queries.unanswerable),
            )
            for each in sets
        },
        figures=tuple(figure for group in groups for figure in _figures(group, baseline)),
        facts=tuple(_facts(run, measured) for measured in sets for run in measured.runs),
        baseline=baseline,
        resamples=resamples,
        seed=seed,
        abstention=tuple(rate for each in sets for rate in abstention_rates(each, resamples=resamples, seed=seed)),
    )


def _check_sets(sets: Sequence[MeasuredSet], baseline: str) -> None:
    runs = [(measured.queries.name, run.system) for measured in sets for run in measured.runs]
    names = Counter(measured.queries.name for measured in sets)
    twice = [name for name, times in names.items() if times > 1]
    twice += [] if twice else [": ".join(run) for run, times in Counter(runs).items() if times > 1]
    if twice:
        raise InvalidArgumentError("measured more than once", subject=", ".join(twice), remedy="Give each its own name")
    empty = [measured.queries.name for measured in sets if not measured.queries.asked]
    if empty:
        raise InvalidArgumentError("there is no request", subject=", ".join(empty))
    known = dict.fromkeys(system for _, system in runs)
    if baseline not in known:
        remedy = f"Measured are: {', '.join(known) or 'none'}"
        raise InvalidArgumentError("the baseline ran on no set", subject=baseline, remedy=remedy)


def _check_run(run: Run, measured: MeasuredSet, depth: int) -> None:
    unknown = set(run.answers) - {query.id for query in measured.queries.asked}
    problem, remedy = "", "Run it again into an empty folder"
    if run.queries_sha256 != measured.queries.sha256:
        problem = "the run belongs to other requests than the set"
    elif run.snapshot_id != measured.snapshot_id:
        problem = f"the run belongs to snapshot {run.snapshot_id!r}, the set to {measured.snapshot_id!r}"
    elif unknown:
        such = f"such as {min(unknown)!r}"
        problem = f"the run has {len(unknown):,} answers to requests that the set does not have, {such}"
    elif run.k < min(depth, measured.tools):
        problem = f"the run's answers end after {run.k} tools, so they cannot be measured at a cutoff of {depth}"
        remedy = "Run it again with a larger k, or measure at smaller cutoffs"
    if problem:
        raise InvalidArgumentError(problem, subject=f"{run.system} on {measured.queries.name}", remedy=remedy)


def _classes(queries: QuerySet) -> dict[str, int]:
    """Class → number of requests, in the order of first appearance, without unclassified requests."""
    return dict(Counter(query.request_class for query in queries.queries if query.request_class))


def _facts(run: Run, measured: MeasuredSet) -> SystemFacts:
    answers = [answer for query in measured.queries.asked if (answer := run.answered(query.id)) is not None]
    stages: dict[str, list[float]] = {}
    for answer in answers:
        for stage, ms in answer.ms.items():
            stages.setdefault(stage, []).append(ms)
    shares = {stage: (rounded(np.percentile(ms, 50)), rounded(np.percentile(ms, 95))) for stage, ms in stages.items()}
    return SystemFacts(
        set_name=measured.queries.name,
        system=run.system,
        config_hash=run.config_hash,
        snapshot_id=run.snapshot_id,
        answered=len(answers),
        unanswered=len(measured.queries.asked) - len(answers),
        fallbacks=sum(bool(answer.fallbacks) for answer in answers),
        stages_ms=shares,
        failure=run.failure,
    )


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Requests, or sets of them, with the mean of every system and measure."""

    scope: str
    name: str
    set_name: str
    queries: int  # number of requests
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    too_large: tuple[float, ...]
    values_SM: NDArray[np.float64]  # means, float64 [systems, measures]
    draws_SMB: NDArray[np.float32]  # means over each draw, float32 [systems, measures, resamples]


def _groups(sets: Sequence[tuple[QuerySet, Mapping[str, Scores]]], *, resamples: int, seed: int) -> Iterator[_Group]:
    """Yield each set and its classes, then the mean over all sets, for the systems that ran on all of them. Draws are
    within a set, so the draws of the mean are stratified by set. All systems have the same measures."""
    everywhere = [name for name in sets[0][1] if all(name in scores for _, scores in sets)] if sets else []
    mean: _Group | None = None
    for queries, scores in sets:
        if not scores:
            continue
        whole = _of_requests(queries, scores, resamples=resamples, seed=seed)
        yield whole
        if everywhere:
            mean = _add_weighted(mean, whole, everywhere, weight=1 / len(sets))
        for request_class in _classes(queries):
            yield _of_requests(queries, scores, request_class, resamples=resamples, seed=seed)
    if mean is not None:
        yield mean


def _of_requests(
    queries: QuerySet, scores: Mapping[str, Scores], request_class: str = "", *, resamples: int, seed: int
) -> _Group:
    """The group of one set, or of one class of it."""
    all_measures = next(iter(scores.values())).measures
    kept = [name for name in all_measures if not request_class or metric_of(name) in BY_CLASS]
    columns = [all_measures.index(name) for name in kept]
    rows = [row for row, query in enumerate(queries.queries) if request_class in ("", query.request_class)]
    members = [queries.queries[row] for row in rows]
    values_QSM = np.stack([each.values_QM[np.ix_(rows, columns)] for each in scores.values()], axis=1)
    stratum = f"{queries.name}\n{request_class}" if request_class else queries.name
    draws_CB = resampled_means(values_QSM.reshape(len(rows), -1), resamples=resamples, seed=seed, stratum=stratum)
    return _Group(
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


def _add_weighted(mean: _Group | None, group: _Group, systems: Sequence[str], *, weight: float) -> _Group:
    """Add these systems of one set to a weighted mean; the draws are added in place."""
    chosen = [group.systems.index(name) for name in systems]
    if mean is None:
        mean = replace(
            group,
            scope="macro",
            name="",
            set_name="",
            queries=0,
            systems=tuple(systems),
            too_large=(0.0,) * len(group.measures),
            values_SM=np.zeros_like(group.values_SM[chosen]),
            draws_SMB=np.zeros_like(group.draws_SMB[chosen]),
        )
    for target_MB, at in zip(mean.draws_SMB, chosen, strict=True):
        target_MB += np.float32(weight) * group.draws_SMB[at]
    return replace(
        mean,
        queries=mean.queries + group.queries,
        too_large=tuple(old + weight * new for old, new in zip(mean.too_large, group.too_large, strict=True)),
        values_SM=mean.values_SM + weight * group.values_SM[chosen],
    )


_DIFFERENCE = ("difference", "difference_low", "difference_high", "p")  # fields of a figure about the baseline


def _figures(group: _Group, baseline: str) -> Iterator[Figure]:
    """Yield one figure for each system and measure of the group."""
    base = group.systems.index(baseline) if baseline in group.systems else None
    for at, system in enumerate(group.systems):
        low_M, high_M = interval(group.draws_SMB[at])
        differences: Sequence[Mapping[str, float]] = [{}] * len(group.measures)
        if base is not None and base != at:
            draws_MB = group.draws_SMB[at] - group.draws_SMB[base]
            columns = (group.values_SM[at] - group.values_SM[base], *interval(draws_MB), p_value(draws_MB))
            rows = zip(*columns, strict=True)
            differences = [dict(zip(_DIFFERENCE, map(rounded, row), strict=True)) for row in rows]
        for column, measure in enumerate(group.measures):
            yield Figure(
                scope=group.scope,
                group=group.name,
                set_name=group.set_name,
                system=system,
                measure=measure,
                value=rounded(group.values_SM[at, column]),
                low=rounded(low_M[column]),
                high=rounded(high_M[column]),
                queries=group.queries,
                too_large=rounded(group.too_large[column]),
                **differences[column],
            )
