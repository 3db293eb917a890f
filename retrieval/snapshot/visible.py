"""The part of a snapshot that a caller may see. For every stage of retrieval, what is outside of it does not exist.

Visible are the tools that pass the caller's filters, the other nodes that have an edge to one of them, and the edges between these. An
edge between two nodes that are no tools is visible where the document of a visible tool states it. Tables of names and ids have no entry
for anything else: a hidden tool is looked up as one that never was, with the same answer in the same time.

Frequencies of terms and of nodes are those among the visible tools. Still those of the whole catalogue are: the mean length of the
fields of BM25, the weights of the words in a name, abbreviations, the confidence of an edge, the vectors of nodes that are no tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d
from ontology.tool import Tool
from retrieval.index.edge_records import EdgeRecord
from retrieval.snapshot.reader import NodeRecord, Snapshot, tool_functions


class VisibleSnapshots:
    """Makes the visible parts of one snapshot; what they share is read once."""

    def __init__(self, whole: Snapshot) -> None:
        self._whole = whole

    def of(self, filters: Mapping[str, Sequence[str]]) -> VisibleSnapshot:
        """Return the part that has the tools that pass filters; none where a filter wants a value that no tool has."""
        whole = self._whole
        tools = whole.filters.passing_if_known(filters)
        nodes = whole.adjacency.around(tools)
        heads, tails = whole.adjacency.heads, whole.adjacency.tails
        edges = nodes[heads] & nodes[tails]
        numbers, stating = self._statements
        stated = np.zeros(len(heads), dtype=bool)
        stated[numbers[tools[stating]]] = True
        edges &= stated | (np.minimum(heads, tails) < whole.tool_count)
        return VisibleSnapshot(whole, nodes, np.flatnonzero(edges))

    @cached_property
    def _statements(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which tools state the edges between two nodes that are no tools: pairs of an edge and a tool, int64 [pairs] each."""
        whole = self._whole
        between_others = np.minimum(whole.adjacency.heads, whole.adjacency.tails) >= whole.tool_count
        edges, tool_ids, tools = whole.edges.statements(between_others)
        numbers = (whole.find_node(f"tool:{tool_id}") for tool_id in tool_ids)
        number_P = np.asarray([-1 if number is None else number for number in numbers], dtype=np.int64)[tools]
        return edges[number_P >= 0], number_P[number_P >= 0]


class VisibleSnapshot(Snapshot):
    """A part of a snapshot, with its id and its numbers of nodes; see :class:`VisibleSnapshots`. Thread-safe and
    immutable. ``nodes``: the visible nodes, bool [nodes]. ``edges``: numbers of the visible edges, ascending, int64."""

    def __init__(self, whole: Snapshot, nodes: NDArray[np.bool_], edges: NDArray[np.int64]) -> None:
        vars(self).update(whole.stored())
        self._whole = whole
        self._visible = nodes
        self._tools = tools = nodes[: whole.tool_count]
        self.adjacency = whole.adjacency.subset(edges)
        self.nodes = whole.nodes.changed(_without_texts)
        self.fields = {field: index.restricted(tools) for field, index in whole.fields.items()}
        self.names_index = whole.names_index.restricted(tools, rescaled=False)
        self.ngrams = whole.ngrams.kept(nodes)
        self._keys = whole._keys.kept(nodes)
        # Functions over the indexes, not methods, as in a whole one: a snapshot in a cycle would stay in memory after its last use.
        _, find_tool = tool_functions(self._node_keys, self._keys)
        self.edges = whole.edges.subset(edges, partial(_without_hidden_places, find_tool))
        self.learned = whole.learned and whole.learned.renumbered(np.where(tools, np.arange(len(tools)), -1))
        self.value_shapes = whole.value_shapes.restricted(lambda tool: bool(tools[tool]))
        self.filters = whole.filters.restricted(tools, find_tool)

    @cached_property
    def tool_numbers(self) -> NDArray[np.int64]:
        """The numbers of the visible tools, ascending, int64."""
        return np.flatnonzero(self._tools)

    @cached_property
    def known_predicates(self) -> tuple[str, ...]:
        """The predicates of visible edges."""
        used = np.bincount(self.adjacency.predicates, minlength=len(self.predicates))
        return tuple(name for name, count in zip(self.predicates, used, strict=True) if count)

    @cached_property
    def node_counts(self) -> Mapping[str, int]:
        """Type → number of visible nodes."""
        types = Counter(self.node_key(int(node)).partition(":")[0] for node in np.flatnonzero(self._visible))
        return dict(sorted(types.items()))

    @cached_property
    def edge_counts(self) -> Mapping[str, int]:
        """Predicate → number of visible edges."""
        counts = np.bincount(self.adjacency.predicates, minlength=len(self.predicates))
        named = {name: int(count) for name, count in zip(self.predicates, counts, strict=True)}
        return {name: count for name, count in sorted(named.items()) if count}

    def tool(self, number: int) -> Tool:
        """Return the tool with this number; of what it depends on, the visible tools."""
        tool = super().tool(number)
        seen = tuple(each for each in tool.depends_on if self.find_node(f"tool:{each.tool}") is not None)
        return tool if len(seen) == len(tool.depends_on) else replace(tool, depends_on=seen)

    def node_text(self, number: int) -> str:
        """Return the text of a node; of one that is no tool its name."""
        return super().node_text(number) if number < self.tool_count else self.nodes[number].name

    def allowed(self, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        """Return the mask of the visible nodes that pass the filters, bool [nodes]; never None."""
        if not filters:
            return self._visible
        return self.adjacency.around(self.filters.passing(filters) & self._tools) & self._visible

    @cached_property
    def boosts(self) -> Floats1d | None:
        """The boost of each tool."""
        return self._whole.boosts

    @cached_property
    def own_profiles(self) -> tuple[int, ...]:
        """The numbers of the visible tools that say who calls them, ascending."""
        return tuple(tool for tool in self._whole.own_profiles if self._tools[tool])


def _without_hidden_places(find_tool: Callable[[str], int | None], edge: EdgeRecord) -> EdgeRecord:
    """An edge without the places in documents of other tools; the phrases are those of all places."""
    seen = tuple(place for place in edge.provenance if not place.tool_id or find_tool(place.tool_id) is not None)
    if len(seen) == len(edge.provenance):
        return edge
    return replace(edge, provenance=seen, phrases=(), evidence_count=len(seen))


def _without_texts(node: NodeRecord) -> NodeRecord:
    """A node without the spellings and texts that many documents gave it."""
    return node if node.type == "tool" else replace(node, surface_forms=(), text=node.name)
