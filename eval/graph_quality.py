"""The quality of a tool graph: precision of its edges, counts.

Retrieval depends on the graph, so reports of retrieval include it. Everything is measured on a published snapshot.
Gold edges are for measuring only; they are never an input of the build.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.errors import DocumentError
from ontology.files import read_bounded
from ontology.reporting import Proportion
from retrieval.snapshot.reader import Snapshot

# The predicates between a consumer and a producer; the first leads from the producer, the others from the consumer.
_DEPENDENCIES = ("supplies", "resolved_by", "depends_on")
_HUB_SHARE = 0.1

_Numbers = NDArray[np.int64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One group of edges against one kind of gold edges."""

    gold: str
    edges: str
    # share of gold edges among the edges between tools that occur in any gold edge. Gold edges are far from complete,
    # so edges of other tools count as neither right nor wrong
    precision: Proportion
    recall: Proportion  # share of the gold edges that were found


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldKind:
    """One kind of gold edges."""

    pairs: int
    ends: int  # number of tools in any of its pairs
    density: float  # ``pairs`` divided by all ordered pairs of ``ends``, in [0, 1]: the precision of a complete graph


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePrecision:
    """Every group of edges against every kind of gold edges."""

    gold: Mapping[str, GoldKind]  # map from kind to its facts
    unknown_gold_edges: int  # number of gold edges with a tool that the catalogue does not have
    declared_left_out: int  # number of ``depends_on`` edges that the documents declare and that are not scored
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStatistics:
    """Counts over a tool graph."""

    tools: int
    nodes: Mapping[str, int]  # map from type to count; ``edges``: map from predicate to count
    edges: Mapping[str, int]
    tools_without_tool_edge: int  # number of tools without an edge to another tool
    hubs: int  # number of nodes that touch more than a tenth of the tools


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuality:
    """The measures of a tool graph; None where the input for a measure was not given."""

    snapshot_id: str
    statistics: GraphStatistics
    edges: EdgePrecision | None


def graph_quality(snapshot: Snapshot, *, gold_edges: Sequence[Path] = ()) -> GraphQuality:
    """Measure the tool graph of a snapshot.

    :param gold_edges: files of true dependencies: rows with ``from``, ``to`` and ``kind``, of which the part before the first colon
        is used (``parameter:supplier_id``). Never part of the catalogue.
    :raises DocumentError: when a file of gold edges cannot be read.
    """
    graph, tools = snapshot.adjacency, snapshot.tool_count
    between = (graph.heads < tools) & (graph.tails < tools) & (graph.heads != graph.tails)
    return GraphQuality(
        snapshot_id=snapshot.id,
        statistics=GraphStatistics(
            tools=tools,
            nodes=dict(snapshot.manifest.counts.nodes),
            edges=dict(snapshot.manifest.counts.edges),
            tools_without_tool_edge=tools - len(np.union1d(graph.heads[between], graph.tails[between])),
            hubs=_hubs(snapshot),
        ),
        edges=_edge_precision(snapshot, gold_edges) if gold_edges else None,
    )


def _hubs(snapshot: Snapshot) -> int:
    """The number of nodes, tools aside, with edges to more than a tenth of the tools and more than two."""
    degrees = snapshot.tool_degrees[snapshot.tool_count :]
    return int((degrees > max(2.0, _HUB_SHARE * snapshot.tool_count)).sum())


# Pairs of tools, each as ``first * number of tools + second``: sets, ascending, in which no tool is paired with itself.


def _pairs(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], size: int) -> _Numbers:
    differ = first != second
    return np.unique(first[differ].astype(np.int64) * size + second[differ])


def _union(sets: Iterable[_Numbers]) -> _Numbers:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *sets]))


def _known_pairs(edges: Iterable[tuple[str, str]], snapshot: Snapshot) -> tuple[_Numbers, int]:
    """The pairs (consumer, producer) of edges between tools that the catalogue has, and the number of the other edges."""
    numbers = [tuple(snapshot.find_node(f"tool:{tool}") for tool in edge) for edge in edges]
    known = np.asarray([pair for pair in numbers if None not in pair], dtype=np.int64).reshape(-1, 2)
    return _pairs(known[:, 0], known[:, 1], snapshot.tool_count), len(numbers) - len(known)


def _edge_precision(snapshot: Snapshot, gold_files: Sequence[Path]) -> EdgePrecision:
    """Score the graph's edges between tools against every kind of gold edges. Dependencies that the documents declare
    were not derived, so these ``depends_on`` edges are left out and counted."""
    size, graph = snapshot.tool_count, snapshot.adjacency
    by_kind: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in gold_files:
        for consumer, producer, kind in _read_edges(path):
            by_kind[(kind or "dependency").split(":")[0]].append((consumer, producer))
    read = {kind: _known_pairs(edges, snapshot) for kind, edges in sorted(by_kind.items())}
    gold = {kind: pairs for kind, (pairs, _) in read.items() if len(pairs)}
    if len(gold) > 1:
        gold["all kinds"] = _union(gold.values())
    found = {}
    for name in _DEPENDENCIES:
        of = snapshot.with_predicate(name) & (graph.heads < size) & (graph.tails < size)
        consumers, producers = (graph.tails, graph.heads) if name == "supplies" else (graph.heads, graph.tails)
        found[name] = _pairs(consumers[of], producers[of], size)
    declared, _ = _known_pairs(((tool.id, each.tool) for tool in snapshot.tools for each in tool.depends_on), snapshot)
    left_out = np.intersect1d(found["depends_on"], declared)
    found["depends_on"] = np.setdiff1d(found["depends_on"], left_out)
    groups = {name: pairs for name, pairs in found.items() if name != "depends_on" or len(pairs)}
    groups["together"] = _union(found.values())
    kinds, scores = {}, []
    for kind, wanted in gold.items():
        ends = len(np.unique(np.divmod(wanted, size)))
        kinds[kind] = GoldKind(pairs=len(wanted), ends=ends, density=len(wanted) / (ends * (ends - 1)))
        for name, pairs in groups.items():
            within = pairs[np.isin(np.divmod(pairs, size), np.divmod(wanted, size)).all(axis=0)]
            hits = int(np.isin(within, wanted).sum())
            precision, recall = Proportion(hits, len(within)), Proportion(hits, len(wanted))
            scores.append(Score(gold=kind, edges=name, precision=precision, recall=recall))
    return EdgePrecision(
        gold=kinds,
        unknown_gold_edges=sum(unknown for _, unknown in read.values()),
        declared_left_out=len(left_out),
        scores=tuple(scores),
    )


def _read_edges(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the edges cannot be read: {error}", subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line)
                yield str(row["from"]), str(row["to"]), str(row.get("kind") or "")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                problem, subject = "an edge must be an object with the tool ids 'from' and 'to'", f"{path}:{number}"
                raise DocumentError(problem, subject=subject) from error
