"""The report of an evaluation as a document: what was measured, the figures, latency and cost, the configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.measured_set import MeasuredSet
from eval.metrics import COMPLETE, METRICS, cutoff_of
from eval.report.abstention_table import abstention_table
from eval.report.blocks import Block, Document, Paragraph, Picture, Section
from eval.report.facts import (
    configs_table,
    cost_table,
    latency_table,
    missing_gold_table,
    sets_table,
    systems_table,
    warnings_of,
)
from eval.report.figure_lookup import Figures, chosen
from eval.report.graph_page import graph_section
from eval.report.plots import averages_picture, by_group_picture, missing_plots
from eval.report.tables import PAPER_CUTOFFS, difference_table, measure_table, per_set_table, table3
from eval.summary import Summary
from eval.system import ASKED, WHOLE, asked_name

__all__ = ["report_document"]

# The systems of the paper's own table, and default; where more were measured, these have a short table of their own.
_PAPER_SYSTEMS = ("bm25-regex-title", "semantic", "hybrid", "paper", "default")


def report_document(summary: Summary, sets: Sequence[MeasuredSet], *, title: str = "") -> Document:
    """The whole report; with several sets, their means come first, then each set.

    :param sets: the measured sets of the summary.
    """
    several = sum(facts.queries > 0 for facts in summary.sets.values()) > 1
    sections = [_measured(summary, sets)]
    if several:
        sections.append(_over_sets(summary))
    for measured in sets:
        name = measured.queries.name
        sections.append(Section(title=name, sections=tuple(_one_set(summary, measured))))
    sections.append(_configured(summary, sets))
    return Document(
        title=title or f"Evaluation: {', '.join(summary.sets)}",
        warnings=(*warnings_of(summary, sets), *missing_plots()),
        sections=tuple(sections),
    )


def _measured(summary: Summary, sets: Sequence[MeasuredSet]) -> Section:
    cutoffs = ", ".join(map(str, _cutoffs(summary)))
    described = Paragraph(
        text=f"{len(summary.systems)} systems, {sum(len(one.queries.asked) for one in sets):,} requests"
        f"{f', cutoffs {cutoffs}' if cutoffs else ''}. A request without an answer scores 0 and counts. Intervals are 95 % bootstrap intervals over "
        f"requests ({summary.resamples:,} resamples, seed {summary.seed}); differences are to "
        f"{summary.baseline}, paired.{_ways(summary)}"
    )
    return Section(title="What was measured", blocks=(described, sets_table(summary)))


def _ways(summary: Summary) -> str:
    """What the systems were sent of a request, where some were sent its needs."""
    by_needs = (way for way in ASKED if way != WHOLE)
    ways = [way for way in by_needs if any(system.endswith(asked_name("", way)) for system in summary.systems)]
    if not ways:
        return ""
    told = [f"NAME was sent {ASKED[WHOLE]}", *(f"{asked_name('NAME', way)} {ASKED[way]}" for way in ways)]
    return f" Of each request {', '.join(told)}."


def _configured(summary: Summary, sets: Sequence[MeasuredSet]) -> Section:
    """Return the section of the configurations, the last one of the report."""
    return Section(
        title="The systems",
        sections=(
            Section(title="Configurations", blocks=(systems_table(summary, sets),)),
            Section(title="Configurations by set", blocks=(configs_table(summary),)),
        ),
    )


def _over_sets(summary: Summary) -> Section:
    """Means over the sets, each set counting the same, and every set beside the others."""
    by_set = [per_set_table(summary, f"{COMPLETE}@{cutoff}") for cutoff in PAPER_CUTOFFS]
    return Section(
        title="All sets",
        sections=(
            Section(
                title="Mean over the sets",
                blocks=(
                    *([] if missing_plots() else [averages_picture(summary, name="figure3.png")]),
                    measure_table(summary, "", COMPLETE, cutoffs=_cutoffs(summary)),
                ),
            ),
            Section(title=f"Differences to {summary.baseline}", blocks=(difference_table(summary, ""),)),
            Section(
                title="Set by set",
                blocks=(*by_set, *([] if missing_plots() else [by_group_picture(summary, name="figure5.png")])),
            ),
            Section(title="Other measures", blocks=tuple(_metrics(summary, "", but=COMPLETE))),
        ),
    )


def _one_set(summary: Summary, measured: MeasuredSet) -> Iterator[Section]:
    name = measured.queries.name
    if measured.queries.queries:
        yield Section(title=f"CompleteRecall by class (Table 3), {name}", blocks=tuple(_by_class(summary, name)))
    if measured.queries.unanswerable:
        yield Section(title=f"Abstention, {name}", blocks=(abstention_table(summary, name),))
    if measured.queries.queries:
        yield Section(title=f"Differences to {summary.baseline}, {name}", blocks=(difference_table(summary, name),))
        yield Section(title=f"All measures, {name}", blocks=tuple(_metrics(summary, name)))
    if measured.queries.has_alternatives:
        yield Section(title=f"Strict, {name}", blocks=tuple(_strict(summary, measured)))
    cost = cost_table(summary, name)
    yield Section(
        title=f"Latency and cost, {name}", blocks=(latency_table(summary, name), *([cost] if cost is not None else []))
    )
    if measured.missing_gold:
        yield Section(title=f"Gold missing from the catalogue, {name}", blocks=(missing_gold_table(measured),))
    if measured.graph is not None:
        yield graph_section(measured.graph, title=f"The tool graph, {name}")


def _strict(summary: Summary, measured: MeasuredSet) -> Iterator[Block]:
    """The figures where only the tool named first fills a slot, beside the lenient ones of all other tables."""
    several = sum(any(len(slot) > 1 for slot in query.slots) for query in measured.queries.queries)
    yield Paragraph(
        text=f"Of {several:,} requests a needed tool has alternatives, which would do equally. In all other tables any of "
        "them fills its place (lenient). Here only the tool that is named first does (strict)."
    )
    for metric in METRICS:
        if metric.by_class:
            yield measure_table(summary, measured.queries.name, metric.name, cutoffs=_cutoffs(summary), strict=True)


def _by_class(summary: Summary, set_name: str) -> Iterator[Block]:
    paper = chosen(summary, _PAPER_SYSTEMS)
    if 1 < len(paper) < len(summary.systems):
        yield table3(summary, set_name, systems=paper)
    yield table3(summary, set_name)
    yield from _pictures(summary, set_name)


def _pictures(summary: Summary, set_name: str) -> Iterator[Picture]:
    if missing_plots():
        return
    suffix = f"-{_file_name(summary, set_name)}" if len(summary.sets) > 1 else ""
    yield averages_picture(summary, set_name, name=f"figure3{suffix}.png")
    if Figures(summary).classes(set_name):
        yield by_group_picture(summary, set_name, name=f"figure5{suffix}.png")


def _file_name(summary: Summary, set_name: str) -> str:
    """A set's name as part of a file name: its own where it is short and plain, else its number."""
    plain = set_name.replace("-", "").replace("_", "")
    usable = plain.isascii() and plain.isalnum() and len(plain) < 60
    return set_name if usable else f"set{list(summary.sets).index(set_name) + 1}"


def _metrics(summary: Summary, set_name: str, *, but: str = "") -> Iterator[Block]:
    for metric in METRICS:
        if metric.name != but:
            yield measure_table(summary, set_name, metric.name, cutoffs=_cutoffs(summary))


def _cutoffs(summary: Summary) -> list[int]:
    return sorted({cutoff_of(figure.measure) for figure in summary.figures})
