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

_DEPENDENCIES = ("supplies", "resolved_by", "depends_on")
"""The predicates between a consumer and a producer; the first leads from the producer, the others from the consumer."""
_DERIVED = _DEPENDENCIES[:2]  # their edges have a confidence
_OWN_DOCUMENT = ("has_parameter", "returns", "has_entity", "has_capability")  # to the content of a tool's own document
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_HUB_SHARE = 0.1

_Numbers = NDArray[np.int64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One group of edges against one kind of gold edges.

    :param precision: share of gold edges among the edges between tools that occur in any gold edge. Gold edges are far
        from complete, so edges of other tools count as neither right nor wrong.
    :param recall: share of the gold edges that were found.
    """

    gold: str
    edges: str
    directed: bool
    precision: Proportion
    recall: Proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldKind:
    """One kind of gold edges.

    :param ends: number of tools in any of its pairs.
    :param density: ``pairs`` divided by all ordered pairs of ``ends``, in [0, 1]: the precision of a complete graph.
    """

    pairs: int
    ends: int
    density: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePrecision:
    """Every group of edges against every kind of gold edges.

    :param gold: map from kind to its facts.
    :param unknown_gold_edges: number of gold edges with a tool that the catalogue does not have.
    :param unknown_external_edges: map from group to the number of such external edges.
    :param declared_left_out: number of ``depends_on`` edges that the documents declare and that are not scored.
    """

    gold: Mapping[str, GoldKind]
    unknown_gold_edges: int
    unknown_external_edges: Mapping[str, int]
    declared_left_out: int
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectivityShare:
    """A share of the requests, and the chance level: the same share in graphs with permuted edges.

    :param chance: mean over the random graphs, in [0, 1]; ``chance_max``: their maximum.
    :param chance_in_system: the same, with ends permuted only among edges between the same two systems.
    """

    share: Proportion
    chance: float
    chance_max: float
    chance_in_system: float
    chance_in_system_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The share of requests for which a relation connects at least ``two`` of the tools, or ``all``."""

    relation: str
    two: ConnectivityShare
    all: ConnectivityShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Connectivity:
    """The relations between tools, over the requests that need several tools.

    :param requests: number of these requests, of ``of_requests``.
    :param shuffles: number of random graphs for each chance level.
    """

    requests: int
    of_requests: int
    shuffles: int
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStatistics:
    """Counts over a tool graph.

    :param nodes: map from type to count; ``edges``: map from predicate to count.
    :param confidences: map from derived predicate to minimum, quartiles and maximum of the confidences, in [0, 1].
    :param isolated_tools: number of tools whose only edges lead to the content of their own document.
    :param tools_without_tool_edge: number of tools without an edge to another tool.
    :param hubs: number of nodes that touch more than a tenth of the tools.
    :param most_edges: the nodes with the most edges to tools, and how many.
    """

    tools: int
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    confidences: Mapping[str, tuple[float, ...]]
    isolated_tools: int
    tools_without_tool_edge: int
    hubs: int
    most_edges: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuality:
    """The measures of a tool graph; None where the input for a measure was not given."""

    snapshot_id: str
    statistics: GraphStatistics
    edges: EdgePrecision | None
    connectivity: Connectivity | None


ExternalEdges = Mapping[str, Sequence[tuple[str, str]]]
"""Map from the name of a group to its edges (id of the consumer, id of the producer)."""


def graph_quality(
    snapshot: Snapshot,
    *,
    gold_edges: Sequence[Path] = (),
    external_edges: ExternalEdges | None = None,
    queries: QuerySet | None = None,
) -> GraphQuality:
    """Measure the tool graph of a snapshot.

    :param gold_edges: files of true dependencies: rows with ``from``, ``to`` and ``kind``, of which the part before the first colon
        is used (``parameter:supplier_id``). Never part of the catalogue.
    :param external_edges: groups of edges from another method, scored in addition to the snapshot's own.
    :param queries: requests whose gold tools should be connected.
    :raises DocumentError: when a file of gold edges cannot be read.
    """
    return GraphQuality(
        snapshot_id=snapshot.id,
        statistics=_statistics(snapshot),
        edges=_edge_precision(snapshot, gold_edges, external_edges or {}) if gold_edges else None,
        connectivity=_connectivity(snapshot, queries) if queries is not None else None,
    )


def hubs(snapshot: Snapshot) -> _Flags:
    """Return the mask of the hubs, bool [nodes]: nodes with edges to more than a tenth of the tools and more than two; never a tool."""
    is_hub = snapshot.tool_degrees > max(2.0, _HUB_SHARE * snapshot.tool_count)
    is_hub[: snapshot.tool_count] = False
    return is_hub


def _statistics(snapshot: Snapshot) -> GraphStatistics:
    graph, tools, degrees = snapshot.adjacency, snapshot.tool_count, snapshot.tool_degrees
    own = [snapshot.predicates.index(name) for name in _OWN_DOCUMENT if name in snapshot.predicates]
    between_tools = (graph.heads < tools) & (graph.tails < tools) & (graph.heads != graph.tails)
    confidences = {name: graph.confidences[_of_predicate(snapshot, name)] for name in _DERIVED}

    def without(edges: _Flags) -> int:
        joined = np.union1d(graph.heads[edges], graph.tails[edges])
        return tools - int((joined < tools).sum())

    return GraphStatistics(
        tools=tools,
        nodes=dict(snapshot.manifest.counts.nodes),
        edges=dict(snapshot.manifest.counts.edges),
        confidences={
            name: tuple(round(float(value), 4) for value in np.quantile(values, _QUARTILES))
            for name, values in confidences.items()
            if len(values)
        },
        isolated_tools=without(~np.isin(graph.predicates, own)),
        tools_without_tool_edge=without(between_tools),
        hubs=int(hubs(snapshot).sum()),
        most_edges={
            snapshot.node_key(int(node)): int(degrees[node])
            for node in np.argsort(-degrees, kind="stable")[:3]
            if degrees[node]
        },
    )


def _of_predicate(snapshot: Snapshot, name: str) -> _Flags:
    """The mask of the edges with a predicate."""
    predicates = snapshot.adjacency.predicates
    return np.asarray(predicates == snapshot.predicates.index(name) if name in snapshot.predicates else predicates < 0)


# Pairs of tools, each as ``first * number of tools + second``: sets, ascending, in which no tool is paired with itself.


def _pairs(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], size: int) -> _Numbers:
    differ = first != second
    return np.unique(first[differ].astype(np.int64) * size + second[differ])


def _undirected(pairs: _Numbers, size: int) -> _Numbers:
    first, second = np.divmod(pairs, size)
    return _pairs(np.minimum(first, second), np.maximum(first, second), size)


def _union(sets: Iterable[_Numbers]) -> _Numbers:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *sets]))


def _known_pairs(edges: Iterable[tuple[str, str]], snapshot: Snapshot) -> tuple[_Numbers, int]:
    """The pairs (consumer, producer) of edges between tools that the catalogue has, and the number of the other edges."""
    numbers = [tuple(snapshot.find_node(f"tool:{tool}") for tool in edge) for edge in edges]
    known = np.asarray([pair for pair in numbers if None not in pair], dtype=np.int64).reshape(-1, 2)
    return _pairs(known[:, 0], known[:, 1], snapshot.tool_count), len(numbers) - len(known)


def _edge_precision(snapshot: Snapshot, gold_files: Sequence[Path], external: ExternalEdges) -> EdgePrecision:
    """Score the graph's edges between tools, and external ones, against every kind of gold edges.

    Dependencies that the documents declare were not derived, so these ``depends_on`` edges are left out and counted.
    """
    size, graph = snapshot.tool_count, snapshot.adjacency
    by_kind: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in gold_files:
        for consumer, producer, kind in _read_edges(path, "from", "to"):
            by_kind[(kind or "dependency").split(":")[0]].append((consumer, producer))
    read = {kind: _known_pairs(edges, snapshot) for kind, edges in sorted(by_kind.items())}
    gold = {kind: pairs for kind, (pairs, _) in read.items() if len(pairs)}
    if len(gold) > 1:
        gold["all kinds"] = _union(gold.values())
    found = {}
    for name in _DEPENDENCIES:
        of = _of_predicate(snapshot, name) & (graph.heads < size) & (graph.tails < size)
        ends = (graph.tails[of], graph.heads[of]) if name == "supplies" else (graph.heads[of], graph.tails[of])
        found[name] = _pairs(*ends, size)
    declared, _ = _known_pairs(((tool.id, each.tool) for tool in snapshot.tools for each in tool.depends_on), snapshot)
    left_out = np.intersect1d(found["depends_on"], declared)
    found["depends_on"] = np.setdiff1d(found["depends_on"], left_out)
    others = {name: _known_pairs(edges, snapshot) for name, edges in external.items()}
    groups = {name: pairs for name, pairs in found.items() if name != "depends_on" or len(pairs)}
    groups |= {"together": _union(found.values())} | {name: pairs for name, (pairs, _) in others.items()}
    return EdgePrecision(
        gold={kind: _gold_kind(pairs, size) for kind, pairs in gold.items()},
        unknown_gold_edges=sum(unknown for _, unknown in read.values()),
        unknown_external_edges={name: unknown for name, (_, unknown) in others.items()},
        declared_left_out=len(left_out),
        scores=tuple(
            Score(gold=kind, edges=name, directed=directed, **_score(pairs, wanted, size, directed=directed))
            for kind, wanted in gold.items()
            for name, pairs in groups.items()
            for directed in (True, False)
        ),
    )


def _gold_kind(pairs: _Numbers, size: int) -> GoldKind:
    ends = len(np.unique(np.divmod(pairs, size)))
    return GoldKind(pairs=len(pairs), ends=ends, density=len(pairs) / (ends * (ends - 1)))


def _score(found: _Numbers, gold: _Numbers, size: int, *, directed: bool) -> dict[str, Proportion]:
    if not directed:
        found, gold = _undirected(found, size), _undirected(gold, size)
    within = found[np.isin(np.divmod(found, size), np.divmod(gold, size)).all(axis=0)]
    hits = int(np.isin(within, gold).sum())
    return {"precision": Proportion(hits, len(within)), "recall": Proportion(hits, len(gold))}


def read_external_edges(files: Sequence[Path]) -> dict[str, list[tuple[str, str]]]:
    """Read groups of external edges; a group has the name of its file, without the extension.

    Rows with another ``kind`` than ``R-P`` are left out, because they are not dependencies.

    :raises DocumentError: for an invalid row, with file and line.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for path in files:
        edges = [
            (consumer, producer)
            for consumer, producer, kind in _read_edges(path, "target", "source")
            if kind in ("", "R-P")
        ]
        found.setdefault(path.stem, []).extend(edges)
    return found


def _read_edges(path: Path, consumer: str, producer: str) -> Iterator[tuple[str, str, str]]:
    """Yield consumer, producer and kind of each edge of a file.

    :param consumer: the JSON key of the consumer; ``producer`` likewise.
    """
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the edges cannot be read: {error}", subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line)
                yield str(row[consumer]), str(row[producer]), str(row.get("kind") or "")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise DocumentError(
                    "an edge must be an object with the tool ids {!r} and {!r}".format(*sorted((consumer, producer))),
                    subject=f"{path}:{number}",
                ) from error


ANY_TOOL_EDGE = "an edge between tools"
_TWO_TOOL_EDGES = "at most 2 edges between tools"
_TWO_EDGES = "at most 2 edges of any kind"  # also through a common neighbour that is not a hub
_SHUFFLES = 20


@dataclass(frozen=True)
class _Edges:
    """The edges with a tool and without a hub at their ends; equal edges count once.

    :param kinds: for each edge the number of its kind: predicate, and whether it is between tools (odd).
    :param blocks: for each edge the number of its kind and of the systems of the tools at both ends.
    """

    heads: _Numbers
    tails: _Numbers
    kinds: _Numbers
    blocks: _Numbers

    @classmethod
    def of(cls, snapshot: Snapshot) -> _Edges:
        """Read the edges from a snapshot."""
        graph, tools = snapshot.adjacency, snapshot.tool_count
        hub = hubs(snapshot)
        kept = ((graph.heads < tools) | (graph.tails < tools)) & ~hub[graph.heads] & ~hub[graph.tails]
        rows = np.stack((graph.heads, graph.tails, graph.predicates), axis=1)[kept].astype(np.int64)
        heads, tails, predicates = np.unique(rows, axis=0).T
        kinds = 2 * predicates + ((heads < tools) & (tails < tools))
        system = np.full(len(snapshot.nodes), -1, dtype=np.int64)
        of_system = _of_predicate(snapshot, "has_system")
        system[graph.heads[of_system]] = graph.tails[of_system]
        blocks = np.unique(np.stack((kinds, system[heads], system[tails])), axis=1, return_inverse=True)[1].reshape(-1)
        return cls(heads, tails, kinds, blocks)

    def shuffled(self, random: np.random.Generator, groups: _Numbers) -> _Edges:
        """Return the edges with their tails permuted at random among the edges of one group: a kind or a block."""
        drawn = np.lexsort((random.random(len(groups)), groups))
        tails = np.empty_like(self.tails)
        tails[np.argsort(groups, kind="stable")] = self.tails[drawn]
        return replace(self, tails=tails)

    def direct(self, chosen: _Flags, pairs: _Numbers, size: int) -> _Flags:
        """Return the mask of the pairs that one of the chosen edges connects."""
        heads, tails = self.heads[chosen], self.tails[chosen]
        return np.isin(pairs, _pairs(np.minimum(heads, tails), np.maximum(heads, tails), size))

    def through_one(self, chosen: _Flags, pairs: _Numbers, size: int) -> _Flags:
        """Return the mask of the pairs with a common neighbour along the chosen edges."""
        ends = np.divmod(pairs, size)
        near = np.concatenate((self.heads[chosen], self.tails[chosen]))
        far = np.concatenate((self.tails[chosen], self.heads[chosen]))
        touched = np.isin(near, ends)
        neighbours: dict[int, set[int]] = defaultdict(set)
        for tool, node in zip(near[touched].tolist(), far[touched].tolist(), strict=True):
            neighbours[tool].add(node)
        found = (not neighbours[one].isdisjoint(neighbours[other]) for one, other in np.stack(ends, axis=1).tolist())
        return np.fromiter(found, dtype=bool, count=len(pairs))


def _connectivity(snapshot: Snapshot, queries: QuerySet) -> Connectivity:
    """Measure for each relation the share of requests with several tools for which it connects two, or all, of them.

    Of alternatives, the first counts. Gold tools that the catalogue does not have are left out. In the random graphs the tails of
    the edges of each predicate are permuted, so each tool and each node keeps its number of edges. Permuting within the same two
    systems is the stricter comparison, because the tools of a request are mostly of one system, and so are the tools of an edge.
    """
    gold: list[list[int]] = []
    for query in queries.queries:
        numbers = (snapshot.find_node(f"tool:{slot[0]}") for slot in query.slots)
        known = sorted({number for number in numbers if number is not None})
        gold += [known] if len(known) > 1 else []
    edges, random = _Edges.of(snapshot), np.random.default_rng(0)
    true = _counts(edges, gold, snapshot)
    anywhere, in_system = (
        [_counts(edges.shuffled(random, groups), gold, snapshot) for _ in range(_SHUFFLES if gold else 0)]
        for groups in (edges.kinds, edges.blocks)
    )

    def share(name: str, part: int) -> ConnectivityShare:
        chance, within = ([counts[name][part] for counts in drawn] for drawn in (anywhere, in_system))
        return ConnectivityShare(
            share=Proportion(true[name][part], len(gold)),
            chance=sum(chance) / _SHUFFLES / len(gold),
            chance_max=max(chance) / len(gold),
            chance_in_system=sum(within) / _SHUFFLES / len(gold),
            chance_in_system_max=max(within) / len(gold),
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
    """For each relation the number of requests of which it connects two tools, and of which it connects all.

    :param gold: for each request the numbers of its tools, at least two, ascending.
    """
    size, between = snapshot.tool_count, edges.kinds % 2 == 1
    wanted = [one * size + other for tools in gold for one, other in combinations(tools, 2)]
    pairs = np.unique(np.asarray(wanted, dtype=np.int64))
    kinds = {name: 2 * snapshot.predicates.index(name) + 1 for name in _DEPENDENCIES if name in snapshot.predicates}
    found = {
        name: edges.direct(edges.kinds == kind, pairs, size) for name, kind in kinds.items() if kind in edges.kinds
    }
    direct = found[ANY_TOOL_EDGE] = edges.direct(between, pairs, size)
    found[_TWO_TOOL_EDGES] = direct | edges.through_one(between, pairs, size)
    found[_TWO_EDGES] = direct | edges.through_one(np.ones_like(between), pairs, size)
    counts = {}
    for name, joined in found.items():
        linked = set(pairs[joined].tolist())
        two = whole = 0
        for tools in gold:
            links = [(one, other) for one, other in combinations(tools, 2) if one * size + other in linked]
            two += bool(links)
            whole += len(links) >= len(tools) - 1 and _connects(links, tools)
        counts[name] = (two, whole)
    return counts


def _connects(links: Sequence[tuple[int, int]], tools: Sequence[int]) -> bool:
    graph = nx.Graph(links)
    return len(graph) == len(tools) and nx.is_connected(graph)
