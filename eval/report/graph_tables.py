"""Tables of a tool graph's quality."""

from __future__ import annotations

from eval.graph_quality.connectivity import Connectivity, ConnectivityShare
from eval.graph_quality.edge_precision import EdgePrecision, Score
from eval.graph_quality.quality import GraphQuality, GraphStatistics
from eval.report.blocks import NOTHING, Markdown, Table, make_table, number_columns, percent, render, text_columns
from ontology.reporting import Proportion

__all__ = ["graph_section", "graph_tables"]

_LARGEST = 12  # predicates that the statistics list


def graph_tables(quality: GraphQuality) -> dict[str, Table | str]:
    """Heading → everything measured of a snapshot's graph; what could not be measured is a sentence that says why."""
    return {
        "Edges between tools against known dependencies": _edges(quality.edges),
        "Connectivity of the tools of a request": _connectivity(quality.connectivity),
        "Graph statistics": _statistics(quality.statistics),
    }


def graph_section(quality: GraphQuality, *, title: str) -> Markdown:
    """The tables as Markdown under a heading of the third level."""
    return Markdown(render("graph.md", title=title, tables=graph_tables(quality), snapshot_id=quality.snapshot_id))


def _edges(edges: EdgePrecision | None) -> Table | str:
    if edges is None:
        return "No dependencies are known for this set."
    gold = "; ".join(
        f"{kind} {facts.pairs:,} pairs among {facts.ends:,}, {percent(facts.density)} % of all pairs of these"
        for kind, facts in edges.gold.items()
    )
    notes = [
        "Precision (%, with 95 % Wilson interval and count) is over the edges between tools that are in any gold edge. Gold edges "
        "are far from complete, so precision is a lower bound. Groups without an edge between such tools have no row.",
        f"Gold edges: {gold or 'none'}.",
    ]
    if edges.declared_left_out:
        left_out = f"{edges.declared_left_out:,} dependencies that the documents declare are left out"
        notes.append(f"{left_out}: they were given, not found.")
    unknown = {"gold edges": edges.unknown_gold_edges}
    unknown |= {f"edges of {name}": count for name, count in edges.unknown_external_edges.items()}
    notes += [
        f"{count:,} {what} name tools that the catalogue does not have." for what, count in unknown.items() if count
    ]
    found: dict[tuple[str, str], dict[bool, Score]] = {}
    for one in edges.scores:
        found.setdefault((one.gold, one.edges), {})[one.directed] = one
    rows = [
        (
            *names,
            *map(_proportion, (scores[True].precision, scores[True].recall)),
            *map(_share, (scores[False].precision.value, scores[False].recall.value)),
        )
        for names, scores in found.items()
        if scores[True].precision.of
    ]
    measured = ("precision", "recall", "precision, undirected", "recall, undirected")
    columns = (*text_columns("dependencies", "edges"), *number_columns(*measured))
    return make_table(columns, rows, caption=" ".join(notes)) if rows else " ".join(notes)


def _connectivity(connectivity: Connectivity | None) -> Table | str:
    if connectivity is None:
        return "No requests were given."
    if not connectivity.requests:
        return "No request of this set needs several tools that the catalogue has."
    chances = ("by chance, %", "by chance in one system, %")
    return make_table(
        (*text_columns("joined by"), *number_columns("two of the tools, %", *chances, "all of the tools, %", *chances)),
        [(one.relation, *_beside_chance(one.two), *_beside_chance(one.all)) for one in connectivity.relations],
        caption=f"Over the {connectivity.requests:,} of {connectivity.of_requests:,} requests that need several tools. By chance: "
        f"mean (and greatest) over {connectivity.shuffles} graphs whose edges swapped ends, so that each tool and node keeps its "
        "number of edges; in one system: swapped only among edges that join the same systems, which leaves edges of small systems "
        "as they are. A graph helps only as far as it is above chance. Nodes that touch more than a tenth of the tools are left out.",
    )


def _beside_chance(part: ConnectivityShare) -> tuple[str, str, str]:
    return (
        _proportion(part.share),
        f"{_share(part.chance)} ({_share(part.chance_max)})",
        f"{_share(part.chance_in_system)} ({_share(part.chance_in_system_max)})",
    )


def _statistics(statistics: GraphStatistics) -> Table:
    edges = sorted(statistics.edges.items(), key=lambda item: (-item[1], item[0]))
    others = sum(count for _, count in edges[_LARGEST:])
    rows = [
        *(("nodes", type_, count) for type_, count in statistics.nodes.items()),
        *(("edges", name, count) for name, count in edges[:_LARGEST]),
        *([("edges", "of other predicates", others)] if others else []),
        ("tools with no edge but to the content of their own document", "", statistics.isolated_tools),
        ("tools with no edge to a tool", "", statistics.tools_without_tool_edge),
        ("nodes that touch more than a tenth of the tools", "", statistics.hubs),
        *(("edges to tools at", node, degree) for node, degree in statistics.most_edges.items()),
    ]
    quartiles = "; ".join(
        f"{name} {' / '.join(f'{value:.2f}' for value in values)}" for name, values in statistics.confidences.items()
    )
    return make_table(
        (*text_columns("what", "of which kind"), *number_columns("count")),
        [(what, kind, f"{count:,}") for what, kind, count in rows],
        caption=f"Confidences of derived edges, least / quartiles / greatest: {quartiles}." if quartiles else "",
    )


def _proportion(share: Proportion) -> str:
    """``81.2 [75.8, 85.7] (195 of 240)``."""
    if share.low is None or share.high is None:
        return f"{NOTHING.text} (0 of 0)"
    return f"{_share(share.value)} [{percent(share.low)}, {percent(share.high)}] ({share.hits:,} of {share.of:,})"


def _share(value: float | None) -> str:
    """A share in percent, one decimal; a dash where there is none."""
    return NOTHING.text if value is None else percent(value)
