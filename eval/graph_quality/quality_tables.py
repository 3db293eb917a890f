"""Tables of the graph's quality, as plain texts that any report can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.graph_quality.connectivity import PARTS
from eval.graph_quality.residual_duplicates import HOW

__all__ = ["GraphTable", "graph_quality_tables"]

_NOTHING = "–"
_LARGEST = 12  # predicates and nodes that a table lists


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTable:
    """One table; every row has a cell for every column of the header.

    :param note: what must be known to read it, or empty; all there is to say where there are no rows.
    """

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""


def graph_quality_tables(quality: Mapping[str, Any]) -> list[GraphTable]:
    """The tables of what :func:`~eval.graph_quality.quality.graph_quality` measured; empty when it measured nothing.

    What could not be measured is a table without rows that says why.
    """
    if not quality:
        return []
    return [
        _agreement(quality["edges"]),
        _joined(quality["joined"]),
        _duplicates(quality["duplicates"]),
        _suspects(quality["duplicates"]),
        _build(quality["build"]),
        _census(quality["census"]),
    ]


def _agreement(edges: Mapping[str, Any] | None) -> GraphTable:
    title = "Edges between tools against known dependencies"
    if edges is None:
        return GraphTable(title=title, note="No dependencies are known for this set.")
    header = ("dependencies", "edges", "precision", "recall", "precision, undirected", "recall, undirected")
    keys = "; ".join(
        f"{key} {facts['pairs']:,} pairs among {facts['ends']:,}, {_share(facts['density'])} % of all pairs of these"
        for key, facts in edges["keys"].items()
    )
    declared, unknown = edges["declared_left_out"], edges["unknown_key_rows"]
    notes = (
        "Precision (%, with 95 % Wilson interval and count) is over the edges between tools of which the key speaks; keys are "
        "far from complete, so it is a lower bound. “same name”, “shared words” and “same type” join tools without a graph. "
        "Groups without an edge between such tools have no row.",
        f"Keys: {keys or 'none'}.",
        f"{declared:,} dependencies that the documents declare are left out: they were given, not found."
        if declared
        else "",
        f"{unknown:,} rows of the keys name tools that the catalogue does not have." if unknown else "",
        *(
            f"{count:,} edges of {name} name tools that the catalogue does not have."
            for name, count in edges.get("unknown_given_edges", {}).items()
            if count
        ),
    )
    return GraphTable(
        title=title, header=header, rows=tuple(_scores(edges["scores"])), note=" ".join(filter(None, notes))
    )


def _scores(scores: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row for each key and group of edges, directed beside undirected."""
    found: dict[tuple[str, str], dict[bool, Mapping[str, Any]]] = {}
    for row in scores:
        found.setdefault((row["key"], row["edges"]), {})[row["directed"]] = row
    for names, by_direction in found.items():
        directed, loose = by_direction[True], by_direction[False]
        if directed["precision"]["of"]:
            exact = (_proportion(directed["precision"]), _proportion(directed["recall"]))
            yield (*names, *exact, _share(loose["precision"]["value"]), _share(loose["recall"]["value"]))


def _joined(joined: Mapping[str, Any] | None) -> GraphTable:
    title = "Requests whose tools the graph joins"
    if joined is None:
        return GraphTable(title=title, note="No requests were given.")
    if not joined["requests"]:
        return GraphTable(title=title, note="No request of this set needs several tools that the catalogue has.")
    rows = tuple(
        (row["relation"], *(cell for part in PARTS for cell in _beside_chance(row[part])))
        for row in joined["relations"]
    )
    note = (
        f"Over the {joined['requests']:,} of {joined['of_requests']:,} requests that need several tools. By chance: mean (and most) "
        f"over {joined['shuffles']} graphs whose edges swapped ends, each tool and node keeping its number of edges; in one system: "
        "swapped only among edges that join the same systems, which leaves edges of small systems as they are. A graph helps only as "
        "far as it is above that. Nodes that touch more than a tenth of the tools join nothing here."
    )
    chances = ("by chance, %", "by chance in one system, %")
    header = ("joined by", "two of the tools, %", *chances, "all of the tools, %", *chances)
    return GraphTable(title=title, header=header, rows=rows, note=note)


def _beside_chance(row: Mapping[str, Any]) -> Iterator[str]:
    yield _proportion(row)
    for name in ("chance", "chance_in_system"):
        yield f"{_share(row[name])} ({_share(row[f'{name}_max'])})"


def _duplicates(duplicates: Mapping[str, Any]) -> GraphTable:
    rows = tuple(
        (type_, f"{row['nodes']:,}", f"{row['names']:,}", *(f"{row.get(how, 0):,}" for how in HOW))
        for type_, row in duplicates["by_type"].items()
    )
    note = (
        "Pairs of nodes of one type that may be one thing: the same letters or regional spelling; the same words in other "
        f"inflection or order; vectors of cosine {duplicates['least_cosine']} or more that no veto keeps apart. Suspects, not verdicts."
    )
    header = ("type", "nodes", "nodes in a pair", *(f"pairs by {how}" for how in HOW))
    return GraphTable(title="Duplicates left after canonicalisation", header=header, rows=rows, note=note)


def _suspects(duplicates: Mapping[str, Any]) -> GraphTable:
    rows = tuple((type_, one, other, how, f"{cosine:.3f}") for type_, one, other, how, cosine in duplicates["examples"])
    note = "" if rows else "None."
    return GraphTable(
        title="The most suspicious of them", header=("type", "one", "other", "by", "cosine"), rows=rows, note=note
    )


def _build(build: Mapping[str, Any] | None) -> GraphTable:
    title = "What the build refused and merged"
    if build is None:
        return GraphTable(title=title, note="The build's report is not beside this snapshot, so this is not known.")
    rows = [
        ("triples kept", "", build["triples_kept"]),
        ("triples refused", "", sum(count for *_, count in build["triples_refused"])),
        *(
            ("triples refused", f"{predicate}: {reason}", count)
            for predicate, reason, count in build["triples_refused"]
        ),
        ("tools read", "", build["tools_read"]),
        ("tools refused", "", sum(build["tools_refused"].values())),
        *(("tools refused", reason, count) for reason, count in build["tools_refused"].items()),
        ("tools renamed", "", build["tools_renamed"]),
        ("documents not extracted as a whole", "", build["extractions_failed"]),
        ("names merged", "", sum(build["merges"].values())),
        *(("names merged", kind, count) for kind, count in build["merges"].items()),
        ("warnings of canonicalisation", "", build["warnings"]),
    ]
    return GraphTable(title=title, header=("what", "of which kind", "count"), rows=_counted(rows))


def _census(census: Mapping[str, Any]) -> GraphTable:
    edges = sorted(census["edges"].items(), key=lambda item: (-item[1], item[0]))
    hubs = census["hubs"]
    rows = [
        *(("nodes", type_, count) for type_, count in census["nodes"].items()),
        *(("edges", name, count) for name, count in edges[:_LARGEST]),
        *([("edges", "of other predicates", sum(count for _, count in edges[_LARGEST:]))] if edges[_LARGEST:] else []),
        ("tools with no edge beside their own document's", "", census["isolated_tools"]["count"]),
        ("tools with no edge to a tool", "", census["tools_without_tool_edge"]["count"]),
        ("nodes that touch more than a tenth of the tools", "", hubs["count"]),
        *(("edges to tools at", node, count) for node, count in (*hubs["nodes"][:3], *hubs["tools"][:3])),
    ]
    quartiles = "; ".join(
        f"{name} {' / '.join(f'{value:.2f}' for value in values)}" for name, values in census["confidences"].items()
    )
    note = f"Confidences of derived edges, least / quartiles / greatest: {quartiles}." if quartiles else ""
    return GraphTable(
        title="Nodes and edges", header=("what", "of which kind", "count"), rows=_counted(rows), note=note
    )


def _counted(rows: Iterable[Sequence[Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple((str(what), str(kind), f"{count:,}") for what, kind, count in rows)


def _proportion(row: Mapping[str, Any]) -> str:
    """``81.2 [75.8, 85.7] (195 of 240)``."""
    if row["value"] is None:
        return f"{_NOTHING} (0 of 0)"
    interval = f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
    return f"{_share(row['value'])} {interval} ({row['hits']:,} of {row['of']:,})"


def _share(value: float | None) -> str:
    """A share in percent, one decimal; a dash where there is none."""
    return _NOTHING if value is None else f"{100 * value:.1f}"
