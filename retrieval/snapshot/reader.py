"""Read access to a snapshot: one immutable folder with one id. Its arrays and records are memory-mapped."""

from __future__ import annotations

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d
from ontology.errors import NotFoundError, SnapshotCorruptError
from ontology.tool import Tool, is_own_profile, may_be_own_profile, tool_text
from ontology.tool_graph import Aliases, SurfaceForms
from retrieval.index.adjacency import GRAPH, Adjacency
from retrieval.index.bm25 import FIELDS, NAMES, Bm25Index, name_key, read_postings
from retrieval.index.edge_records import EdgeRecords
from retrieval.index.filters import FilterIndex
from retrieval.index.lookup import Lookup, PrefixIndex
from retrieval.index.phrases import PHRASES_FIELD, read_phrases
from retrieval.index.records import Records, Texts, read_columns
from retrieval.index.value_shapes import ValueShapes
from retrieval.index.vectors import NodeVectors
from retrieval.learned import PastRequests, read_past_requests
from retrieval.snapshot.manifest import (
    KEYS,
    NAME_VECTORS,
    NGRAMS,
    NODE_KEYS,
    NODE_VECTORS,
    NODES,
    TOOLS,
    Manifest,
    verify_snapshot,
)
from retrieval.snapshot.publish import ServingLease, current_snapshot, serving_lease


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """A node."""

    type: str  # entity type
    name: str  # canonical name; for a tool its title
    text: str  # the text that is embedded; empty for a tool, whose text comes from its own record
    surface_forms: SurfaceForms  # each form in which documents write it, with its number of occurrences
    aliases: Aliases = ()  # each other name that is declared for it, with its origin

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> NodeRecord:
        """Return the record for a JSON form."""
        forms = tuple((str(form), int(count)) for form, count in row["forms"])
        aliases = tuple((str(alias), str(origin)) for alias, origin in row.get("aliases", ()))
        if not all(isinstance(row[name], str) for name in ("type", "name", "text")):
            raise TypeError("a name of a node is no text")
        return cls(type=row["type"], name=row["name"], text=row["text"], surface_forms=forms, aliases=aliases)


_MASKS = 16


def open_snapshot(store: Path, *, verify: bool = True) -> Snapshot:
    """Open the published snapshot of a store, or a snapshot folder itself. It is not collected while it is open.

    :param verify: check the SHA-256 of every file first.
    :raises NotFoundError: when the store has no published snapshot.
    :raises SnapshotVersionError: when it has another format version.
    :raises SnapshotSignatureError: when ``EGOTOOLS_TRUSTED_KEYS`` is set and none of these keys has signed it.
    :raises SnapshotCorruptError: naming the file that is missing, truncated or altered.
    """
    while True:  # the snapshot may be collected at this moment, after another one was published
        folder = current_snapshot(store)
        try:
            lease = serving_lease(folder)
            break
        except NotFoundError:
            if current_snapshot(store) == folder:
                raise
    manifest = verify_snapshot(folder, digests=verify)
    if folder != store and manifest.snapshot_id != folder.name:
        problem = f"the folder has another snapshot ({manifest.snapshot_id})"
        raise SnapshotCorruptError(problem, subject=str(folder), remedy="Build again")
    try:
        return Snapshot(folder, manifest, lease)
    except (OSError, ValueError, TypeError, EOFError, RuntimeError) as error:
        raise SnapshotCorruptError(f"the snapshot cannot be read: {error}", subject=str(folder)) from error


_Filters: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def _kept_masks(filters: FilterIndex, adjacency: Adjacency) -> Callable[[_Filters], NDArray[np.bool_]]:
    """The function from filters to the mask of the nodes that pass them; it keeps the last masks, a byte for each node."""

    @lru_cache(maxsize=_MASKS)
    def mask(wanted: _Filters) -> NDArray[np.bool_]:
        allowed = adjacency.around(filters.passing(dict(wanted)))
        allowed.flags.writeable = False
        return allowed

    return mask


def _find(node_keys: Texts, keys: Lookup, key: str) -> int | None:
    return next((int(number) for number in keys[key] if node_keys[int(number)] == key), None)


def tool_functions(node_keys: Texts, keys: Lookup) -> tuple[Callable[[int], str], Callable[[str], int | None]]:
    """Return the function from a tool's number to its id, and that from an id to the number; None for an unknown id."""
    return (
        lambda number: node_keys[number].removeprefix("tool:"),
        lambda tool_id: _find(node_keys, keys, f"tool:{tool_id}"),
    )


class Snapshot:
    """Read access to one snapshot. Thread-safe and immutable. The lease of the folder is held as long as this is
    referred to."""

    def __init__(self, folder: Path, manifest: Manifest, lease: ServingLease) -> None:
        self._lease = lease
        self.folder = folder
        self.manifest = manifest
        self.id = manifest.snapshot_id
        self.predicates = manifest.predicates
        self.abbreviations: Mapping[str, str] = manifest.abbreviations
        self.tools = Records(folder / TOOLS, Tool.from_json)
        self.nodes = Records(folder / NODES, NodeRecord.from_json)
        self.edges = EdgeRecords(folder)
        self._node_keys = Texts(folder / NODE_KEYS)
        self.adjacency = read_columns(folder, GRAPH, Adjacency)
        self.vectors = NodeVectors(folder, NODE_VECTORS, tool_count=len(self.tools))
        self.name_vectors = NodeVectors(folder, NAME_VECTORS, tool_count=len(self.tools))
        fields = (*FIELDS, PHRASES_FIELD) if manifest.phrases else FIELDS
        size = len(self.tools)
        self.fields = {field: Bm25Index(read_postings(folder, field), size) for field in fields}
        self.phrase_vectors = (
            read_phrases(folder, tools=size, dimensions=manifest.encoder.dimensions) if manifest.phrases else None
        )
        self.names_index = Bm25Index(read_postings(folder, NAMES), size)
        self.ngrams = Lookup(folder, NGRAMS)
        self._keys = Lookup(folder, KEYS)
        self.value_shapes = ValueShapes(folder, size)
        # Functions over the indexes, not methods: a snapshot in a cycle would stay in memory after its last use.
        tool_id, find_tool = tool_functions(self._node_keys, self._keys)
        self.filters = FilterIndex(folder, size, tool_id, find_tool)
        self._mask = _kept_masks(self.filters, self.adjacency)
        self.learned: PastRequests | None = None
        if (section := manifest.learned) is not None:
            self.learned = read_past_requests(folder, min_reporters=section.min_reporters, weight=section.weight)

    def release(self) -> None:
        """Let the folder be collected from now on, before this object is; twice is harmless. What is open stays readable."""
        self._lease.close()

    @property
    def tool_count(self) -> int:
        """Number of tools. The tools are the first nodes: tool ``i`` is node ``i``."""
        return len(self.tools)

    @cached_property
    def tool_numbers(self) -> NDArray[np.int64]:
        """The numbers of the tools that whoever reads may see, ascending, int64: of a whole snapshot all."""
        return np.arange(self.tool_count)

    @property
    def visible_count(self) -> int:
        """The number of these tools."""
        return len(self.tool_numbers)

    @property
    def known_predicates(self) -> tuple[str, ...]:
        """The predicates that whoever reads may know."""
        return self.predicates

    @property
    def node_counts(self) -> Mapping[str, int]:
        """Type → number of nodes."""
        return self.manifest.counts.nodes

    @property
    def edge_counts(self) -> Mapping[str, int]:
        """Predicate → number of edges."""
        return self.manifest.counts.edges

    def tool(self, number: int) -> Tool:
        """Return the tool with this number."""
        return self.tools[number]

    def tool_id(self, number: int) -> str:
        """Return the id of the tool with this number."""
        return self.node_key(number).removeprefix("tool:")

    def tool_number(self, tool_id: str) -> int:
        """Return the number of the tool with this id.

        :raises NotFoundError: for an unknown id.
        """
        number = self.find_node(f"tool:{tool_id}")
        if number is None:
            remedy = "Search for it by what it does"
            raise NotFoundError("the catalogue has no such tool", subject=tool_id, remedy=remedy)
        return number

    def node_key(self, number: int) -> str:
        """Return the key of a node, ``type:name``."""
        return self._node_keys[number]

    def find_node(self, key: str) -> int | None:
        """Return the number of the node with this key, or None."""
        return _find(self._node_keys, self._keys, key)

    def node_text(self, number: int) -> str:
        """Return the text of a node, which is embedded and shown."""
        return tool_text(self.tool(number)) if number < self.tool_count else self.nodes[number].text

    def allowed(self, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_] | None:
        """Return the mask of the nodes that pass the filters, bool [nodes]; None without filters.

        A tool must match every filter (see :mod:`retrieval.index.filters`); any other node must have an edge to an allowed tool.
        The masks of the last 16 combinations of filters are kept: callers ask with the same ones. The mask is read-only.

        :raises InvalidArgumentError: for an unknown key and a value that no tool has, with the known ones.
        """
        return self._mask(tuple(sorted((key, tuple(values)) for key, values in filters.items()))) if filters else None

    def only_tools(self, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Return the mask of the tools among the allowed nodes, bool [nodes]; None allows all nodes."""
        mask = np.zeros(len(self.nodes), dtype=bool)
        mask[: self.tool_count] = True if allowed is None else allowed[: self.tool_count]
        return mask

    def with_predicate(self, name: str) -> NDArray[np.bool_]:
        """Return the mask of the edges with a predicate, bool [edges]."""
        number = self.predicates.index(name) if name in self.predicates else -1
        return np.asarray(self.adjacency.predicates == number)

    def without(self, predicates: Collection[str]) -> Snapshot:
        """Return this snapshot without the edges of these predicates. The id is the same: for measurements only."""
        hidden = [number for number, name in enumerate(self.predicates) if name in predicates]
        kept = np.flatnonzero(~np.isin(self.adjacency.predicates, hidden))
        view = copy.copy(self)
        vars(view).clear()
        vars(view).update(self.stored())
        view.edges = self.edges.subset(kept)
        view.adjacency = self.adjacency.subset(kept)
        view._mask = _kept_masks(self.filters, view.adjacency)
        return view

    def stored(self) -> dict[str, Any]:
        """The attributes but for what was computed of them, which another view of the snapshot computes for itself."""
        kind = type(self)
        return {
            name: each
            for name, each in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    def idf(self, node: int) -> float:
        """Return the inverse document frequency of a node, > 0: ``ln(1 + tools / (1 + edges to tools))``."""
        return math.log1p(self.visible_count / (1 + int(self.tool_degrees[node])))

    @cached_property
    def boosts(self) -> Floats1d | None:
        """The boost of each tool in standard deviations of the scores, float32 [tools], in [-1, 1]; None where no tool has one."""
        if not self.manifest.boosts:
            return None
        boosts = np.zeros(self.tool_count, dtype=np.float32)
        for tool_id, boost in self.manifest.boosts.items():
            boosts[self.tool_number(tool_id)] = boost
        return boosts

    @cached_property
    def tool_systems(self) -> NDArray[np.int64]:
        """The node of the system that each tool belongs to, int64 [tools]; -1 for a tool without one."""
        systems, edges = np.full(self.tool_count, -1, dtype=np.int64), self.adjacency
        found = self.with_predicate("has_system") & (edges.heads < self.tool_count)
        systems[edges.heads[found]] = edges.tails[found]
        return systems

    @cached_property
    def system_by_namespace(self) -> dict[str, int]:
        """The node of the system that most tools of a namespace belong to, by its canonical name without spaces (``route53``)."""
        found: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for namespace, tools in self.filters.tools_by_value("namespace"):
            found[name_key(namespace).replace(" ", "")].update(self.tool_systems[tools].tolist())
        most = ((key, *systems.most_common(1)[0]) for key, systems in found.items())
        return {key: node for key, node, count in most if node >= 0 and 2 * count > found[key].total()}

    @cached_property
    def identified(self) -> PrefixIndex:
        """The entities that some parameter identifies, by what the prefix of an identifier abbreviates."""
        nodes = np.unique(self.adjacency.tails[self.with_predicate("identifies")])
        return PrefixIndex((self.node_key(int(node)).partition(":")[2], int(node)) for node in nodes)

    @cached_property
    def own_profiles(self) -> tuple[int, ...]:
        """The numbers of the tools that say who calls them, ascending."""
        return tuple(
            tool
            for tool in range(self.tool_count)
            if may_be_own_profile(self.tool_id(tool)) and is_own_profile(self.tool(tool))
        )

    @cached_property
    def systems(self) -> frozenset[int]:
        """The nodes of the systems that tools belong to."""
        return frozenset(self.tool_systems.tolist()) - {-1}

    @cached_property
    def system_count(self) -> int:
        """The number of systems that the tools belong to; 0 where more than a tenth of the tools has no system."""
        return len(self.systems) if 10 * int((self.tool_systems >= 0).sum()) >= 9 * self.visible_count else 0

    @cached_property
    def tool_degrees(self) -> NDArray[np.int32]:
        """The number of edges between each node and tools, int32 [nodes]: how common it is in the catalogue."""
        return self.adjacency.tool_degrees(self.tool_count, len(self.nodes))
