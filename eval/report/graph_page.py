"""The section of a report on the quality of the tool graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from eval.graph_quality.build_counts import BuildCounts
from eval.graph_quality.connectivity import Connectivity, ConnectivityShare
from eval.graph_quality.edge_precision import EdgePrecision, Score
from eval.graph_quality.quality import GraphQuality
from eval.graph_quality.residual_duplicates import REASONS, ResidualDuplicates
from eval.graph_quality.statistics import GraphStatistics
from eval.report.blocks import NOTHING, Block, Paragraph, Section, Table, make_table, number_columns, text_columns
from eval.report.numbers import percent
from ontology.proportion import Proportion

__all__ = ["graph_section"]

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
