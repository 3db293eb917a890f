"""Tables of everything beside quality: what was measured, on what, at what cost, and what went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.report.document import NOTHING, Cell, Column, Table
from eval.report.figure_lookup import Figures, chosen
from eval.report.numbers import bytes_of, counted, milliseconds
from eval.summary import MeasuredSet, Summary, SystemFacts

__all__ = [
    "configs_table",
    "cost_table",
    "latency_table",
    "missing_gold_table",
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
    """The sets: snapshot, size of catalogue and of requests, classes."""
    columns = (
        Column(name="set", number=False),
        Column(name="tools"),
        Column(name="requests"),
        Column(name="classes", number=False),
        Column(name="snapshot", number=False),
        Column(name="requests' SHA-256", number=False),
    )
    rows = []
    for name, said in summary.sets.items():
        classes = ", ".join(f"{one or 'no class'} {count}" for one, count in sorted(said["classes"].items()))
        texts = (name, f"{said['tools']:,}", f"{said['queries']:,}", classes)
        rows.append((*texts, str(said["snapshot_id"]), str(said["queries_sha256"])[:12]))
    return Table(caption="", columns=columns, rows=_cells(rows))


def systems_table(summary: Summary, sets: Sequence[MeasuredSet]) -> Table:
    """The systems: how many tools an answer could hold, and what sets each configuration apart from the others.

    What all configurations have in common is in the caption; what differs between the sets of one system (its snapshot)
    is left to the hashes of :func:`configs_table`.
    """
    runs = [run for measured in sets for run in measured.runs]
    common = _common([run.config for run in runs])
    rows = []
    for system in summary.systems:
        own = [run for run in runs if run.system == system]
        config = {key: value for key, value in _common([run.config for run in own]).items() if key not in common}
        depths = ", ".join(str(k) for k in sorted({run.k for run in own}))
        rows.append((system, depths, _settings(config)))
    return Table(
        caption=f"Common to all configurations: {_settings(common)}.",
        columns=(
            Column(name="system", number=False),
            Column(name="k"),
            Column(name="configuration", number=False),
        ),
        rows=_cells(rows),
    )


def configs_table(summary: Summary) -> Table:
    """The config hash of every system on every set; a dash where it was not run."""
    figures = Figures(summary)
    rows = [
        (system, *(figures.config(system, name) or NOTHING.text for name in summary.sets)) for system in summary.systems
    ]
    columns = (Column(name="system", number=False), *(Column(name=name, number=False) for name in summary.sets))
    return Table(caption="", columns=columns, rows=_cells(rows))


def _common(configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all of the configurations say alike."""
    first = configs[0] if configs else {}
    return {
        key: value
        for key, value in sorted(first.items())
        if all(key in other and other[key] == value for other in configs)
    }


def _settings(config: Mapping[str, Any]) -> str:
    """Settings on one line, digests shortened."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
        for key, value in config.items()
    }
    return "; ".join(f"{key} {text[:12] if _DIGEST.fullmatch(text) else text}" for key, text in texts.items()) or "–"


def latency_table(summary: Summary, set_name: str, systems: Sequence[str] = ()) -> Table:
    """Milliseconds of each stage, median and 95th percentile, and how many requests were answered how."""
    figures = Figures(summary)
    facts = _facts(figures, set_name, systems)
    known = {stage for fact in facts for stage in fact.stages_ms}
    stages = [stage for stage in _STAGES if stage in known]
    stages += sorted(known - {*_STAGES, _TOTAL}) + ([_TOTAL] if _TOTAL in known else [])
    columns = [
        *figures.system_columns([set_name]),
        Column(name="answered"),
        Column(name="unanswered"),
        Column(name="fallbacks"),
    ]
    columns += [Column(name=name, group=stage) for stage in stages for name in ("p50", "p95")]
    rows = []
    for fact in facts:
        texts = (
            fact.system,
            fact.config_hash,
            *(f"{count:,}" for count in (fact.answered, fact.unanswered, fact.fallbacks)),
        )
        times = [_pair(fact, stage) for stage in stages]
        rows.append((*(Cell(text=text) for text in texts), *(cell for pair in times for cell in pair)))
    caption = (
        f"Latency by stage in milliseconds, {set_name}: median and 95th percentile over the answered requests. "
        "Compare within this table only: a shared machine's absolute times are no result. "
    )
    return Table(caption=caption + figures.identity([set_name], ()), columns=tuple(columns), rows=tuple(rows))


def cost_table(summary: Summary, set_name: str, systems: Sequence[str] = ()) -> Table | None:
    """What was measured of each system's cost (building, loading, memory, tokens, money); None where nothing was."""
    figures = Figures(summary)
    facts = _facts(figures, set_name, systems)
    known = {name for fact in facts for name in fact.resources}
    names = [name for name in _RESOURCES if name in known] + sorted(known - set(_RESOURCES))
    if not names:
        return None
    rows = [
        (Cell(text=fact.system), Cell(text=fact.config_hash), *(_resource(fact, name) for name in names))
        for fact in facts
    ]
    columns = [
        *figures.system_columns([set_name]),
        *(Column(name=_RESOURCES[name][0] if name in _RESOURCES else name) for name in names),
    ]
    return Table(
        caption=f"Cost, {set_name}; a dash where it was not measured. {figures.identity([set_name], ())}",
        columns=tuple(columns),
        rows=tuple(rows),
    )


def missing_gold_table(measured: MeasuredSet) -> Table:
    """Requests whose gold set names tools that the catalogue does not have, every one."""
    rows = [(query, ", ".join(tools)) for query, tools in sorted(measured.missing_gold.items())]
    return Table(
        caption=f"Gold tools that the catalogue of {measured.queries.name} does not have. "
        f"Snapshot {measured.snapshot_id}.",
        columns=(Column(name="request", number=False), Column(name="tools that are missing", number=False)),
        rows=_cells(rows),
    )


def warnings_of(summary: Summary, sets: Sequence[MeasuredSet]) -> tuple[str, ...]:
    """What must be known before any figure is read: gold that is missing, runs that died, requests without an answer."""
    found = []
    for measured in sets:
        name, missing = measured.queries.name, measured.missing_gold
        if missing:
            tools = {tool for lacking in missing.values() for tool in lacking}
            found.append(
                f"{name}: {len(missing):,} of {len(measured.queries.queries):,} requests need {counted(len(tools), 'tool')} "
                "that the catalogue does not have; they count, and no system can complete them."
            )
        for run in measured.runs:
            if run.k > measured.tools:
                found.append(
                    f"{name}: answers of {run.system} could hold {run.k:,} tools, the catalogue has {measured.tools:,}."
                )
    for fact in summary.facts:
        where = f"{fact.system} on {fact.set_name}"
        if fact.died:
            found.append(f"{where} stopped before its end ({fact.died}); what it did not answer scores 0.")
        elif fact.unanswered:
            found.append(f"{where} left {counted(fact.unanswered, 'request')} without an answer; each scores 0.")
    return tuple(found)


def _facts(figures: Figures, set_name: str, systems: Sequence[str]) -> list[SystemFacts]:
    found = (figures.facts(set_name, system) for system in chosen(figures.summary, systems))
    return [fact for fact in found if fact is not None]


def _pair(fact: SystemFacts, stage: str) -> tuple[Cell, Cell]:
    found = fact.stages_ms.get(stage)
    if found is None:
        return NOTHING, NOTHING
    return Cell(text=milliseconds(found[0])), Cell(text=milliseconds(found[1]))


def _resource(fact: SystemFacts, name: str) -> Cell:
    value = fact.resources.get(name)
    if value is None:
        return NOTHING
    return Cell(text=_RESOURCES[name][1](value) if name in _RESOURCES else f"{value:g}")


def _cells(rows: Sequence[Sequence[str]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(Cell(text=text) for text in row) for row in rows)
