"""Tables of quality, made from a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.metrics import COMPLETE
from eval.report.blocks import NOTHING, Cell, Column, Table, make_table, number_columns, text_columns
from eval.report.figure_lookup import Figures, Scope, chosen
from eval.report.numbers import p_value, percent, points
from eval.summary import Figure, Summary

__all__ = ["PAPER_CUTOFFS", "difference_cell", "difference_table", "measure_table", "per_set_table", "table3"]

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
