"""The interface ``Engine``: what a server needs from one loaded snapshot.

An engine never changes: another snapshot is another engine. A caller that holds one reference during a call gets all its
results from one snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

from egotools.values import CatalogInfo, EgoGraph, GraphEdge, GraphNode, NamespaceSummary, OntologyInfo, ToolPlan
from inference import allowed_by_environment, load_encoder, load_reranker, require_allowed_model
from inference.encoder import Encoder, Reranker
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.tool import Tool
from retrieval.index.bm25 import terms
from retrieval.presets import DEFAULT_PRESET, make_presets, preset_named
from retrieval.query.request import PlanRequest
from retrieval.ranking.weights import FUSION
from retrieval.retriever import Retriever
from retrieval.snapshot.graph_views import summarize_namespaces
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.visible import VisibleSnapshots
from retrieval.tool_planner import ToolPlanner

__all__ = ["Engine", "SnapshotEngine", "open_engine", "open_reranker"]


class Engine(Protocol):
    """One loaded snapshot. Every method is thread-safe."""

    @property
    def snapshot_id(self) -> str:
        """The snapshot's id: its content hash."""

    def retriever(self, preset: str = "") -> Retriever:
        """Return the retriever with this name; an empty name means the default preset.

        :raises InvalidArgumentError: for an unknown name, with subject ``preset`` and the list of presets.
        """

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Return the calls that lead to goal tools, in order.

        :raises NotFoundError: naming a goal that the catalogue does not have.
        :raises InvalidArgumentError: for an unknown preset.
        :raises DeadlineError: between two stages, when the caller no longer waits.
        """

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id.

        :raises NotFoundError: for an unknown id.
        """

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """Return the ego graph of a node.

        :param node: a node key (``type:name``) or a tool id.
        :param predicates: only edges with these predicates; empty means all.
        :param limit: maximum number of edges, 1 or more.
        :raises NotFoundError: for an unknown node.
        """

    def catalog(self) -> CatalogInfo:
        """Return the description of the snapshot: models, counts and presets."""

    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        """Return what the tools of each namespace are about; see :attr:`egotools.values.CatalogInfo.namespaces`."""

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Return up to ``limit`` tool ids from position ``offset``, in the snapshot's order; empty past the end."""

    def known_terms(self, text: str) -> frozenset[str]:
        """Return the index terms of a text that documents of the catalogue have."""

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        """Return the engine of the tools that pass filters: for whoever asks it, no other tool exists.

        It is returned at once, and prepared at its first use, which is to be on a worker.

        :param filters: as in :attr:`egotools.values.Query.filters`; a value that no tool has lets no tool pass.
        """


class RestrictedEngine:
    """The implementation of :class:`retrieval.engine.Engine` over the visible part of another. Thread-safe.

    :param snapshot_id: the id of the snapshot, which is that of the whole.
    :param make: makes the engine of the visible part; called once, by the first call that needs it.
    """

    def __init__(self, snapshot_id: str, make: Callable[[], Engine]) -> None:
        self.snapshot_id = snapshot_id
        self._make = make
        self._made: Engine | None = None
        self._lock = threading.Lock()

    @property
    def _engine(self) -> Engine:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def retriever(self, preset: str = "") -> Retriever:
        """Return the retriever with this name over the visible tools."""
        return self._engine.retriever(preset)

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Return the calls that lead to goal tools, of visible tools; a hidden goal is not found."""
        return self._engine.plan(request)

    def tool(self, tool_id: str) -> Tool:
        """Return a visible tool; a hidden one is not found."""
        return self._engine.tool(tool_id)

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """Return the visible part of the ego graph of a node."""
        return self._engine.neighbors(node, predicates=predicates, limit=limit)

    def catalog(self) -> CatalogInfo:
        """Return the description of the snapshot, with the counts of what is visible."""
        return self._engine.catalog()

    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        """Return what the visible tools of each namespace are about."""
        return self._engine.namespaces()

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Return up to ``limit`` ids of visible tools from position ``offset`` among these."""
        return self._engine.tool_ids(offset, limit)

    def known_terms(self, text: str) -> frozenset[str]:
        """Return the index terms of a text that visible tools have."""
        return self._engine.known_terms(text)

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        """Return the engine of a part of the visible part."""
        return RestrictedEngine(self.snapshot_id, lambda: self._engine.restricted(filters))


_RESTRICTED = 64  # engines for callers that see a part of the catalogue


def open_engine(
    store: Path,
    *,
    reranker: Reranker | None = None,
    encoder: Encoder | None = None,
    allowed_models: Sequence[str] = (),
    load: Callable[[str], Encoder] = load_encoder,
    baselines: bool = True,
) -> SnapshotEngine:
    """Open the published snapshot of a store with the encoder that made it.

    :param encoder: must be the encoder that the manifest names; None loads it by that name.
    :param allowed_models: names of encoders that the snapshot may name, beside the embedded ones and those of the
        environment variable ``EGOTOOLS_ALLOWED_MODELS``. They do not matter where ``encoder`` is given.
    :param load: returns the encoder with a name that is allowed; several engines of a process may share it.
    :param baselines: whether it has the presets to compare with.
    :raises ModelNotAllowedError: when it names another encoder; nothing is imported or contacted then.
    :raises SnapshotError: when the snapshot cannot be used.
    :raises MissingExtraError: when its encoder needs an extra that is not installed.
    """
    snapshot = open_snapshot(store)
    made_with = snapshot.manifest.encoder
    if encoder is None:
        require_allowed_model(
            made_with.name, (*allowed_models, *allowed_by_environment()), subject=str(snapshot.folder)
        )
        encoder = load(made_with.name)
    if (encoder.name, encoder.digest) != (made_with.name, made_with.sha256):
        raise InvalidArgumentError(
            f"the snapshot was made with the encoder {made_with.name!r} (weights {made_with.sha256[:12] or 'unknown'}), "
            f"not {encoder.name!r} (weights {encoder.digest[:12] or 'unknown'})",
            subject="encoder",
            remedy="Build the snapshot again with this encoder",
        )
    return SnapshotEngine(snapshot, encoder, reranker, baselines=baselines)


def open_reranker(name: str, load: Callable[[str], Reranker] = load_reranker) -> Reranker | None:
    """The reranker with this name; None for the fusion of features, which needs no model.

    :param load: returns the reranker with a name.
    """
    return None if name == FUSION else load(name)


class SnapshotEngine:
    """The implementation of :class:`retrieval.engine.Engine` over a snapshot folder. Thread-safe."""

    def __init__(
        self, snapshot: Snapshot, encoder: Encoder, reranker: Reranker | None = None, *, baselines: bool = True
    ) -> None:
        self.snapshot = snapshot
        self.encoder = encoder
        self._presets = make_presets(snapshot, encoder, reranker, baselines=baselines)
        self._reranker = reranker
        self._planner = ToolPlanner(snapshot)
        views = VisibleSnapshots(snapshot)
        self._restricted = lru_cache(_RESTRICTED)(
            lambda filters: RestrictedEngine(
                snapshot.id,
                lambda: SnapshotEngine(views.of(dict(filters)), encoder, reranker, baselines=baselines),
            )
        )

    @property
    def snapshot_id(self) -> str:
        """The snapshot's id: its content hash."""
        return self.snapshot.id

    def retriever(self, preset: str = "") -> Retriever:
        """Return the retriever with this name; an empty name means the default preset.

        :raises InvalidArgumentError: listing the presets.
        """
        return preset_named(self._presets, preset)

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Return the calls that lead to goal tools, in order; see :meth:`retrieval.tool_planner.ToolPlanner.plan`."""
        return self._planner.plan(request, self.retriever(request.preset))

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id.

        :raises NotFoundError: for an unknown id.
        """
        return self.snapshot.tool(self.snapshot.tool_number(tool_id))

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """Return the ego graph of a node; edges in order of decreasing confidence.

        :param node: a node key or a tool id.
        :raises NotFoundError: for an unknown node.
        :raises InvalidArgumentError: for an unknown predicate.
        """
        snapshot, adjacency = self.snapshot, self.snapshot.adjacency
        number = self._find(node)
        unknown = sorted(set(predicates) - set(snapshot.known_predicates))
        if unknown:
            raise InvalidArgumentError(
                f"unknown predicate {unknown[0]!r}",
                subject="predicates",
                remedy=f"Known: {', '.join(snapshot.known_predicates)}",
            )
        names = set(predicates) or set(snapshot.predicates)
        wanted = {place for place, name in enumerate(snapshot.predicates) if name in names}
        edges = sorted(
            {
                int(edge)
                for edges in (adjacency.out_edges(number), adjacency.in_edges(number))
                for edge in edges
                if int(adjacency.predicates[edge]) in wanted
            },
            key=lambda edge: (-float(adjacency.confidences[edge]), edge),
        )
        kept = list(map(self._edge, edges[:limit]))
        keys = {key for edge in kept for key in (edge.head, edge.tail)} - {snapshot.node_key(number)}
        return EgoGraph(
            center=self._node(number),
            nodes=tuple(self._node(end) for end in map(snapshot.find_node, sorted(keys)) if end is not None),
            edges=tuple(kept),
            total_degree=len(edges),
            snapshot_id=snapshot.id,
        )

    def catalog(self) -> CatalogInfo:
        """Return the description of the snapshot: models, counts and presets."""
        manifest = self.snapshot.manifest
        ontology = manifest.ontology
        return CatalogInfo(
            snapshot_id=self.snapshot.id,
            format_version=manifest.format_version,
            ontology=OntologyInfo(name=ontology.name, version=ontology.version, digest=ontology.sha256),
            tool_count=self.snapshot.visible_count,
            presets=tuple(sorted(self._presets)),
            default_preset=DEFAULT_PRESET,
            models={
                "encoder": manifest.encoder.name,
                "extractor": manifest.extractor,
                "reranker": self._reranker.name if self._reranker else FUSION,
            },
            node_counts=self.snapshot.node_counts,
            edge_counts=self.snapshot.edge_counts,
            created_by=dict([manifest.created_by.split(" ", 1)]),
            filter_keys=self.snapshot.filters.keys,
        )

    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        """Return what the tools of each namespace are about; made at the first call."""
        return self._namespaces

    @cached_property
    def _namespaces(self) -> tuple[NamespaceSummary, ...]:
        return summarize_namespaces(self.snapshot)

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Return up to ``limit`` tool ids from position ``offset``, in catalogue order."""
        return [self.snapshot.tool_id(int(number)) for number in self.snapshot.tool_numbers[offset : offset + limit]]

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        """Return the engine of the tools that pass filters; those of the last 64 combinations are kept."""
        return self._restricted(tuple((key, tuple(sorted(set(values)))) for key, values in sorted(filters.items())))

    def known_terms(self, text: str) -> frozenset[str]:
        """Return the index terms of a text that documents of the catalogue have."""
        whole = self.snapshot.fields["whole"]
        return frozenset(term for term in terms(text) if whole.frequency(term))

    def _find(self, node: str) -> int:
        for key in (node, f"tool:{node}"):
            number = self.snapshot.find_node(key)
            if number is not None:
                return number
        raise NotFoundError(
            "the graph has no such node", subject=node, remedy="Give a node key (type:name) or a tool id"
        )

    def _node(self, number: int) -> GraphNode:
        node, key = self.snapshot.nodes[number], self.snapshot.node_key(number)
        return GraphNode(
            key=key,
            type=node.type,
            name=node.name,
            degree=self.snapshot.adjacency.degree(number),
            tool_id=key.removeprefix("tool:") if node.type == "tool" else "",
            surface_forms=tuple(form for form, _ in node.surface_forms),
        )

    def _edge(self, number: int) -> GraphEdge:
        snapshot, edge = self.snapshot, self.snapshot.edges[number]
        return GraphEdge(
            head=snapshot.node_key(snapshot.adjacency.head(number)),
            predicate=snapshot.predicates[snapshot.adjacency.predicates[number]],
            tail=snapshot.node_key(snapshot.adjacency.tail(number)),
            confidence=round(float(snapshot.adjacency.confidences[number]), 6),
            phrase="; ".join(edge.phrases),
            provenance=edge.provenance,
        )
