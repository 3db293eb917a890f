"""The table of abstention: right on unanswerable requests, false on answerable ones."""

from __future__ import annotations

from eval.abstention_rates import ANSWERABLE, UNANSWERABLE, AbstentionRate
from eval.metrics import COMPLETE, cutoff_of, metric_of
from eval.report.blocks import NOTHING, Cell, Table, make_table, number_columns
from eval.report.figure_lookup import Figures
from eval.report.numbers import counted, percent
from eval.report.tables import PAPER_CUTOFFS
from eval.summary import Summary

__all__ = ["abstention_table"]


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
