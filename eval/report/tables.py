"""Tables of quality: from a summary to rows, whatever they are then written as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.report.document import NOTHING, Cell, Column, Table
from eval.report.figure_lookup import Figures, Group, chosen
from eval.report.numbers import p_value, percent, points
from eval.summary import Figure, Summary

__all__ = [
    "MEASURES",
    "PAPER_CUTOFFS",
    "difference_table",
    "measure_table",
    "per_set_table",
    "table3",
]

PAPER_CUTOFFS = (3, 5, 10)
MEASURES = ("CompleteRecall", "R", "nDCG", "AP", "RR")
_FEW = 5  # up to so many systems stand side by side, as in the paper; more stand below each other
_TOO_LARGE = "|gold| > k"


def table3(
    summary: Summary, set_name: str, *, systems: Sequence[str] = (), cutoffs: Sequence[int] = PAPER_CUTOFFS
) -> Table:
    """The paper's Table 3 for one set: classes × systems × CompleteRecall@k in percent, the best of each in bold.

    Up to five systems stand side by side, more below each other. Beside every CompleteRecall@k stands the share of
    requests with more than k gold tools, which no system can complete.
    """
    figures = Figures(summary)
    average = Group(scope="set", group=set_name, name="micro-average", sets=(set_name,), average=True)
    layout = _Layout(
        figures=figures,
        groups=[*figures.classes(set_name), average],
        systems=chosen(summary, systems),
        measures=[f"CompleteRecall@{cutoff}" for cutoff in cutoffs],
    )
    return _table(layout, f"CompleteRecall@k (%) by class of request, {set_name}.")


def per_set_table(
    summary: Summary, measure: str, systems: Sequence[str] = (), *, sets: Sequence[str] = (), intervals: bool = False
) -> Table:
    """One measure in percent, sets × systems, the mean over the sets last; the best of each in bold.

    :param sets: only these; the mean over the sets is then left out, because it is over all.
    :param intervals: show the 95 % interval of each value.
    """
    figures = Figures(summary)
    groups = [figures.group(name) for name in summary.sets if not sets or name in sets]
    if not sets and len(groups) > 1:
        groups.append(figures.group())
    layout = _Layout(
        figures=figures, groups=groups, systems=chosen(summary, systems), measures=[measure], intervals=intervals
    )
    return _table(layout, f"{measure} (%) by set.")


def measure_table(
    summary: Summary, set_name: str, measure: str, *, cutoffs: Sequence[int], systems: Sequence[str] = ()
) -> Table:
    """One family of measures (``nDCG``) at these cutoffs in percent, with 95 % intervals, systems below each other.

    :param set_name: a set, or empty for the mean over all sets.
    """
    figures = Figures(summary)
    group = figures.group(set_name)
    layout = _Layout(
        figures=figures,
        groups=[group],
        systems=chosen(summary, systems),
        measures=[f"{measure}@{cutoff}" for cutoff in cutoffs],
        intervals=True,
    )
    return _systems_down(layout, f"{measure}@k (%), {_all_of(group)}.")


def difference_table(
    summary: Summary, set_name: str, measures: Sequence[str] = (), *, systems: Sequence[str] = ()
) -> Table:
    """Differences to the baseline in points with paired 95 % interval and p; bold where the interval leaves out 0.

    :param set_name: a set, or empty for the mean over all sets.
    :param measures: CompleteRecall at 3, 5 and 10 where left out.
    """
    figures = Figures(summary)
    group = figures.group(set_name)
    measures = measures or [f"CompleteRecall@{cutoff}" for cutoff in PAPER_CUTOFFS]
    rows = []
    for name in chosen(summary, systems):
        if name != summary.baseline:
            cells = [_difference(figures.get(group, name, measure)) for measure in measures]
            rows.append((*figures.system_cells(name, group.sets), *cells))
    return Table(
        caption=f"Difference to {summary.baseline} in points, {_all_of(group)}, with paired 95 % interval and "
        f"two-sided p (bootstrap of {summary.resamples:,} resamples, seed {summary.seed}; not corrected for the number "
        f"of comparisons); bold where the interval leaves out 0. {figures.identity(group.sets, (summary.baseline,))}",
        columns=(*figures.system_columns(group.sets), *(Column(name=measure) for measure in measures)),
        rows=tuple(rows),
    )


def _all_of(group: Group) -> str:
    return f"mean over {len(group.sets)} sets" if group.scope == "macro" else f"all requests of {group.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """What is laid out: ``groups`` × ``systems`` × ``measures``."""

    figures: Figures
    groups: Sequence[Group]
    systems: Sequence[str]
    measures: Sequence[str]
    intervals: bool = False

    @property
    def sets(self) -> list[str]:
        """The sets that the figures are of."""
        return list(dict.fromkeys(name for group in self.groups for name in group.sets))

    @property
    def short(self) -> list[str]:
        """``@10`` of each measure: the caption names the measure."""
        return [f"@{measure.partition('@')[2]}" for measure in self.measures]

    @property
    def complete(self) -> bool:
        """Whether this is about CompleteRecall, which needs the share of requests that none can complete."""
        return self.measures[0].startswith("CompleteRecall@")

    def cells(self, group: Group, system: str) -> list[Cell]:
        """A system's values, one a measure."""
        return [self._cell(group, system, measure) for measure in self.measures]

    def too_large(self, group: Group) -> list[Cell]:
        """Shares of requests with more gold tools than the cutoff, one a measure."""
        shares = (self.figures.too_large(group, measure, self.systems) for measure in self.measures)
        return [NOTHING if share is None else Cell(text=percent(share)) for share in shares]

    def requests(self, group: Group) -> str:
        """How many requests the group has; empty for a mean over sets."""
        found = (self.figures.get(group, system, self.measures[0]) for system in self.systems)
        return next((str(figure.queries) for figure in found if figure is not None), "")

    def caption(self, title: str, systems: Sequence[str]) -> str:
        """The title, how to read the values, and what they are of."""
        said = " The best in bold."
        if self.complete:
            said += f" {_TOO_LARGE}: share of requests (%) with more than k gold tools, which no system can complete."
        if self.intervals:
            said += " 95 % bootstrap intervals in brackets."
        return f"{title}{said} {self.figures.identity(self.sets, systems)}"

    def _cell(self, group: Group, system: str, measure: str) -> Cell:
        figure = self.figures.get(group, system, measure)
        if figure is None:
            return NOTHING
        others = (self.figures.get(group, other, measure) for other in self.systems)
        best = max(other.value for other in others if other is not None)
        text = percent(figure.value)
        # What is shown as equal is equally good, and nothing is best where all have nothing.
        return Cell(
            text=text, best=best > 0 and text == percent(best), detail=_interval(figure) if self.intervals else ""
        )


def _table(layout: _Layout, title: str) -> Table:
    return _groups_down(layout, title) if len(layout.systems) <= _FEW else _systems_down(layout, title)


def _groups_down(layout: _Layout, title: str) -> Table:
    columns = [Column(name="", number=False), Column(name="requests")]
    columns += [Column(name=name, group=_TOO_LARGE) for name in layout.short if layout.complete]
    columns += [Column(name=name, group=system) for system in layout.systems for name in layout.short]
    rows = []
    for group in layout.groups:
        row = [Cell(text=group.name), Cell(text=layout.requests(group))]
        row += layout.too_large(group) if layout.complete else []
        row += [cell for system in layout.systems for cell in layout.cells(group, system)]
        rows.append(tuple(row))
    return Table(
        caption=layout.caption(title, layout.systems),
        columns=tuple(columns),
        rows=tuple(rows),
        averages=frozenset(place for place, group in enumerate(layout.groups) if group.average),
    )


def _systems_down(layout: _Layout, title: str) -> Table:
    columns = list(layout.figures.system_columns(layout.sets))
    for group in layout.groups:
        requests = layout.requests(group)
        heading = f"{group.name} ({requests})" if requests else group.name
        columns += [Column(name=name, group=heading if len(layout.groups) > 1 else "") for name in layout.short]
    rows = []
    if layout.complete:
        shares = [cell for group in layout.groups for cell in layout.too_large(group)]
        blank = [Cell(text="")] * (len(layout.figures.system_columns(layout.sets)) - 1)
        rows.append((Cell(text=_TOO_LARGE), *blank, *shares))
    for system in layout.systems:
        values = [cell for group in layout.groups for cell in layout.cells(group, system)]
        rows.append((*layout.figures.system_cells(system, layout.sets), *values))
    return Table(
        caption=layout.caption(title, ()),
        columns=tuple(columns),
        rows=tuple(rows),
        averages=frozenset({0} if layout.complete else ()),
    )


def _difference(figure: Figure | None) -> Cell:
    if figure is None or figure.difference is None:
        return NOTHING
    low, high = figure.difference_low or 0.0, figure.difference_high or 0.0
    p = "" if figure.p is None else f", p {p_value(figure.p)}"
    return Cell(
        text=points(figure.difference),
        best=low > 0 or high < 0,
        detail=f"[{points(low)}, {points(high)}]{p}",
    )


def _interval(figure: Figure) -> str:
    return f"[{percent(figure.low)}, {percent(figure.high)}]"
