"""The quality of a tool graph: precision of its edges, connectivity of the tools of a request, counts.

Retrieval depends on the graph, so reports of retrieval include it. Everything is measured on a published snapshot.
Gold edges and requests are for measuring only; they are never an input of the build.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from eval.queries import QuerySet
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
class ConnectivityShare:
    """A share of the requests, and the chance level: the same share in graphs with permuted edges."""

    share: Proportion
    chance: float  # mean over the random graphs, in [0, 1]; ``chance_max``: their maximum
    chance_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The share of requests for which a relation connects at least ``two`` of the tools, or ``all``."""

    relation: str
    two: ConnectivityShare
    all: ConnectivityShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Connectivity:
    """The relations between tools, over the requests that need several tools."""

    requests: int  # number of these requests, of ``of_requests``
    of_requests: int
    shuffles: int  # number of random graphs
    relations: tuple[Relation, ...]


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
    connectivity: Connectivity | None


def graph_quality(
    snapshot: Snapshot, *, gold_edges: Sequence[Path] = (), queries: QuerySet | None = None
) -> GraphQuality:
    """Measure the tool graph of a snapshot.

    :param gold_edges: files of true dependencies: rows with ``from``, ``to`` and ``kind``, of which the part before the first colon
        is used (``parameter:supplier_id``). Never part of the catalogue.
    :param queries: requests whose gold tools should be connected.
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
            hubs=int(hubs(snapshot).sum()),
        ),
        edges=_edge_precision(snapshot, gold_edges) if gold_edges else None,
        connectivity=_connectivity(snapshot, queries) if queries is not None else None,
    )


def hubs(snapshot: Snapshot) -> _Flags:
    """Return the mask of the hubs, bool [nodes]: nodes with edges to more than a tenth of the tools and more than two; never a tool."""
    is_hub = snapshot.tool_degrees > max(2.0, _HUB_SHARE * snapshot.tool_count)
    is_hub[: snapshot.tool_count] = False
    return is_hub


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


ANY_TOOL_EDGE = "an edge between tools"
_TWO_EDGES = "at most 2 edges of any kind"  # also through a common neighbour that is not a hub
_SHUFFLES = 20


@dataclass(frozen=True)
class _Edges:
    """The edges with a tool and without a hub at their ends; equal edges count once."""

    heads: _Numbers
    tails: _Numbers
    kinds: _Numbers  # for each edge the number of its kind: predicate, and whether it is between tools (odd)
    blocks: _Numbers  # for each edge the number of its kind and of the systems of the tools at both ends

    @classmethod
    def of(cls, snapshot: Snapshot) -> _Edges:
        graph, tools = snapshot.adjacency, snapshot.tool_count
        hub = hubs(snapshot)
        kept = ((graph.heads < tools) | (graph.tails < tools)) & ~hub[graph.heads] & ~hub[graph.tails]
        rows = np.stack((graph.heads, graph.tails, graph.predicates), axis=1)[kept].astype(np.int64)
        heads, tails, predicates = np.unique(rows, axis=0).T
        kinds = 2 * predicates + ((heads < tools) & (tails < tools))
        system = np.full(len(snapshot.nodes), -1, dtype=np.int64)
        of_system = snapshot.with_predicate("has_system")
        system[graph.heads[of_system]] = graph.tails[of_system]
        blocks = np.unique(np.stack((kinds, system[heads], system[tails])), axis=1, return_inverse=True)[1].reshape(-1)
        return cls(heads, tails, kinds, blocks)

    def shuffled(self, random: np.random.Generator) -> _Edges:
        """Return the edges with their tails permuted at random among the edges of one block."""
        drawn = np.lexsort((random.random(len(self.blocks)), self.blocks))
        tails = np.empty_like(self.tails)
        tails[np.argsort(self.blocks, kind="stable")] = self.tails[drawn]
        return replace(self, tails=tails)

    def direct(self, chosen: _Flags, pairs: _Numbers, size: int) -> _Flags:
        """Return the mask of the pairs that one of the chosen edges connects."""
        heads, tails = self.heads[chosen], self.tails[chosen]
        return np.isin(pairs, _pairs(np.minimum(heads, tails), np.maximum(heads, tails), size))

    def through_one(self, pairs: _Numbers, size: int) -> _Flags:
        """Return the mask of the pairs with a common neighbour."""
        ends = np.divmod(pairs, size)
        near = np.concatenate((self.heads, self.tails))
        far = np.concatenate((self.tails, self.heads))
        touched = np.isin(near, ends)
        neighbours: dict[int, set[int]] = defaultdict(set)
        for tool, node in zip(near[touched].tolist(), far[touched].tolist(), strict=True):
            neighbours[tool].add(node)
        found = (not neighbours[one].isdisjoint(neighbours[other]) for one, other in np.stack(ends, axis=1).tolist())
        return np.fromiter(found, dtype=bool, count=len(pairs))


def _connectivity(snapshot: Snapshot, queries: QuerySet) -> Connectivity:
    """Measure for each relation the share of requests with several tools for which it connects two, or all, of them. Of
    alternatives, the first counts. Gold tools that the catalogue does not have are left out. In the random graphs the
    tails of the edges of each predicate between the same two systems are permuted, so each tool and each node keeps its
    number of edges, and its systems: the tools of a request are mostly of one system, and so are the tools of an edge.
    """
    gold: list[list[int]] = []
    for query in queries.queries:
        numbers = (snapshot.find_node(f"tool:{slot[0]}") for slot in query.slots)
        known = sorted({number for number in numbers if number is not None})
        gold += [known] if len(known) > 1 else []
    edges, random = _Edges.of(snapshot), np.random.default_rng(0)
    true = _counts(edges, gold, snapshot)
    drawn = [_counts(edges.shuffled(random), gold, snapshot) for _ in range(_SHUFFLES if gold else 0)]

    def share(name: str, part: int) -> ConnectivityShare:
        chance = [counts[name][part] for counts in drawn]
        return ConnectivityShare(
            share=Proportion(true[name][part], len(gold)),
            chance=sum(chance) / _SHUFFLES / len(gold),
            chance_max=max(chance) / len(gold),
        )

    return Connectivity(
        requests=len(gold),
        of_requests=len(queries.queries),
        shuffles=_SHUFFLES,
        relations=tuple(
            Relation(relation=name, two=share(name, 0), all=share(name, 1)) for name in (true if gold else ())
        ),
    )


def _counts(edges: _Edges, gold: Sequence[Sequence[int]], snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """For each relation the number of requests of which it connects two tools, and of which it connects all. ``gold``:
    for each request the numbers of its tools, at least two, ascending."""
    size, between = snapshot.tool_count, edges.kinds % 2 == 1
    wanted = [one * size + other for tools in gold for one, other in combinations(tools, 2)]
    pairs = np.unique(np.asarray(wanted, dtype=np.int64))
    kinds = {name: 2 * snapshot.predicates.index(name) + 1 for name in _DEPENDENCIES if name in snapshot.predicates}
    found = {
        name: edges.direct(edges.kinds == kind, pairs, size) for name, kind in kinds.items() if kind in edges.kinds
    }
    direct = found[ANY_TOOL_EDGE] = edges.direct(between, pairs, size)
    found[_TWO_EDGES] = direct | edges.through_one(pairs, size)
    counts = {}
    for name, joined in found.items():
        linked = set(pairs[joined].tolist())
        two = whole = 0
        for tools in gold:
            links = [(one, other) for one, other in combinations(tools, 2) if one * size + other in linked]
            two += bool(links)
            graph = nx.Graph(links)
            whole += len(graph) == len(tools) and nx.is_connected(graph)
        counts[name] = (two, whole)
    return counts
