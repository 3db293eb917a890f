"""Tables of a report, made from a summary: a row for each system."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eval.measured_set import MeasuredSet
from eval.metrics import ANSWERABLE, COMPLETE, COMPLETE_MEASURES, UNANSWERABLE, cutoff_of, metric_of
from eval.report.markdown import NOTHING, Markdown, bold, difference, milliseconds, percent, table
from eval.summary import Scope, Summary, SystemFacts, of_set

# Stages in the order in which a request passes them; others follow by name, the total comes last.
_STAGES = ("encode", "entry", "ego", "rank", "explain")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def figures_table(
    summary: Summary, scopes: Mapping[str, Scope], measures: Sequence[str], *, intervals: bool = False
) -> Markdown:
    """One metric at some cutoffs in percent, the best of each column in bold. Of CompleteRecall the first row has the
    share of requests with more than k gold tools, which no system can complete. ``scopes``: heading → the requests: a
    column each, or with intervals one for each cutoff."""
    cutoffs = [f"@{cutoff_of(measure)}" for measure in measures]
    found = {
        (scope, measure): {system: summary.figure(scope, system, measure) for system in summary.systems}
        for scope in scopes.values()
        for measure in measures
    }

    def joined(cells: Sequence[str]) -> list[str]:
        return list(cells) if intervals else [" / ".join(cells)]

    heads = ["system"]
    too_large: list[object] = ["|gold| > k"]
    for heading, scope in scopes.items():
        known = [next((one for one in found[scope, each].values() if one), None) for each in measures]
        first = f"{heading} ({known[0].queries:,}) " if known[0] else f"{heading} "
        heads += joined([first + cutoffs[0], *cutoffs[1:]])
        too_large += map(Markdown, joined([percent(one.too_large if one else None) for one in known]))

    def cell(scope: Scope, system: str, measure: str) -> str:
        figure = found[scope, measure][system]
        if figure is None:
            return NOTHING
        # Values that are shown as equal are equally good; where all are 0, none is the best.
        best = max(one.value for one in found[scope, measure].values() if one)
        text = bold(percent(figure.value), best > 0 and percent(best) == percent(figure.value))
        return f"{text} [{percent(figure.low)}, {percent(figure.high)}]" if intervals else text

    rows: list[list[object]] = [too_large] if metric_of(measures[0]) == COMPLETE else []
    for system in summary.systems:
        cells = [joined([cell(scope, system, measure) for measure in measures]) for scope in scopes.values()]
        rows.append([system, *(Markdown(text) for each in cells for text in each)])
    return table(heads, rows)


def difference_table(summary: Summary, scope: Scope) -> Markdown:
    """Differences to the baseline in points of CompleteRecall."""
    rows: list[list[object]] = []
    for system in summary.systems:
        if system == summary.baseline:
            continue
        cells = []
        for measure in COMPLETE_MEASURES:
            figure = summary.figure(scope, system, measure)
            if figure is None or figure.difference is None:
                cells.append(NOTHING)
            else:
                ends = figure.difference_low or 0.0, figure.difference_high or 0.0
                cells.append(difference(figure.difference, *ends, figure.p or 0.0))
        rows.append([system, *cells])
    return table(["system", *COMPLETE_MEASURES], rows)


def abstention_table(summary: Summary, set_name: str) -> Markdown:
    """The rates of one set in percent, and CompleteRecall of its answerable requests beside them."""
    names = {UNANSWERABLE: "unanswerable", ANSWERABLE: "answerable: false"}
    rates = [rate for rate in summary.abstention if rate.set_name == set_name]
    groups = {(rate.scope, rate.kind): f"{names.get(rate.scope, rate.kind)} ({rate.requests:,})" for rate in rates}
    found = {(rate.system, rate.scope, rate.kind): rate for rate in rates}
    measured = {figure.measure for figure in summary.figures if figure.set_name == set_name}
    complete = [measure for measure in COMPLETE_MEASURES if measure in measured][-1:]
    rows: list[list[object]] = []
    for system in summary.systems:
        known = [found.get((system, *group)) for group in groups]
        cells = [
            Markdown(f"{percent(rate.value)} [{percent(rate.low)}, {percent(rate.high)}]") if rate else NOTHING
            for rate in known
        ]
        answered = [summary.figure(of_set(set_name), system, measure) for measure in complete]
        rows.append([system, *cells, *(percent(one.value if one else None) for one in answered)])
    return table(["system", *groups.values(), *complete], rows)


def systems_table(summary: Summary, sets: Sequence[MeasuredSet]) -> tuple[Markdown, str]:
    """The settings in which the configurations of the systems differ, with the maximum size of an answer; and those
    that all share. Differences between the sets of one system (the snapshot) are only in the hashes of the
    configurations."""
    runs = [run for measured in sets for run in measured.runs]
    common = _common([run.config for run in runs])
    rows = []
    for system in summary.systems:
        own = [run for run in runs if run.system == system]
        config = {key: value for key, value in _common([run.config for run in own]).items() if key not in common}
        rows.append((system, _settings(config), ", ".join(map(str, sorted({run.k for run in own})))))
    return table(("system", "configuration", "k"), rows, texts=2), _settings(common)


def _common(configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings that are equal in all configurations."""
    first = configs[0] if configs else {}
    shared = (key for key in sorted(first) if all(key in other and other[key] == first[key] for other in configs))
    return {key: first[key] for key in shared}


def _settings(config: Mapping[str, Any]) -> str:
    """Settings on one line, digests shortened."""
    told = []
    for key, value in config.items():
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
        told.append(f"{key} {text[:12] if _DIGEST.fullmatch(text) else text}")
    return "; ".join(told) or NOTHING


def latency_table(facts: Sequence[SystemFacts]) -> Markdown:
    """Milliseconds of each stage, median and 95th percentile, and how the requests were answered."""
    known = {stage for fact in facts for stage in fact.stages_ms}
    order = {stage: place for place, stage in enumerate((*_STAGES, *sorted(known - {*_STAGES, "total"}), "total"))}
    stages = sorted(known, key=order.__getitem__)
    heads = ["system", "answered", "unanswered", "fallbacks", *(f"{stage} p50 / p95" for stage in stages)]
    rows: list[list[object]] = []
    for fact in facts:
        counts = (f"{count:,}" for count in (fact.answered, fact.unanswered, fact.fallbacks))
        spent = (" / ".join(map(milliseconds, fact.stages_ms.get(stage, ()))) or NOTHING for stage in stages)
        rows.append([fact.system, *counts, *spent])
    return table(heads, rows)
