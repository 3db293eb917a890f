"""Join a snapshot and a segment of changed tools to one snapshot, which every stage of retrieval reads as any other.

What differs from a build of the whole catalogue, until the next merge: names are made canonical with what the snapshot knows, so a
new spelling may stay a node of its own; a node or an edge that both have keeps the record of the snapshot; edges are derived between the
changed tools and those near them; the mean lengths of BM25 and the weights of names are those of the snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from egotools.usage_lines import UsageLines
from inference.encoder import Encoder
from ontology.json_object import canonical_text
from ontology.names import words
from ontology.profile_tools import is_own_profile, may_be_own_profile
from ontology.tool import Tool
from ontology.tool_text import tool_text
from ontology.usage_json import usage_from_json, usage_to_json
from retrieval.delta.joined_edges import join_edges, kept_edges, new_edges
from retrieval.delta.joined_lexical import joined_fields, joined_names
from retrieval.delta.joined_records import JoinedRecords, JoinedTexts
from retrieval.delta.joined_vectors import JoinedVectors
from retrieval.delta.numbering import Numbering, number_nodes
from retrieval.delta.segment import Segment, SegmentEdge
from retrieval.index.analysis import name_key
from retrieval.index.learned_use import LearnedUse
from retrieval.index.text_fields import FIELDS, filter_pairs
from retrieval.snapshot.graph_records import NodeRecord
from retrieval.snapshot.manifest import Counts, Manifest
from retrieval.snapshot.reader import Snapshot

__all__ = ["join"]

_Node = tuple[str, NodeRecord]


def join(base: Snapshot, segment: Segment, encoder: Encoder, snapshot_id: str) -> Snapshot:
    """Return the snapshot of the catalogue after the changes of a segment.

    :param base: a snapshot as it was built.
    :param encoder: the one that made its vectors.
    :param snapshot_id: the id of the joined snapshot.
    :raises ModelError: when the encoder is down.
    """
    find = cache(base.find_node)
    gone = [number for id_ in segment.gone if (number := find(f"tool:{id_}")) is not None]
    kept = kept_edges(base, gone, segment)
    edges = new_edges(base, kept, segment, find)
    tools = [segment.tools[id_] for id_ in sorted(segment.tools)]
    others = [(key, node) for key, node in segment.entities() if find(key) is None]
    dropped = {*gone, *_orphans(base, kept, edges, find)}
    numbering = number_nodes(base, dropped, [tool.id for tool in tools], [key for key, _ in others])
    return _Join(base, segment, numbering, tools, others, find).snapshot(kept, edges, gone, encoder, snapshot_id)


def _orphans(
    base: Snapshot, kept: NDArray[np.bool_], edges: Sequence[SegmentEdge], find: Callable[[str], int | None]
) -> NDArray[np.int64]:
    """The nodes of a snapshot, other than tools, that have no edge any more."""
    adjacency, size = base.adjacency, len(base.nodes)
    lost = np.flatnonzero(~kept)
    had = np.zeros(size, dtype=bool)
    had[adjacency.heads[lost]] = had[adjacency.tails[lost]] = True
    has = np.zeros(size, dtype=bool)
    has[adjacency.heads[kept]] = has[adjacency.tails[kept]] = True
    has[[number for edge in edges for key in (edge.head, edge.tail) if (number := find(key)) is not None]] = True
    orphans = np.flatnonzero(had & ~has)
    return orphans[orphans >= base.tool_count]


class _Join:
    """The parts of a joined snapshot.

    :param tools: the added tools, by id; ``others``: the added nodes that are no tools, by key.
    :param find: key → number of a node of the snapshot.
    """

    def __init__(
        self,
        base: Snapshot,
        segment: Segment,
        numbering: Numbering,
        tools: Sequence[Tool],
        others: Sequence[_Node],
        find: Callable[[str], int | None],
    ) -> None:
        self._base, self._segment, self._numbering = base, segment, numbering
        self._tools, self._others, self._find = tools, others, find
        keys = [*(f"tool:{tool.id}" for tool in tools), *(key for key, _ in others)]
        self._keys: Mapping[str, int] = dict(zip(keys, map(int, numbering.of_added), strict=True))

    def snapshot(
        self,
        kept: NDArray[np.bool_],
        edges: Sequence[SegmentEdge],
        gone: Sequence[int],
        encoder: Encoder,
        snapshot_id: str,
    ) -> Snapshot:
        """The joined snapshot."""
        base, numbering, tools = self._base, self._numbering, self._tools
        ends = {key: self._number(key) for edge in edges for key in (edge.head, edge.tail)}
        joined = join_edges(base, kept, edges, numbering, ends, removed=self._segment.removed)
        nodes = [self._node(f"tool:{tool.id}") for tool in tools] + [node for _, node in self._others]
        origins = numbering.origins
        of_tools = origins[: numbering.tool_count]
        texts = [tool_text(tool) for tool in tools] + [node.text for _, node in self._others]
        names = [" ".join(words(tool.title)) for tool in tools]
        vectors_AD = encoder.encode([*texts, *names]).astype(np.float16)
        snapshot = base.with_parts(
            id=snapshot_id,
            tools=JoinedRecords(base.tools, [tool.canonical_json() for tool in tools], of_tools, Tool.from_json),
            nodes=JoinedRecords(
                base.nodes, [canonical_text(node.to_json()) for node in nodes], origins, NodeRecord.from_json
            ),
            edges=joined.records,
            adjacency=joined.adjacency,
            vectors=JoinedVectors(base.vectors, vectors_AD[: len(texts)], numbering),
            name_vectors=JoinedVectors(base.name_vectors, vectors_AD[len(texts) :], numbering, tools_only=True),
            fields=joined_fields(base.fields, FIELDS, numbering, tools, base.tool),
            names_index=joined_names(base.names_index, numbering, tools),
            ngrams=base.ngrams.joined(numbering.of_base, self._ngrams(nodes)),
            value_shapes=base.value_shapes.joined(
                numbering.of_base,
                self._segment.shapes,
                {tool.id: self._keys[f"tool:{tool.id}"] for tool in tools},
                tool_count=numbering.tool_count,
            ),
            _usage=self._usage(of_tools),
            _node_keys=JoinedTexts(base.node_keys, list(self._keys), origins),
            _keys=base.keys.joined(numbering.of_base, self._keys.items()),
        )
        pairs = [
            (f"{key}={value}", self._keys[f"tool:{tool.id}"]) for tool in tools for key, value in filter_pairs(tool)
        ]
        filters = base.filters.joined(
            base.filters.table.joined(numbering.of_base, pairs),
            numbering.tool_count,
            snapshot.tool_id,
            lambda id_: snapshot.find_node(f"tool:{id_}"),
            added=tools,
            gone=[base.tool(number) for number in gone],
        )
        return snapshot.with_parts(
            learned=self._learned(snapshot),
            filters=filters,
            manifest=self._manifest(snapshot),
            own_profiles=self._own_profiles(),
        )

    def _number(self, key: str) -> int:
        if key in self._keys:
            return self._keys[key]
        number = self._find(key)
        return int(self._numbering.of_base[number]) if number is not None else -1

    def _node(self, key: str) -> NodeRecord:
        tool = self._segment.tools[key.removeprefix("tool:")]
        empty = NodeRecord(type="tool", name=tool.title, text="", surface_forms=())
        return self._segment.nodes.get(key, empty)

    def _ngrams(self, nodes: Sequence[NodeRecord]) -> list[tuple[str, int]]:
        found = []
        for (key, number), node in zip(self._keys.items(), nodes, strict=True):
            own = node.name if node.type == "tool" else key.partition(":")[2]
            found += [(name_key(name), number) for name in (own, *(alias for alias, _ in node.aliases))]
        return [(ngram, number) for ngram, number in found if ngram]

    def _usage(self, of_tools: NDArray[np.int64]) -> JoinedRecords[UsageLines] | None:
        lines = self._base.usage_records
        if lines is None:
            return None
        added = [usage_to_json(self._segment.usage.get(tool.id, UsageLines())) for tool in self._tools]
        return JoinedRecords(lines, list(map(canonical_text, added)), of_tools, usage_from_json)

    def _learned(self, snapshot: Snapshot) -> LearnedUse | None:
        base = self._base
        if base.learned is None:
            return None
        numbers = self._numbering.of_base[: base.tool_count].copy()
        for tool in np.flatnonzero(numbers < 0):  # removed, or replaced by one with the same id
            numbers[tool] = self._keys.get(base.node_key(int(tool)), -1)
        return base.learned.renumbered(numbers, lambda id_: snapshot.find_node(f"tool:{id_}") is not None)

    def _own_profiles(self) -> tuple[int, ...]:
        kept = (int(self._numbering.of_base[number]) for number in self._base.own_profiles)
        new = (
            self._keys[f"tool:{tool.id}"]
            for tool in self._tools
            if may_be_own_profile(tool.id) and is_own_profile(tool)
        )
        return tuple(sorted((*(number for number in kept if number >= 0), *new)))

    def _manifest(self, snapshot: Snapshot) -> Manifest:
        base, manifest = self._base, self._base.manifest
        types = Counter(manifest.counts.nodes)
        lost = np.flatnonzero(self._numbering.of_base < 0)
        types.subtract(base.node_key(int(number)).partition(":")[0] for number in lost)
        types.update(key.partition(":")[0] for key in self._keys)
        numbers = np.bincount(snapshot.adjacency.predicates, minlength=len(base.predicates))
        counts = Counts(
            tools=snapshot.tool_count,
            nodes={type_: count for type_, count in sorted(types.items()) if count},
            edges={name: int(count) for name, count in zip(base.predicates, numbers, strict=True) if count},
        )
        boosts = {
            id_: boost
            for id_, boost in (manifest.boosts or {}).items()
            if snapshot.find_node(f"tool:{id_}") is not None
        }
        return manifest.model_copy(update={"snapshot_id": snapshot.id, "counts": counts, "boosts": boosts or None})
