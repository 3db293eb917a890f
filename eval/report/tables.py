"""Tables of quality, made from a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from eval.abstention_rates import ANSWERABLE, UNANSWERABLE, AbstentionRate
from eval.graph_quality.edge_precision import EdgePrecision, Score
from eval.graph_quality.quality import REASONS, BuildCounts, GraphQuality, ResidualDuplicates
from eval.graph_quality.statistics import Connectivity, ConnectivityShare, GraphStatistics
from eval.metrics import COMPLETE, cutoff_of, metric_of
from eval.report.blocks import (
    NOTHING,
    Block,
    Cell,
    Column,
    Paragraph,
    Section,
    Table,
    counted,
    make_table,
    number_columns,
    p_value,
    percent,
    points,
    text_columns,
)
from eval.report.facts import Figures, Scope, chosen
from eval.summary import Figure, Summary
from ontology.reporting import Proportion

__all__ = [
    "PAPER_CUTOFFS",
    "abstention_table",
    "difference_cell",
    "difference_table",
    "graph_section",
    "measure_table",
    "per_set_table",
    "table3",
]

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


_LARGEST = 12  # predicates that the statistics list

Count = tuple[str, str, int]
"""What is counted, of which kind, how many."""


def graph_section(quality: GraphQuality, *, title: str) -> Section:
    """Everything measured of a snapshot's graph; what could not be measured is a paragraph that says why."""
    parts = (
        ("Edges between tools against known dependencies", _edges(quality.edges)),
        ("Connectivity of the tools of a request", _connectivity(quality.connectivity)),
        ("Residual duplicates after canonicalisation", _duplicates(quality.duplicates)),
        ("The most suspicious pairs", _suspects(quality.duplicates)),
        ("Rejected and merged by the build", _build(quality.build)),
        ("Graph statistics", _statistics(quality.statistics)),
    )
    blocks = ((name, _with_snapshot(block, quality.snapshot_id)) for name, block in parts)
    return Section(title=title, sections=tuple(Section(title=name, blocks=(block,)) for name, block in blocks))


def _with_snapshot(block: Block, snapshot_id: str) -> Block:
    if not isinstance(block, Table):
        return block
    return replace(block, caption=f"{block.caption} Snapshot {snapshot_id}.".strip())


def _edges(edges: EdgePrecision | None) -> Block:
    if edges is None:
        return Paragraph(text="No dependencies are known for this set.")
    gold = "; ".join(
        f"{kind} {facts.pairs:,} pairs among {facts.ends:,}, {_share(facts.density)} % of all pairs of these"
        for kind, facts in edges.gold.items()
    )
    notes = [
        "Precision (%, with 95 % Wilson interval and count) is over the edges between tools that are in any gold "
        "edge. Gold edges "
        "are far from complete, so precision is a lower bound. “same name”, “shared words” and “same type” are "
        "the lexical "
        "baselines: they join tools without a graph. Groups without an edge between such tools have no row.",
        f"Gold edges: {gold or 'none'}.",
    ]
    if edges.declared_left_out:
        notes.append(
            f"{edges.declared_left_out:,} dependencies that the documents declare are left out: they were given, "
            f"not found."
        )
    if edges.unknown_gold_edges:
        notes.append(f"{edges.unknown_gold_edges:,} gold edges name tools that the catalogue does not have.")
    notes += [
        f"{count:,} edges of {name} name tools that the catalogue does not have."
        for name, count in edges.unknown_external_edges.items()
        if count
    ]
    measured = ("precision", "recall", "precision, undirected", "recall, undirected")
    rows = list(_scores(edges.scores))
    if not rows:
        return Paragraph(text=" ".join(notes))
    return make_table(
        (*text_columns("dependencies", "edges"), *number_columns(*measured)), rows, caption=" ".join(notes)
    )


def _scores(scores: Iterable[Score]) -> Iterator[tuple[str, ...]]:
    """A row for each kind of gold edges and group of edges, directed beside undirected."""
    found: dict[tuple[str, str], dict[bool, Score]] = {}
    for one in scores:
        found.setdefault((one.gold, one.edges), {})[one.directed] = one
    for names, by_direction in found.items():
        directed, undirected = by_direction[True], by_direction[False]
        if directed.precision.of:
            exact = (_proportion(directed.precision), _proportion(directed.recall))
            yield (*names, *exact, _share(undirected.precision.value), _share(undirected.recall.value))


def _connectivity(connectivity: Connectivity | None) -> Block:
    if connectivity is None:
        return Paragraph(text="No requests were given.")
    if not connectivity.requests:
        return Paragraph(text="No request of this set needs several tools that the catalogue has.")
    chances = ("by chance, %", "by chance in one system, %")
    return make_table(
        (*text_columns("joined by"), *number_columns("two of the tools, %", *chances, "all of the tools, %", *chances)),
        [(one.relation, *_beside_chance(one.two), *_beside_chance(one.all)) for one in connectivity.relations],
        caption=f"Over the {connectivity.requests:,} of {connectivity.of_requests:,} requests that need several "
        f"tools. By chance: mean "
        f"(and greatest) over {connectivity.shuffles} graphs whose edges swapped ends, so that each tool and "
        f"node keeps its number of "
        "edges; in one system: swapped only among edges that join the same systems, which leaves edges of small "
        "systems as they "
        "are. A graph helps only as far as it is above chance. Nodes that touch more than a tenth of the tools "
        "are left out.",
    )


def _beside_chance(part: ConnectivityShare) -> tuple[str, str, str]:
    return (
        _proportion(part.share),
        f"{_share(part.chance)} ({_share(part.chance_max)})",
        f"{_share(part.chance_in_system)} ({_share(part.chance_in_system_max)})",
    )


def _duplicates(duplicates: ResidualDuplicates) -> Block:
    caption = (
        "Pairs of nodes of one type that may be one thing: the same letters or regional spelling; the same words "
        "in other "
        f"inflection or order; vectors of cosine {duplicates.least_cosine} or more that no veto separates. They "
        f"are suspects, to be "
        "read by a person."
    )
    rows = [
        (type_, f"{one.nodes:,}", f"{one.names:,}", *(f"{one.by_reason.get(reason, 0):,}" for reason in REASONS))
        for type_, one in duplicates.by_type.items()
    ]
    if not rows:
        return Paragraph(text=caption)
    counts = ("nodes", "nodes in a pair", *(f"pairs by {reason}" for reason in REASONS))
    return make_table((*text_columns("type"), *number_columns(*counts)), rows, caption=caption)


def _suspects(duplicates: ResidualDuplicates) -> Block:
    rows = [(one.type, one.one, one.other, one.reason, f"{one.cosine:.3f}") for one in duplicates.examples]
    return (
        make_table((*text_columns("type", "one", "other", "by"), *number_columns("cosine")), rows)
        if rows
        else Paragraph(text="None.")
    )


def _build(build: BuildCounts | None) -> Block:
    if build is None:
        return Paragraph(text="The build report is not beside this snapshot, so this is not known.")
    rows: list[Count] = [
        ("triples kept", "", build.triples_kept),
        ("triples rejected", "", sum(one.triples for one in build.triples_rejected)),
        *(("triples rejected", f"{one.predicate}: {one.reason}", one.triples) for one in build.triples_rejected),
        ("tools read", "", build.tools_read),
        ("tools rejected", "", sum(build.tools_rejected.values())),
        *(("tools rejected", reason, count) for reason, count in build.tools_rejected.items()),
        ("tools renamed", "", build.tools_renamed),
        ("documents whose extraction failed", "", build.extractions_failed),
        ("names merged", "", sum(build.merges.values())),
        *(("names merged", kind, count) for kind, count in build.merges.items()),
        ("warnings of the canonicalisation", "", build.warnings),
    ]
    return _counted(rows)


def _statistics(statistics: GraphStatistics) -> Block:
    edges = sorted(statistics.edges.items(), key=lambda item: (-item[1], item[0]))
    others = sum(count for _, count in edges[_LARGEST:])
    hubs = statistics.hubs
    rows: list[Count] = [
        *(("nodes", type_, count) for type_, count in statistics.nodes.items()),
        *(("edges", name, count) for name, count in edges[:_LARGEST]),
        *([("edges", "of other predicates", others)] if edges[_LARGEST:] else []),
        ("tools with no edge but to the content of their own document", "", statistics.isolated_tools.count),
        ("tools with no edge to a tool", "", statistics.tools_without_tool_edge.count),
        ("nodes that touch more than a tenth of the tools", "", hubs.count),
        *(("edges to tools at", one.node, one.degree) for one in (*hubs.nodes[:3], *hubs.tools[:3])),
    ]
    quartiles = "; ".join(
        f"{name} {' / '.join(f'{value:.2f}' for value in values)}" for name, values in statistics.confidences.items()
    )
    return _counted(
        rows, f"Confidences of derived edges, least / quartiles / greatest: {quartiles}." if quartiles else ""
    )


def _counted(rows: Iterable[Count], caption: str = "") -> Table:
    columns = (*text_columns("what", "of which kind"), *number_columns("count"))
    return make_table(columns, [(what, kind, f"{count:,}") for what, kind, count in rows], caption=caption)


def _proportion(share: Proportion) -> str:
    """``81.2 [75.8, 85.7] (195 of 240)``."""
    if share.low is None or share.high is None:
        return f"{NOTHING.text} (0 of 0)"
    return f"{_share(share.value)} [{percent(share.low)}, {percent(share.high)}] ({share.hits:,} of {share.of:,})"


def _share(value: float | None) -> str:
    """A share in percent, one decimal; a dash where there is none."""
    return NOTHING.text if value is None else percent(value)
