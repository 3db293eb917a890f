"""The edges of a snapshot and of a segment under one numbering."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.json_object import canonical_text
from retrieval.delta.joined_records import JoinedRecords
from retrieval.delta.numbering import Numbering
from retrieval.delta.segment import Segment, SegmentEdge
from retrieval.index.adjacency import Adjacency, make_adjacency
from retrieval.index.records import Records
from retrieval.snapshot.graph_records import EdgeRecord
from retrieval.snapshot.reader import Snapshot

__all__ = ["JoinedEdges", "join_edges", "kept_edges", "new_edges"]


@dataclass(frozen=True, slots=True)
class JoinedEdges:
    """The adjacency of the joined graph, and the records of its edges."""

    adjacency: Adjacency
    records: Records[EdgeRecord]


def kept_edges(base: Snapshot, gone: Sequence[int], segment: Segment) -> NDArray[np.bool_]:
    """Return which edges of a snapshot stay without some of its tools, bool [edges].

    An edge between two other nodes falls where only documents of these tools state it. Of an edge with more evidence than its record
    names, some other tool is taken to state it.

    :param gone: numbers of these tools.
    """
    adjacency = base.adjacency
    lost = np.zeros(len(base.nodes), dtype=bool)
    lost[list(gone)] = True
    kept = ~(lost[adjacency.heads] | lost[adjacency.tails])
    around = {int(node) for tool in gone for node in adjacency.neighbours(tool) if node >= base.tool_count}
    ids = segment.gone
    for node in sorted(around):
        for edge in (*adjacency.out_edges(node), *adjacency.in_edges(node)):
            if kept[edge] and min(adjacency.head(edge), adjacency.tail(edge)) >= base.tool_count:
                record = base.edges[int(edge)]
                some = (record.evidence_count or 0) <= len(record.provenance)
                kept[edge] = not (some and all(place.tool_id in ids for place in record.provenance))
    return kept


def new_edges(
    base: Snapshot, kept: NDArray[np.bool_], segment: Segment, find: Callable[[str], int | None]
) -> list[SegmentEdge]:
    """Return the edges of a segment that the kept edges of a snapshot do not have; one that both have stays as it is there.

    Both can have only an edge between nodes that are no tools, whose key is its predicate.

    :param find: key → number of a node of the snapshot.
    """
    adjacency = base.adjacency
    predicates = {name: number for number, name in enumerate(base.predicates)}

    def is_new(edge: SegmentEdge) -> bool:
        head, tail = find(edge.head), find(edge.tail)
        if head is None or tail is None or min(head, tail) < base.tool_count:
            return True
        found = adjacency.out_edges(head)
        same = (adjacency.tails[found] == tail) & (adjacency.predicates[found] == predicates[edge.predicate])
        return not kept[found[same]].any()

    return [edge for edge in segment.edges if is_new(edge)]


def join_edges(
    base: Snapshot,
    kept: NDArray[np.bool_],
    added: Iterable[SegmentEdge],
    numbering: Numbering,
    keys: Mapping[str, int],
    *,
    removed: Collection[str],
) -> JoinedEdges:
    """Return the joined graph; edges are numbered by head, tail and key, as in a build.

    :param keys: node key → new number, of all ends of the added edges.
    :param removed: ids of tools whose documents are no evidence any more.
    """
    predicates = {name: number for number, name in enumerate(base.predicates)}
    new = sorted(added, key=lambda edge: (keys[edge.head], keys[edge.tail], edge.record.key))
    adjacency, size = base.adjacency, numbering.size
    edges = np.flatnonzero(kept)
    heads, tails = numbering.of_base[adjacency.heads[edges]], numbering.of_base[adjacency.tails[edges]]
    numbers = adjacency.predicates[edges]
    new_heads = np.asarray([keys[edge.head] for edge in new], dtype=np.int64)
    new_tails = np.asarray([keys[edge.tail] for edge in new], dtype=np.int64)
    new_numbers = np.asarray([predicates[edge.predicate] for edge in new], dtype=np.uint8)
    at = np.searchsorted(_place(heads, tails, numbers, size), _place(new_heads, new_tails, new_numbers, size))
    joined = make_adjacency(
        size,
        heads=np.insert(heads, at, new_heads).astype(np.int32),
        tails=np.insert(tails, at, new_tails).astype(np.int32),
        predicates=np.insert(numbers, at, new_numbers),
        confidences=np.insert(
            adjacency.confidences[edges], at, np.asarray([edge.confidence for edge in new], dtype=np.float32)
        ),
    )
    rows = [canonical_text(edge.record.to_json()) for edge in new]
    origins = np.insert(edges, at, -1 - np.arange(len(new)))
    return JoinedEdges(joined, JoinedRecords(base.edges, rows, origins, partial(_record, frozenset(removed))))


def _record(removed: frozenset[str], row: Any) -> EdgeRecord:
    record = EdgeRecord.from_json(row)
    if not any(place.tool_id in removed for place in record.provenance):
        return record
    places = tuple(place for place in record.provenance if place.tool_id not in removed)
    count = record.evidence_count
    lost = len(record.provenance) - len(places)
    return replace(record, provenance=places, evidence_count=None if count is None else count - lost)


def _place(
    heads: NDArray[np.int64], tails: NDArray[np.int64], predicates: NDArray[np.uint8], size: int
) -> NDArray[np.int64]:
    """Numbers in the order of the edges. Predicates are numbered by name, so an edge's key, which begins with it, comes in its order."""
    return (heads * size + tails) * 256 + predicates
