"""Tables of a report, made from a summary: quality, differences, abstention, sets, configurations, latency and cost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.abstention_rates import ANSWERABLE, UNANSWERABLE, AbstentionRate
from eval.measured_set import MeasuredSet
from eval.metrics import COMPLETE, cutoff_of, metric_of
from eval.report.blocks import (
    NOTHING,
    Cell,
    Column,
    Table,
    bytes_of,
    counted,
    make_table,
    milliseconds,
    number_columns,
    p_value,
    percent,
    points,
    text_columns,
)
from eval.summary import Figure, Summary, SystemFacts

__all__ = [
    "PAPER_CUTOFFS",
    "Figures",
    "Scope",
    "abstention_table",
    "chosen",
    "configs_table",
    "cost_table",
    "difference_cell",
    "difference_table",
    "latency_table",
    "measure_table",
    "missing_gold_table",
    "per_set_table",
    "sets_table",
    "systems_table",
    "table3",
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


PAPER_CUTOFFS = (3, 5, 10)
_FEW = 5  # up to so many systems are columns, as in the paper; more are rows
_TOO_LARGE = "|gold| > k"


def table3(
    summary: Summary, set_name: str, *, systems: Sequence[str] = (), cutoffs: Sequence[int] = PAPER_CUTOFFS
) -> Table:
    """The paper's Table 3 for one set: classes × systems × CompleteRecall@k in percent, the best of each in bold.

    Up to five systems are columns, more are rows. Beside CompleteRecall@k stands the share of requests with more than k
    gold tools, which no system can complete.
    """
    figures = Figures(summary)
    average = Scope(scope="set", group=set_name, name="micro-average", sets=(set_name,), average=True)
    layout = _Layout(
        figures=figures,
        scopes=[*figures.classes(set_name), average],
        systems=chosen(summary, systems),
        measures=[f"{COMPLETE}@{cutoff}" for cutoff in cutoffs],
    )
    return _table(layout, f"{COMPLETE}@k (%) by class of request, {set_name}.")


def per_set_table(
    summary: Summary, measure: str, systems: Sequence[str] = (), *, sets: Sequence[str] = (), intervals: bool = False
) -> Table:
    """One measure in percent, sets × systems, the mean over the sets last; the best of each in bold.

    :param sets: only these, without the mean, which is over all sets.
    :param intervals: show the 95 % interval of each value.
    """
    figures = Figures(summary)
    scopes = [figures.requests(name) for name in summary.sets if not sets or name in sets]
    if not sets and len(scopes) > 1:
        scopes.append(figures.requests())
    layout = _Layout(
        figures=figures, scopes=scopes, systems=chosen(summary, systems), measures=[measure], intervals=intervals
    )
    return _table(layout, f"{measure} (%) by set.")


def measure_table(
    summary: Summary,
    set_name: str,
    metric: str,
    *,
    cutoffs: Sequence[int],
    systems: Sequence[str] = (),
    strict: bool = False,
) -> Table:
    """One metric (``nDCG``) at these cutoffs in percent, with 95 % intervals, a row for each system.

    :param set_name: a set, or empty for the mean over all sets.
    :param strict: whether only the first tool of a slot fills it; of a set that has alternatives.
    """
    figures = Figures(summary)
    scope = figures.strict(set_name) if strict else figures.requests(set_name)
    layout = _Layout(
        figures=figures,
        scopes=[scope],
        systems=chosen(summary, systems),
        measures=[f"{metric}@{cutoff}" for cutoff in cutoffs],
        intervals=True,
    )
    return _systems_as_rows(layout, f"{metric}@k (%), {_described(scope)}.")


def difference_table(summary: Summary, set_name: str, *, systems: Sequence[str] = ()) -> Table:
    """Differences to the baseline in points of CompleteRecall with paired 95 % interval and p; bold where it excludes
    0.

    :param set_name: a set, or empty for the mean over all sets.
    """
    figures = Figures(summary)
    scope = figures.requests(set_name)
    measures = [f"{COMPLETE}@{cutoff}" for cutoff in PAPER_CUTOFFS]
    rows: list[tuple[str | Cell, ...]] = []
    for name in chosen(summary, systems):
        if name != summary.baseline:
            cells = (difference_cell(figures.get(scope, name, measure)) for measure in measures)
            rows.append((*figures.system_cells(name, scope.sets), *cells))
    return make_table(
        (*figures.system_columns(scope.sets), *number_columns(*measures)),
        rows,
        caption=f"Difference to {summary.baseline} in points, {_described(scope)}, with paired 95 % interval and "
        f"two-sided p (bootstrap of {summary.resamples:,} resamples, seed {summary.seed}; not corrected for the number "
        f"of comparisons); bold where the interval excludes 0. {figures.identity(scope.sets, (summary.baseline,))}",
    )


def difference_cell(figure: Figure | None, *, with_p: bool = True) -> Cell:
    """The difference of a figure to the baseline, with its interval and p."""
    if figure is None or figure.difference is None:
        return NOTHING
    low, high = figure.difference_low or 0.0, figure.difference_high or 0.0
    p = f", p {p_value(figure.p)}" if with_p and figure.p is not None else ""
    return Cell(
        text=points(figure.difference),
        best=low > 0 or high < 0,
        detail=f"[{points(low)}, {points(high)}]{p}",
    )


def _described(scope: Scope) -> str:
    return f"mean over {len(scope.sets)} sets" if scope.scope == "macro" else f"all requests of {scope.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The content of a table: ``scopes`` × ``systems`` × ``measures``."""

    figures: Figures
    scopes: Sequence[Scope]
    systems: Sequence[str]
    measures: Sequence[str]
    intervals: bool = False

    @property
    def sets(self) -> list[str]:
        """The sets that the figures are of."""
        return list(dict.fromkeys(name for scope in self.scopes for name in scope.sets))

    @property
    def cutoffs(self) -> list[str]:
        """``@10`` of each measure; the caption names the metric."""
        return [f"@{measure.partition('@')[2]}" for measure in self.measures]

    @property
    def of_complete_recall(self) -> bool:
        """Whether the share of requests that no system can complete is shown."""
        return self.measures[0].startswith(f"{COMPLETE}@")

    def cells(self, scope: Scope, system: str) -> list[Cell]:
        """The values of a system, one a measure."""
        return [self._cell(scope, system, measure) for measure in self.measures]

    def too_large(self, scope: Scope) -> list[Cell]:
        """The shares of requests with more gold tools than the cutoff, one a measure."""
        shares = (self.figures.too_large(scope, measure, self.systems) for measure in self.measures)
        return [NOTHING if share is None else Cell(text=percent(share)) for share in shares]

    def requests(self, scope: Scope) -> str:
        """The number of requests, empty where nothing was measured."""
        found = (self.figures.get(scope, system, self.measures[0]) for system in self.systems)
        return next((str(figure.queries) for figure in found if figure is not None), "")

    def caption(self, title: str, systems: Sequence[str]) -> str:
        """The title, how to read the values, and what they are of."""
        notes = [title, "The best in bold."]
        if self.of_complete_recall:
            notes.append(
                f"{_TOO_LARGE}: share of requests (%) with more than k gold tools, which no system can complete."
            )
        if self.intervals:
            notes.append("95 % bootstrap intervals in brackets.")
        return " ".join([*notes, self.figures.identity(self.sets, systems)])

    def _cell(self, scope: Scope, system: str, measure: str) -> Cell:
        figure = self.figures.get(scope, system, measure)
        if figure is None:
            return NOTHING
        others = (self.figures.get(scope, other, measure) for other in self.systems)
        best = max(other.value for other in others if other is not None)
        text = percent(figure.value)
        # Values that are shown as equal are equally good; where all are 0, none is the best.
        return Cell(
            text=text,
            best=best > 0 and text == percent(best),
            detail=f"[{percent(figure.low)}, {percent(figure.high)}]" if self.intervals else "",
        )


def _table(layout: _Layout, title: str) -> Table:
    return _scopes_as_rows(layout, title) if len(layout.systems) <= _FEW else _systems_as_rows(layout, title)


def _scopes_as_rows(layout: _Layout, title: str) -> Table:
    columns: list[Column] = [*text_columns(""), *number_columns("requests")]
    if layout.of_complete_recall:
        columns += number_columns(*layout.cutoffs, group=_TOO_LARGE)
    for system in layout.systems:
        columns += number_columns(*layout.cutoffs, group=system)
    rows = [
        (
            scope.name,
            layout.requests(scope),
            *(layout.too_large(scope) if layout.of_complete_recall else ()),
            *(cell for system in layout.systems for cell in layout.cells(scope, system)),
        )
        for scope in layout.scopes
    ]
    averages = [place for place, scope in enumerate(layout.scopes) if scope.average]
    return make_table(columns, rows, caption=layout.caption(title, layout.systems), averages=averages)


def _systems_as_rows(layout: _Layout, title: str) -> Table:
    names = layout.figures.system_columns(layout.sets)
    columns = list(names)
    for scope in layout.scopes:
        requests = layout.requests(scope)
        heading = f"{scope.name} ({requests})" if requests else scope.name
        columns += number_columns(*layout.cutoffs, group=heading if len(layout.scopes) > 1 else "")
    rows: list[tuple[str | Cell, ...]] = []
    if layout.of_complete_recall:
        shares = [cell for scope in layout.scopes for cell in layout.too_large(scope)]
        rows.append((_TOO_LARGE, *[""] * (len(names) - 1), *shares))
    for system in layout.systems:
        values = [cell for scope in layout.scopes for cell in layout.cells(scope, system)]
        rows.append((*layout.figures.system_cells(system, layout.sets), *values))
    return make_table(
        columns, rows, caption=layout.caption(title, ()), averages=[0] if layout.of_complete_recall else ()
    )


def abstention_table(summary: Summary, set_name: str) -> Table:
    """The rates of one set in percent with 95 % intervals, a row for each system; CompleteRecall of the answerable requests beside them."""
    figures = Figures(summary)
    rates = [rate for rate in summary.abstention if rate.set_name == set_name]
    groups = {(rate.scope, rate.kind): f"{_heading(rate)} ({rate.requests:,})" for rate in rates}
    found = {(rate.system, rate.scope, rate.kind): _cell(rate) for rate in rates}
    complete = _complete(summary, set_name)
    rows: list[tuple[str | Cell, ...]] = []
    for system in summary.systems:
        cells = [found.get((system, *group), NOTHING) for group in groups]
        answered = [figures.get(figures.requests(set_name), system, measure) for measure in complete]
        rows.append(
            (
                *figures.system_cells(system, [set_name]),
                *cells,
                *(NOTHING if figure is None else Cell(text=percent(figure.value)) for figure in answered),
            )
        )
    facts = summary.sets[set_name]
    return make_table(
        (*figures.system_columns([set_name]), *number_columns(*groups.values(), *complete)),
        rows,
        caption=f"Abstention (%), {set_name}: the share of requests for which a system says that no tool serves them, or returns none. "
        f"Of {counted(facts.unanswerable, 'unanswerable request')} this is right, of answerable ones false; the number of requests in "
        "brackets. A request without an answer counts as no abstention. CompleteRecall is over the answerable requests and counts the "
        f"tools that were ranked, also where the system abstains. 95 % bootstrap intervals. {figures.identity([set_name], ())}",
    )


def _complete(summary: Summary, set_name: str) -> tuple[str, ...]:
    """CompleteRecall at the largest cutoff of the paper that was measured; empty without answerable requests."""
    measures = {
        figure.measure
        for figure in summary.figures
        if (figure.scope, figure.group) == ("set", set_name) and metric_of(figure.measure) == COMPLETE
    }
    cutoffs = [cutoff_of(measure) for measure in measures if cutoff_of(measure) <= max(PAPER_CUTOFFS)]
    return (f"{COMPLETE}@{max(cutoffs)}",) if cutoffs else ()


def _heading(rate: AbstentionRate) -> str:
    return {UNANSWERABLE: "unanswerable", ANSWERABLE: "answerable: false"}.get(rate.scope, rate.kind)


def _cell(rate: AbstentionRate) -> Cell:
    return Cell(text=percent(rate.share), detail=f"[{percent(rate.low)}, {percent(rate.high)}]")


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
