"""Tables of the evaluation other than quality: sets, configurations, latency and cost; and warnings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.measured_set import MeasuredSet
from eval.queries import QuerySet
from eval.report.blocks import (
    NOTHING,
    Column,
    Table,
    bytes_of,
    counted,
    make_table,
    milliseconds,
    number_columns,
    text_columns,
)
from eval.summary import Figure, Summary, SystemFacts

__all__ = [
    "Figures",
    "Scope",
    "chosen",
    "configs_table",
    "cost_table",
    "latency_table",
    "missing_gold_table",
    "needs_notes",
    "sets_table",
    "systems_table",
    "warnings_of",
]

CONFIGS = "“Configurations by set”"  # the section with every config hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A group of requests in a table.

    :param scope: as in :class:`eval.summary.Figure`; likewise ``group``.
    :param name: its name in tables.
    :param sets: the sets of its requests.
    :param average: whether it is the average of the other scopes in the table.
    """

    scope: str
    group: str
    name: str
    sets: tuple[str, ...]
    average: bool = False


class Figures:
    """The figures and facts of a summary by scope, system and measure."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._figures = {
            (one.scope, one.set_name if one.scope == "class" else "", one.group, one.system, one.measure): one
            for one in summary.figures
        }
        self._facts = {(facts.set_name, facts.system): facts for facts in summary.facts}

    def get(self, scope: Scope, system: str, measure: str) -> Figure | None:
        """The figure, or None where it was not measured."""
        set_name = scope.sets[0] if scope.scope == "class" else ""
        return self._figures.get((scope.scope, set_name, scope.group, system, measure))

    def facts(self, set_name: str, system: str) -> SystemFacts | None:
        """The facts of a system on a set, or None where it was not run on it."""
        return self._facts.get((set_name, system))

    def requests(self, set_name: str = "") -> Scope:
        """All requests of a set; or of all sets, each set counting the same."""
        if set_name:
            return Scope(scope="set", group=set_name, name=set_name, sets=(set_name,))
        return Scope(scope="macro", group="", name="macro-average", sets=tuple(self.summary.sets), average=True)

    def strict(self, set_name: str) -> Scope:
        """All requests of a set with alternatives, where only the first tool of a slot fills it."""
        return Scope(scope="strict", group=set_name, name=f"{set_name}, strict", sets=(set_name,))

    def classes(self, set_name: str) -> list[Scope]:
        """The classes of a set; empty where its requests have no class."""
        classes = self.summary.sets[set_name].classes
        return [Scope(scope="class", group=name, name=name, sets=(set_name,)) for name in sorted(classes) if name]

    def too_large(self, scope: Scope, measure: str, systems: Sequence[str]) -> float | None:
        """Share of the requests that no system can complete at the measure's cutoff."""
        found = (self.get(scope, system, measure) for system in systems)
        return next((figure.too_large for figure in found if figure is not None), None)

    def config(self, system: str, set_name: str) -> str:
        """The config hash of a system on a set; empty where it was not run on it."""
        facts = self.facts(set_name, system)
        return facts.config_hash if facts is not None else ""

    def identity(self, sets: Sequence[str], systems: Sequence[str]) -> str:
        """Snapshots, systems and config hashes, for a caption."""
        ids = {name: self.summary.sets[name].snapshot_id for name in sets}
        if len(ids) > 1:
            named = ", ".join(f"{name} {id_}" for name, id_ in ids.items())
            return f"Snapshots: {named}. Config hashes: see {CONFIGS}."
        hashes = ", ".join(f"{system} {self.config(system, *sets) or '–'}" for system in systems)
        return f"Snapshot {''.join(ids.values())}{f'; config hash of {hashes}' if hashes else ''}."

    def system_columns(self, sets: Sequence[str]) -> tuple[Column, ...]:
        """The first columns of a table with one row a system; over several sets a system has several configs."""
        return text_columns("system", "config") if len(sets) == 1 else text_columns("system")

    def system_cells(self, system: str, sets: Sequence[str]) -> tuple[str, ...]:
        """The texts of a system in these columns."""
        return (system, self.config(system, *sets)) if len(sets) == 1 else (system,)


def chosen(summary: Summary, systems: Sequence[str]) -> tuple[str, ...]:
    """Those of these systems that the summary has; all of its systems where none is given."""
    return tuple(name for name in systems if name in summary.systems) if systems else summary.systems


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
