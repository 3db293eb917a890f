"""Tables of the evaluation other than quality: sets, configurations, latency and cost; and warnings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.measured_set import MeasuredSet
from eval.queries import QuerySet
from eval.report.blocks import NOTHING, Column, Table, make_table, number_columns, text_columns
from eval.report.figure_lookup import Figures, chosen
from eval.report.numbers import bytes_of, counted, milliseconds
from eval.summary import Summary, SystemFacts

__all__ = [
    "configs_table",
    "cost_table",
    "latency_table",
    "missing_gold_table",
    "needs_notes",
    "sets_table",
    "systems_table",
    "warnings_of",
]

# Stages in the order in which a request passes them; others follow by name, the total comes last.
_STAGES = ("encode", "entry", "ego", "rank", "explain")
_TOTAL = "total"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_RESOURCES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "build_s": ("build, s", "{:,.1f}".format),
    "load_s": ("load, s", "{:,.2f}".format),
    "warm_up_s": ("first request, s", "{:,.2f}".format),
    "resident_bytes": ("memory", bytes_of),
    "tokens": ("tokens", "{:,.0f}".format),
    "usd": ("USD", "{:,.4f}".format),
}


def sets_table(summary: Summary) -> Table:
    """The sets: catalogue, requests, classes, snapshot."""
    rows = []
    unanswerable = any(facts.unanswerable for facts in summary.sets.values())
    for name, facts in summary.sets.items():
        classes = ", ".join(f"{one or 'no class'} {count}" for one, count in sorted(facts.classes.items()))
        sizes = (f"{facts.tools:,}", f"{facts.queries:,}", *([f"{facts.unanswerable:,}"] if unanswerable else []))
        rows.append((name, *sizes, classes, facts.snapshot_id, facts.queries_sha256[:12]))
    columns = (
        *text_columns("set"),
        *number_columns("tools", "requests", *(["unanswerable"] if unanswerable else [])),
        *text_columns("classes", "snapshot", "requests' SHA-256"),
    )
    return make_table(columns, rows)


def systems_table(summary: Summary, sets: Sequence[MeasuredSet]) -> Table:
    """Return the table of systems: maximum size of an answer, and the settings in which the configurations differ.

    Settings that all configurations share are in the caption. Differences between the sets of one system (the snapshot)
    are only in the hashes of :func:`configs_table`.
    """
    runs = [run for measured in sets for run in measured.runs]
    common = _common([run.config for run in runs])
    rows = []
    for system in summary.systems:
        own = [run for run in runs if run.system == system]
        config = {key: value for key, value in _common([run.config for run in own]).items() if key not in common}
        depths = ", ".join(str(k) for k in sorted({run.k for run in own}))
        rows.append((system, depths, _settings(config)))
    return make_table(
        (*text_columns("system"), *number_columns("k"), *text_columns("configuration")),
        rows,
        caption=f"Common to all configurations: {_settings(common)}.",
    )


def configs_table(summary: Summary) -> Table:
    """The config hash of every system on every set; a dash where it was not run."""
    figures = Figures(summary)
    rows = [
        (system, *(figures.config(system, name) or NOTHING.text for name in summary.sets)) for system in summary.systems
    ]
    return make_table(text_columns("system", *summary.sets), rows)


def _common(configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings that are equal in all configurations."""
    first = configs[0] if configs else {}
    return {
        key: value
        for key, value in sorted(first.items())
        if all(key in other and other[key] == value for other in configs)
    }


def _settings(config: Mapping[str, Any]) -> str:
    """Settings on one line, digests shortened."""
    values = {
        key: value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
        for key, value in config.items()
    }
    return "; ".join(f"{key} {text[:12] if _DIGEST.fullmatch(text) else text}" for key, text in values.items()) or "–"


def latency_table(summary: Summary, set_name: str, systems: Sequence[str] = ()) -> Table:
    """Milliseconds of each stage, median and 95th percentile, and how the requests were answered."""
    figures = Figures(summary)
    facts = _facts(figures, set_name, systems)
    known = {stage for fact in facts for stage in fact.stages_ms}
    stages = [stage for stage in _STAGES if stage in known]
    stages += sorted(known - {*_STAGES, _TOTAL}) + ([_TOTAL] if _TOTAL in known else [])
    columns: list[Column] = [
        *figures.system_columns([set_name]),
        *number_columns("answered", "unanswered", "fallbacks"),
    ]
    for stage in stages:
        columns += number_columns("p50", "p95", group=stage)
    rows = [
        (
            fact.system,
            fact.config_hash,
            *(f"{count:,}" for count in (fact.answered, fact.unanswered, fact.fallbacks)),
            *(text for stage in stages for text in _percentiles(fact, stage)),
        )
        for fact in facts
    ]
    caption = (
        f"Latency by stage in milliseconds, {set_name}: median and 95th percentile over the answered requests. "
        "Compare within this table only: absolute times of a shared machine are no result. "
    )
    return make_table(columns, rows, caption=caption + figures.identity([set_name], ()))


def cost_table(summary: Summary, set_name: str, systems: Sequence[str] = ()) -> Table | None:
    """The measured costs of each system (building, loading, memory, tokens, money); None where nothing was measured."""
    figures = Figures(summary)
    facts = _facts(figures, set_name, systems)
    known = {name for fact in facts for name in fact.resources}
    names = [name for name in _RESOURCES if name in known] + sorted(known - set(_RESOURCES))
    if not names:
        return None
    rows = [(fact.system, fact.config_hash, *(_resource(fact, name) for name in names)) for fact in facts]
    return make_table(
        (
            *figures.system_columns([set_name]),
            *number_columns(*(_RESOURCES[name][0] if name in _RESOURCES else name for name in names)),
        ),
        rows,
        caption=f"Cost, {set_name}; a dash where it was not measured. {figures.identity([set_name], ())}",
    )


def missing_gold_table(measured: MeasuredSet) -> Table:
    """All requests whose gold set names tools that the catalogue does not have."""
    return make_table(
        text_columns("request", "tools that are missing"),
        [(query, ", ".join(tools)) for query, tools in sorted(measured.missing_gold.items())],
        caption=f"Gold tools that the catalogue of {measured.queries.name} does not have. "
        f"Snapshot {measured.snapshot_id}.",
    )


def warnings_of(summary: Summary, sets: Sequence[MeasuredSet]) -> tuple[str, ...]:
    """Return the warnings about the figures: requests without needs, missing gold tools, failed runs, requests without an answer."""
    found = [note for measured in sets for note in needs_notes(measured.queries)]
    for measured in sets:
        name, missing = measured.queries.name, measured.missing_gold
        if missing:
            tools = {tool for missed in missing.values() for tool in missed}
            found.append(
                f"{name}: {len(missing):,} of {len(measured.queries.queries):,} requests need "
                f"{counted(len(tools), 'tool')} "
                "that the catalogue does not have; they count, and no system can complete them."
            )
        for run in measured.runs:
            if run.k > measured.tools:
                found.append(
                    f"{name}: answers of {run.system} could hold {run.k:,} tools, the catalogue has {measured.tools:,}."
                )
    for fact in summary.facts:
        where = f"{fact.system} on {fact.set_name}"
        if fact.failure:
            found.append(f"{where} stopped before its end ({fact.failure}); requests without an answer score 0.")
        elif fact.unanswered:
            found.append(f"{where} left {counted(fact.unanswered, 'request')} without an answer; each scores 0.")
    return tuple(found)


def needs_notes(queries: QuerySet) -> tuple[str, ...]:
    """Return how many requests were left out because they have no recorded needs, and how many recorded needs are of no request."""
    notes = []
    if queries.without_needs:
        left_out = counted(queries.without_needs, "request")
        notes.append(f"{queries.name}: {left_out} without recorded needs left out, of whole requests too.")
    if queries.unknown_needs:
        of_none = counted(len(queries.unknown_needs), "id")
        notes.append(
            f"{queries.name}: {of_none} with recorded needs of no request, such as {queries.unknown_needs[0]!r}."
        )
    return tuple(notes)


def _facts(figures: Figures, set_name: str, systems: Sequence[str]) -> list[SystemFacts]:
    found = (figures.facts(set_name, system) for system in chosen(figures.summary, systems))
    return [fact for fact in found if fact is not None]


def _percentiles(fact: SystemFacts, stage: str) -> tuple[str, ...]:
    found = fact.stages_ms.get(stage)
    return (NOTHING.text, NOTHING.text) if found is None else tuple(map(milliseconds, found))


def _resource(fact: SystemFacts, name: str) -> str:
    value = fact.resources.get(name)
    if value is None:
        return NOTHING.text
    return _RESOURCES[name][1](value) if name in _RESOURCES else f"{value:g}"
