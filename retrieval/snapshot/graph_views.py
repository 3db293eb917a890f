"""Views of the graph of a snapshot: what a namespace holds, which tools supply which, and the graph for NetworkX."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from egotools.values import NamespaceSummary
from ontology.tool_graph import EDGE_DETAILS
from retrieval.snapshot.reader import Snapshot

if TYPE_CHECKING:
    import networkx as nx


_MOST_NAMESPACES = 1_000
_MOST_OBJECTS = 8
_MOST_WORDS, _MOST_CHARS = 4, 60  # the names go into texts for a model: a longer one may be a sentence

_Pairs: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"  # tools and nodes, int64 [pairs] each


def summarize_namespaces(snapshot: Snapshot) -> tuple[NamespaceSummary, ...]:
    """Return the namespaces of the visible tools, most tools first, then by name. The objects are those of the edges
    tool → capability → object: they say what a tool is for, where the entities that its document mentions are as often
    its inputs. A namespace without such edges has the business objects that its documents mention."""
    names = [""]
    namespace_of = np.zeros(snapshot.tool_count, dtype=np.int64)
    for name, tools in snapshot.filters.tools_by_value("namespace"):
        namespace_of[tools] = len(names)
        names.append(name)
    counts = np.bincount(namespace_of[snapshot.tool_numbers], minlength=len(names))
    mentions = _edges(snapshot, "has_entity")
    acted_on = _names_by_namespace(snapshot, namespace_of, _acted_on(snapshot))
    mentioned = _names_by_namespace(snapshot, namespace_of, mentions)
    largest = sorted(np.flatnonzero(counts).tolist(), key=lambda number: (-counts[number], names[number]))
    return tuple(
        NamespaceSummary(
            name=names[number],
            tool_count=int(counts[number]),
            objects=tuple(acted_on.get(number, ()) or mentioned.get(number, ())),
        )
        for number in largest[:_MOST_NAMESPACES]
    )


def _acted_on(snapshot: Snapshot) -> _Pairs:
    """The tools and the objects on which their capabilities are exercised."""
    tools, capabilities = _edges(snapshot, "has_capability")
    heads, objects = _edges(snapshot, "acts_on")  # edges are numbered by head, so the heads ascend
    starts = np.searchsorted(heads, capabilities, side="left")
    lengths = np.searchsorted(heads, capabilities, side="right") - starts
    places = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    return np.repeat(tools, lengths), objects[places]


def _edges(snapshot: Snapshot, predicate: str) -> _Pairs:
    edges, found = snapshot.adjacency, snapshot.with_predicate(predicate)
    return edges.heads[found].astype(np.int64), edges.tails[found].astype(np.int64)


def _names_by_namespace(snapshot: Snapshot, namespace_of: NDArray[np.int64], pairs: _Pairs) -> dict[int, list[str]]:
    """Return for each namespace the names of the business objects of most of its tools; equal ones by name."""
    unique = np.unique(np.stack(pairs, axis=1), axis=0)
    tools, nodes = unique[unique[:, 0] < snapshot.tool_count].T
    found, counts = np.unique(np.stack((namespace_of[tools], nodes), axis=1), axis=0, return_counts=True)
    names: defaultdict[int, list[str]] = defaultdict(list)
    for row in np.lexsort((found[:, 1], -counts, found[:, 0])):  # nodes are numbered by their keys
        namespace, node = map(int, found[row])
        if len(names[namespace]) < _MOST_OBJECTS:
            type_, _, name = snapshot.node_key(node).partition(":")
            if type_ == "business_object" and len(name) <= _MOST_CHARS and len(name.split()) <= _MOST_WORDS:
                names[namespace].append(name)
    return dict(names)


_POINT_TO_CONSUMER = frozenset({"supplies"})
_POINT_TO_SUPPLIER = frozenset({"resolved_by", "depends_on"})
_ALL = _POINT_TO_CONSUMER | _POINT_TO_SUPPLIER


def supplier_edges(snapshot: Snapshot, tool: int, predicates: Collection[str] = _ALL) -> Iterator[tuple[int, int, str]]:
    """Yield number, supplier and predicate of the edges by which other tools supply a tool: outgoing ones, then incoming ones."""
    outgoing, incoming = (each.intersection(predicates) for each in (_POINT_TO_SUPPLIER, _POINT_TO_CONSUMER))
    return _edges_between(snapshot, tool, outgoing, incoming)


def consumer_edges(snapshot: Snapshot, tool: int) -> Iterator[tuple[int, int, str]]:
    """Yield number, consumer and predicate of the edges by which a tool supplies others: outgoing ones, then incoming ones."""
    return _edges_between(snapshot, tool, _POINT_TO_CONSUMER, _POINT_TO_SUPPLIER)


def _edges_between(
    snapshot: Snapshot, tool: int, outgoing: Collection[str], incoming: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    adjacency, names = snapshot.adjacency, snapshot.predicates
    for edges, ends, wanted in (
        (adjacency.out_edges(tool), adjacency.tails, outgoing),
        (adjacency.in_edges_of(tool), adjacency.heads, incoming),
    ):
        if not len(edges):
            continue
        wanted_P = np.array([name in wanted for name in names])
        for edge in map(int, edges[wanted_P[adjacency.predicates[edges]]]):
            other = int(ends[edge])
            if other < snapshot.tool_count and other != tool:
                yield edge, other, names[adjacency.predicates[edge]]


def snapshot_graph(snapshot: Snapshot) -> nx.MultiDiGraph[str]:
    """Return the graph that the snapshot was written from: same nodes, edges, keys and attributes."""
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(ontology=snapshot.manifest.ontology.name)
    keys: list[str] = []
    for number, node in enumerate(snapshot.nodes):
        key = snapshot.node_key(number)
        keys.append(key)
        graph.add_node(
            key,
            type=node.type,
            id=key.partition(":")[2],
            name=node.name,
            text=snapshot.node_text(number),
            degree=snapshot.adjacency.degree(number),
            surface_forms=node.surface_forms,
            **({"aliases": node.aliases} if node.aliases else {}),
        )
    adjacency = snapshot.adjacency
    for number, edge in enumerate(snapshot.edges):
        graph.add_edge(
            keys[adjacency.heads[number]],
            keys[adjacency.tails[number]],
            key=edge.key,
            predicate=snapshot.predicates[adjacency.predicates[number]],
            confidence=float(adjacency.confidences[number]),
            phrases=edge.phrases,
            provenance=edge.provenance,
            evidence_count=edge.evidence_count,
            **{name: value for name in EDGE_DETAILS if (value := getattr(edge, name))},
        )
    return graph
