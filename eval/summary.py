"""The figures: every measure of every system on every group of requests, with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from eval.abstention_rates import AbstentionRate, abstention_rates
from eval.answers import Run
from eval.measured_set import MeasuredSet
from eval.metrics import (
    CUTOFFS,
    METRICS,
    Scores,
    check,
    cutoff_of,
    interval,
    is_answered,
    metric_of,
    p_value,
    resampled_means,
    score,
    share_too_large,
)
from eval.queries import QuerySet, strict_queries
from ontology.errors import DocumentError, InvalidArgumentError

__all__ = ["Figure", "Summary", "SystemFacts", "summarise", "summary_from_json", "summary_to_json"]

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


_FORMAT = "egotools.summary.v2"
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a report, with its interval and its group of requests.

    :param scope: ``class`` (one class of one set), ``set`` (micro-average of one set), ``macro`` (mean over the sets),
        ``micro`` (all requests of all sets) or ``strict`` (micro-average of one set that has alternatives, where only
        the first tool of a slot fills it). All other scopes are lenient: any tool of a slot fills it.
    :param group: the class, the set, or empty.
    :param measure: ``CompleteRecall@10``, ``R@5``, ``nDCG@10``, ``AP@30``, ``RR@30``: a name that ``ir_measures``
        parses.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """The cost of a system on one set, and the numbers of its answers.

    :param unanswered: requests without an answer; each scores 0.
    :param fallbacks: number of answers in which the system left something out.
    :param stages_ms: map from stage to (p50, p95) in milliseconds over the answered requests, ``total`` included.
    :param resources: as in :class:`eval.answers.Run`; likewise ``failure``.
    """

    set_name: str
    system: str
    config_hash: str
    snapshot_id: str
    answered: int
    unanswered: int
    fallbacks: int
    stages_ms: Mapping[str, tuple[float, float]]
    resources: Mapping[str, float] = field(default_factory=dict)
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


_COLUMNS = tuple(column.name for column in fields(Figure))
_SUMMARY = TypeAdapter(Summary)


def summarise(
    sets: Sequence[MeasuredSet],
    *,
    baseline: str,
    cutoffs: Sequence[int] = CUTOFFS,
    resamples: int = 10_000,
    seed: int = 0,
) -> Summary:
    """Compute every figure of the evaluation, rounded to six digits.

    A set with alternatives also has strict figures, one with unanswerable requests also rates of abstention. Figures are over the
    answerable requests; a set without any has none. Sets and both averages over them have all measures; classes have the metrics with ``by_class``. Requests without a
    class are in no class figure. All draws are within a set (or class), so the intervals of the averages show the
    variation of requests within these sets. A system that did not run on every set has no average, because an average over
    fewer sets is not comparable. Where the baseline did not run, there are no differences.

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
    strict = (_strict(each, cutoffs, resamples, seed) for each in sets if each.runs and each.queries.has_alternatives)
    answerable = [each for each in sets if each.queries.queries]
    scored = [
        (each.queries, {run.system: score(run, each.queries, cutoffs) for run in each.runs}) for each in answerable
    ]
    return Summary(
        systems=tuple(dict.fromkeys(run.system for measured in sets for run in measured.runs)),
        sets={measured.queries.name: _set_facts(measured) for measured in sets},
        figures=tuple(
            figure
            for group in chain(groups(scored, resamples=resamples, seed=seed), strict)
            for figure in _figures(group, baseline)
        ),
        facts=tuple(_facts(run, measured) for measured in sets for run in measured.runs),
        baseline=baseline,
        resamples=resamples,
        seed=seed,
        abstention=tuple(
            rate for measured in sets for rate in abstention_rates(measured, resamples=resamples, seed=seed)
        ),
    )


def _strict(measured: MeasuredSet, cutoffs: Sequence[int], resamples: int, seed: int) -> Group:
    queries = strict_queries(measured.queries)
    scores = {run.system: score(run, queries, cutoffs) for run in measured.runs}
    return strict_group(queries, scores, resamples=resamples, seed=seed)


def _check_sets(sets: Sequence[MeasuredSet], baseline: str) -> None:
    names = Counter(measured.queries.name for measured in sets)
    twice = [name for name, times in names.items() if times > 1]
    twice += [
        f"{measured.queries.name}: {system}"
        for measured in sets
        for system, times in Counter(run.system for run in measured.runs).items()
        if times > 1
    ]
    if twice:
        raise InvalidArgumentError("measured more than once", subject=", ".join(twice), remedy="Give each its own name")
    empty = [measured.queries.name for measured in sets if not measured.queries.asked]
    if empty:
        raise InvalidArgumentError("there is no request", subject=", ".join(empty))
    known = dict.fromkeys(run.system for measured in sets for run in measured.runs)
    if baseline not in known:
        raise InvalidArgumentError(
            "the baseline ran on no set", subject=baseline, remedy=f"Measured are: {', '.join(known) or 'none'}"
        )


def _check_run(run: Run, measured: MeasuredSet, depth: int) -> None:
    subject = f"{run.system} on {measured.queries.name}"
    again = "Run it again into an empty folder"
    if run.queries_sha256 != measured.queries.sha256:
        raise InvalidArgumentError("the run belongs to other requests than the set", subject=subject, remedy=again)
    if run.snapshot_id != measured.snapshot_id:
        raise InvalidArgumentError(
            f"the run belongs to snapshot {run.snapshot_id!r}, the set to {measured.snapshot_id!r}",
            subject=subject,
            remedy=again,
        )
    unknown = set(run.answers) - {query.id for query in measured.queries.asked}
    if unknown:
        raise InvalidArgumentError(
            f"the run has {len(unknown):,} answers to requests that the set does not have, such as {min(unknown)!r}",
            subject=subject,
            remedy=again,
        )
    if run.k < min(depth, measured.tools):
        raise InvalidArgumentError(
            f"the run's answers end after {run.k} tools, so they cannot be measured at a cutoff of {depth}",
            subject=subject,
            remedy="Run it again with a larger k, or measure at smaller cutoffs",
        )


def _set_facts(measured: MeasuredSet) -> SetFacts:
    return SetFacts(
        tools=measured.tools,
        queries=len(measured.queries.queries),
        snapshot_id=measured.snapshot_id,
        queries_sha256=measured.queries.sha256,
        classes=classes(measured.queries),
        missing_gold=len(measured.missing_gold),
        unanswerable=len(measured.queries.unanswerable),
    )


def _facts(run: Run, measured: MeasuredSet) -> SystemFacts:
    ids = [query.id for query in measured.queries.asked if is_answered(run, query.id)]
    stages: dict[str, list[float]] = {}
    for query_id in ids:
        for stage, ms in run.answers[query_id].ms.items():
            stages.setdefault(stage, []).append(ms)
    return SystemFacts(
        set_name=measured.queries.name,
        system=run.system,
        config_hash=run.config_hash,
        snapshot_id=run.snapshot_id,
        answered=len(ids),
        unanswered=len(measured.queries.asked) - len(ids),
        fallbacks=sum(bool(run.answers[query_id].fallbacks) for query_id in ids),
        stages_ms={stage: (_percentile(ms, 50), _percentile(ms, 95)) for stage, ms in stages.items()},
        resources=dict(run.resources),
        failure=run.failure,
    )


def _percentile(values: Sequence[float], share: int) -> float:
    return _rounded(np.percentile(values, share))


def _figures(group: Group, baseline: str) -> Iterator[Figure]:
    """Yield one figure for each system and measure of the group."""
    base = group.systems.index(baseline) if baseline in group.systems else None
    for at, system in enumerate(group.systems):
        low_M, high_M = interval(group.draws_SMB[at])
        differences: Sequence[Mapping[str, float]] = [{}] * len(group.measures)
        if base is not None and base != at:
            differences = _differences(group, at, base)
        for column, measure in enumerate(group.measures):
            yield Figure(
                scope=group.scope,
                group=group.name,
                set_name=group.set_name,
                system=system,
                measure=measure,
                value=_rounded(group.values_SM[at, column]),
                low=_rounded(low_M[column]),
                high=_rounded(high_M[column]),
                queries=group.queries,
                too_large=_rounded(group.too_large[column]),
                **differences[column],
            )


def _differences(group: Group, at: int, base: int) -> list[dict[str, float]]:
    """Return for each measure the fields of a figure about the difference to the baseline."""
    draws_MB = group.draws_SMB[at] - group.draws_SMB[base]
    columns = (group.values_SM[at] - group.values_SM[base], *interval(draws_MB), p_value(draws_MB))
    names = ("difference", "difference_low", "difference_high", "p")
    return [dict(zip(names, map(_rounded, row), strict=True)) for row in zip(*columns, strict=True)]


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0  # no -0.0


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as JSON values; the figures are rows with one common list of columns."""
    value = _SUMMARY.dump_python(summary, mode="json")
    figures = [[figure[column] for column in _COLUMNS] for figure in value.pop("figures")]
    return {"format": _FORMAT, **value, "figure_columns": list(_COLUMNS), "figures": figures}


def summary_from_json(value: Any) -> Summary:
    """Read a summary from the JSON values of :func:`summary_to_json`.

    :raises DocumentError: when the value is not a summary.
    """
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise DocumentError(
            f"this is not a summary of the format {_FORMAT}",
            subject="summary",
            remedy="Write the report again with this version of egotools",
        )
    try:
        figures = [dict(zip(value["figure_columns"], row, strict=True)) for row in value["figures"]]
        return _SUMMARY.validate_python({**value, "figures": figures})
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(
            f"the summary is damaged ({error!r})", subject="summary", remedy="Write the report again"
        ) from error
