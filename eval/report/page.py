"""The report of an evaluation as a document: what was measured, the figures, latency and cost, the configurations."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from egotools.values import EntryMatch, TraversedEdge
from eval.abstention_rates import abstains
from eval.analysis.failures import CAUSES, Failure, MissingTool, failed_requests
from eval.measured_set import MeasuredSet
from eval.metrics import COMPLETE, METRICS, answered_tools, complete_at, cutoff_of, gold_ranks, ranks_of
from eval.queries import Slot, row_tools
from eval.report.blocks import (
    Block,
    Document,
    Listing,
    Paragraph,
    Picture,
    Quotation,
    Section,
    Table,
    document_to_html,
    document_to_markdown,
    make_table,
    number_columns,
    pictures_of,
    rank_of,
    text_columns,
)
from eval.report.facts import (
    Figures,
    Scope,
    chosen,
    configs_table,
    cost_table,
    latency_table,
    missing_gold_table,
    sets_table,
    systems_table,
    warnings_of,
)
from eval.report.tables import (
    PAPER_CUTOFFS,
    abstention_table,
    difference_table,
    graph_section,
    measure_table,
    per_set_table,
    table3,
)
from eval.summary import Summary, summary_to_json
from eval.system import ASKED, WHOLE, asked_name
from ontology.errors import MissingExtraError
from ontology.files import write_file, write_rows
from ontology.reporting import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png

__all__ = [
    "averages_picture",
    "by_group_picture",
    "failures_document",
    "missing_plots",
    "per_query_rows",
    "report_document",
    "write_document",
    "write_report",
]

_WIDTH = 9.0  # inches
_BAR = 0.16  # inches a bar
_MARGIN = 1.1  # inches for title, axis and caption
_PANELS = 3  # a row
_MAX_NAME = 34  # characters of a name on an axis


def missing_plots() -> tuple[str, ...]:
    """Empty where pictures can be drawn; else a warning for the report."""
    if importlib.util.find_spec("matplotlib") is not None:
        return ()
    return (f"The plots are left out: {MissingExtraError('matplotlib', extra='eval')}",)


def averages_picture(summary: Summary, set_name: str = "", *, systems: Sequence[str] = (), name: str) -> Picture:
    """The paper's Figure 3: CompleteRecall at 3, 5 and 10 by system, micro-average of a set or mean over the sets."""
    figure = averages_figure(summary, set_name, systems=systems)
    figures = Figures(summary)
    group, names = figures.requests(set_name), chosen(summary, systems)
    what = f"mean over {len(group.sets)} sets" if not set_name else f"micro-averages, {set_name}"
    title = f"CompleteRecall@k, {what}"
    caption = f"{title}, with 95 % intervals. {figures.identity(group.sets, names)}"
    return Picture(name=name, title=title, caption=caption, png=to_png(figure, caption))


def averages_figure(summary: Summary, set_name: str = "", *, systems: Sequence[str] = ()) -> Any:
    """The matplotlib figure behind :func:`averages_picture`."""
    figures, names = Figures(summary), chosen(summary, systems)
    group = figures.requests(set_name)
    with default_style():
        figure = blank_figure(_WIDTH, _MARGIN + _BAR * (len(PAPER_CUTOFFS) + 1) * len(names))
        axes = figure.add_subplot()
        measures = [f"CompleteRecall@{cutoff}" for cutoff in PAPER_CUTOFFS]
        _bars(axes, figures, group, names, measures)
        figure.legend(loc="outside lower center", ncols=len(measures), frameon=False)
        axes.set_title(f"CompleteRecall@k, {group.name}")
    return figure


def by_group_picture(
    summary: Summary, set_name: str = "", *, measure: str = "CompleteRecall@10", systems: Sequence[str] = (), name: str
) -> Picture:
    """The paper's Figure 5: one measure by class of a set, or by set, a panel each."""
    figure = by_group_figure(summary, set_name, measure=measure, systems=systems)
    figures, names = Figures(summary), chosen(summary, systems)
    sets = figures.requests(set_name).sets
    by = f"class of request, {set_name}" if set_name else "set"
    title = f"{measure} by {by}"
    caption = f"{title}, with 95 % intervals. {figures.identity(sets, names)}"
    return Picture(name=name, title=title, caption=caption, png=to_png(figure, caption))


def by_group_figure(
    summary: Summary, set_name: str = "", *, measure: str = "CompleteRecall@10", systems: Sequence[str] = ()
) -> Any:
    """The matplotlib figure behind :func:`by_group_picture`."""
    figures, names = Figures(summary), chosen(summary, systems)
    groups = figures.classes(set_name) if set_name else [figures.requests(one) for one in summary.sets]
    columns = min(_PANELS, len(groups))
    rows = -(-len(groups) // columns)
    with default_style():
        figure = blank_figure(_WIDTH, rows * (0.7 + _BAR * 1.6 * len(names)) + 0.4)
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for place, axes in enumerate(panels.flat):
            if place >= len(groups):
                axes.set_visible(False)
                continue
            _bars(axes, figures, groups[place], names, [measure])
            axes.set_title(axis_label(groups[place].name, _MAX_NAME), fontsize=9)
        figure.suptitle(f"{measure} by {'class of request' if set_name else 'set'}", fontsize=11)
    return figure


def _bars(axes: Any, figures: Figures, group: Scope, systems: Sequence[str], measures: Sequence[str]) -> None:
    """A bar for every system and measure; what was not measured has none."""
    thickness = 0.8 / len(measures)
    for place, measure in enumerate(measures):
        found = [(row, figures.get(group, system, measure)) for row, system in enumerate(systems)]
        measured = [(row, figure) for row, figure in found if figure is not None]
        values = [100 * figure.value for _, figure in measured]
        whiskers = [
            [max(100 * (figure.value - figure.low), 0.0) for _, figure in measured],
            [max(100 * (figure.high - figure.value), 0.0) for _, figure in measured],
        ]
        axes.barh(
            [row + (place - (len(measures) - 1) / 2) * thickness for row, _ in measured],
            values,
            height=0.92 * thickness,
            xerr=whiskers,
            color=COLOURS[place % len(COLOURS)] if len(measures) > 1 else COLOURS[2],
            ecolor="#333333",
            error_kw={"elinewidth": 0.8, "capsize": 1.5},
            label=measure.replace("CompleteRecall", ""),
        )
    axes.set_yticks(range(len(systems)), [axis_label(system, _MAX_NAME) for system in systems], fontsize=8)
    axes.set_ylim(len(systems) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("%", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    hide_frame(axes)


_TEXT_CHARS = 2_000  # of a request
_ENTRIES = 20  # entry nodes that are named


def failures_document(failures: Sequence[Failure], sets: Sequence[MeasuredSet], *, title: str = "") -> Document:
    """Counts by cause, then every failure that was analysed, by set and system.

    :param sets: what was measured; the page says how many requests failed in all.
    """
    if not failures:
        none = Paragraph(text="No failure was analysed.")
        return Document(title=title or "Failures", sections=(Section(title="Causes", blocks=(none,)),))
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(_key(failure), []).append(failure)
    sections = [Section(title="Causes", blocks=(_causes_table(failures, sets),))]
    for (set_name, system), members in groups.items():
        sections.append(Section(title=f"{system} on {set_name}", sections=tuple(map(_failure, members))))
    return Document(title=title or "Failures", sections=tuple(sections))


def _causes_table(failures: Sequence[Failure], sets: Sequence[MeasuredSet]) -> Table:
    """How many failures of each system have which cause, and how many there are in all."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for failure in failures:
        counts.setdefault(_key(failure), Counter())[failure.cause] += 1
    depth = {_key(failure): failure.k for failure in failures}
    totals = _totals(depth, sets)
    causes = [cause for cause in CAUSES if any(cause in tally for tally in counts.values())]
    rows = []
    for key, tally in counts.items():
        linked = sum(_key(failure) == key and any(tool.edges for tool in failure.missing) for failure in failures)
        found = (str(depth[key]), totals.get(key, "–"), str(tally.total()), str(linked))
        rows.append((*key, *found, *(str(tally[cause]) for cause in causes)))
    identity = sorted({f"{one.set_name} {one.snapshot_id}, {one.system} {one.config_hash}" for one in failures})
    return make_table(
        (
            *text_columns("set", "system"),
            *number_columns("k", "not complete", "analysed", "linked by an edge", *causes),
        ),
        rows,
        caption="Requests that were not completed at k, and the causes of those that were analysed. A request "
        "counts under the "
        "most basic cause of its missing tools; linked by an edge: an edge joins a missing tool with one that "
        "was found. "
        f"Snapshots and configurations: {'; '.join(identity)}.",
    )


def _key(failure: Failure) -> tuple[str, str]:
    return failure.set_name, failure.system


def _totals(depth: Mapping[tuple[str, str], int], sets: Sequence[MeasuredSet]) -> dict[tuple[str, str], str]:
    """How many requests failed in all, of how many."""
    totals = {}
    for measured in sets:
        for run in measured.runs:
            key = (measured.queries.name, run.system)
            if key in depth:
                failed = len(failed_requests(run, measured.queries, depth[key]))
                totals[key] = f"{failed:,} of {len(measured.queries.queries):,}"
    return totals


def _failure(failure: Failure) -> Section:
    query = failure.query
    facts = [f"class: {query.request_class}"] if query.request_class else []
    facts += [f"no answer: {failure.error}"] if failure.error else []
    facts += [
        f"gold: {', '.join(_any_of(failure, slot) for slot in query.slots)}",
        f"found among the first {failure.k}: {_named(failure, failure.found) or 'none'}",
        f"wrong tools among them: {_named(failure, failure.wrong) or 'none'}",
    ]
    if failure.last_features:
        facts.append(f"last of them: {failure.last} ({_features(failure.last_features)})")
    blocks: list[Block] = [Quotation(text=query.text[:_TEXT_CHARS]), Listing(items=tuple(facts)), _missing(failure)]
    if failure.entries:
        blocks.append(Paragraph(text=f"Entry nodes: {_entries(failure.entries)}"))
    return Section(title=f"{query.id}: {failure.cause}", blocks=tuple(blocks))


def _any_of(failure: Failure, slot: Slot) -> str:
    return " or ".join(_named(failure, [tool]) for tool in slot)


def _named(failure: Failure, tools: Sequence[str]) -> str:
    """Tools by id, with the name where the id does not contain it."""
    return ", ".join(f"{tool} ({failure.names[tool]})" if tool in failure.names else tool for tool in tools)


def _missing(failure: Failure) -> Table:
    rows = [
        (
            _named(failure, [tool.tool_id]),
            rank_of(tool.rank),
            tool.cause + (f": {tool.near_duplicate}" if tool.near_duplicate else ""),
            _yes_or_no(tool.candidate),
            _yes_or_no(tool.in_ego_graph),
            _features(tool.features),
            _evidence(tool),
        )
        for tool in failure.missing
    ]
    others = text_columns("cause", "candidate", "in an ego graph", "features", "graph evidence")
    return make_table((*text_columns("missing"), *number_columns("rank"), *others), rows)


def _evidence(tool: MissingTool) -> str:
    """What joins the missing tool with those that were found."""
    if tool.edges:
        return f"linked: {_edges(tool.edges)}"
    if tool.shared:
        return f"no edge, but in common: {', '.join(tool.shared)}"
    return "none"


def _entries(entries: Sequence[EntryMatch]) -> str:
    named = [
        f"{entry.node} (“{entry.text}”)" if entry.kind == "ngram" else f"{entry.node} ({entry.score:.2f})"
        for entry in entries[:_ENTRIES]
    ]
    more = [f"and {len(entries) - _ENTRIES} more"] if len(entries) > _ENTRIES else []
    return ", ".join([*named, *more])


def _edges(edges: Sequence[TraversedEdge]) -> str:
    return "; ".join(f"{edge.head} {edge.predicate} {edge.tail} ({edge.confidence:.2f})" for edge in edges)


def _features(features: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in sorted(features.items())) or "–"


def _yes_or_no(known: bool | None) -> str:
    return "–" if known is None else "yes" if known else "no"


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


def write_report(
    folder: Path, summary: Summary, sets: Sequence[MeasuredSet], *, failures: Sequence[Failure] = (), title: str = ""
) -> tuple[Path, ...]:
    """Write ``report.md`` and ``.html`` with their pictures, ``summary.json``, ``per_query.jsonl``, ``failures.md``
    and ``.html``.

    :param sets: the measured sets of the summary.
    :param failures: result of :func:`eval.analysis.failures.analyse_failures`.
    :returns: the written files.
    :raises StorageError: when a file cannot be written; existing files are then old or new, never incomplete.
    """
    figures = json.dumps(summary_to_json(summary), ensure_ascii=False, indent=1) + "\n"
    return (
        *write_document(folder, "report", report_document(summary, sets, title=title)),
        *write_document(
            folder, "failures", failures_document(failures, sets, title=f"Failures: {title}" if title else "")
        ),
        write_file(folder / "summary.json", figures),
        write_rows(folder / "per_query.jsonl", per_query_rows(sets)),
    )


def write_document(folder: Path, name: str, document: Document) -> tuple[Path, ...]:
    """Write a document as Markdown with its pictures beside it, and as HTML with its pictures in it.

    :raises StorageError: when a file cannot be written.
    """
    return (
        *(write_file(folder / picture.name, picture.png) for picture in pictures_of(document.sections)),
        write_file(folder / f"{name}.md", document_to_markdown(document)),
        write_file(folder / f"{name}.html", document_to_html(document)),
    )


def per_query_rows(sets: Sequence[MeasuredSet]) -> Iterator[dict[str, Any]]:
    """A row for each request: the rank of each gold tool in each system's answer, the least k that completes it, and, in a set with
    unanswerable requests, whether the system abstains.
    """
    for measured in sets:
        for query in measured.queries.asked:
            systems = {}
            for run in measured.runs:
                ranks = gold_ranks(answered_tools(run, query.id), query.tools)
                systems[run.system] = {
                    "ranks": dict(zip(query.tools, ranks, strict=True)),
                    "complete_at": complete_at(ranks_of(run, query)) if query.slots else None,
                    **({"abstains": abstains(run, query.id)} if measured.queries.unanswerable else {}),
                }
            yield {
                "id": query.id,
                "set": measured.queries.name,
                "class": query.request_class,
                "gold": row_tools(query.slots),
                "systems": systems,
            }
