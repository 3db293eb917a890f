"""One loaded snapshot: what a server and commands ask of it.

An engine never changes: another snapshot is another engine. A caller that holds one reference during a call gets all its
results from one snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

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

_RESTRICTED = 64  # engines for callers that see a part of the catalogue


@dataclass(frozen=True)
class _Loaded:
    """A snapshot with what answers over it. Nothing here refers to an engine: one in a cycle would stay in memory after its last use."""

    snapshot: Snapshot
    presets: dict[str, Retriever]
    planner: ToolPlanner
    parts: VisibleSnapshots


class Engine:
    """One loaded snapshot, or the part of it that some callers see. Thread-safe.

    :param baselines: whether it has the presets to compare with.
    :param visible: makes the part of the snapshot that is to be seen, at the first use, which is to be on a worker.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        reranker: Reranker | None = None,
        *,
        baselines: bool = True,
        visible: Callable[[], Snapshot] | None = None,
    ) -> None:
        self.snapshot_id = snapshot.id
        self.encoder = encoder
        self.reranker = reranker

        def load() -> _Loaded:
            seen = snapshot if visible is None else visible()
            presets = make_presets(seen, encoder, reranker, baselines=baselines)
            return _Loaded(seen, presets, ToolPlanner(seen), VisibleSnapshots(seen))

        loaded = load() if visible is None else None
        lock = threading.Lock()

        def loaded_once() -> _Loaded:
            nonlocal loaded
            with lock:
                loaded = loaded or load()
            return loaded

        self._loaded = loaded_once
        self._restricted = lru_cache(_RESTRICTED)(
            lambda filters: Engine(
                snapshot, encoder, reranker, baselines=baselines, visible=lambda: loaded_once().parts.of(dict(filters))
            )
        )

    @property
    def snapshot(self) -> Snapshot:
        """What is to be seen of the snapshot."""
        return self._loaded().snapshot

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        """Return the engine of the tools that pass filters, at once: for whoever asks it, no other tool exists. Those of the last 64
        combinations are kept.

        :param filters: as in :attr:`egotools.values.Query.filters`; a value that no tool has lets no tool pass.
        """
        return self._restricted(tuple((key, tuple(sorted(set(values)))) for key, values in sorted(filters.items())))

    def check_filters(self, filters: Mapping[str, Sequence[str]]) -> None:
        """Check the filters of an access policy.

        :raises InvalidArgumentError: naming a key or value that no tool has.
        """
        self.snapshot.filters.passing(filters, of_policy=True)

    def retriever(self, preset: str = "") -> Retriever:
        """Return the retriever with this name; an empty name means the default preset.

        :raises InvalidArgumentError: for an unknown name, with subject ``preset`` and the list of presets.
        """
        return preset_named(self._loaded().presets, preset)

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Return the calls that lead to goal tools, in order; see :meth:`retrieval.tool_planner.ToolPlanner.plan`."""
        return self._loaded().planner.plan(request, self.retriever(request.preset))

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id.

        :raises NotFoundError: for an unknown id.
        """
        return self.snapshot.tool(self.snapshot.tool_number(tool_id))

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """Return the ego graph of a node; edges in order of decreasing confidence.

        :param node: a node key (``type:name``) or a tool id.
        :param predicates: only edges with these predicates; empty means all.
        :param limit: maximum number of edges, 1 or more.
        :raises NotFoundError: for an unknown node.
        :raises InvalidArgumentError: for an unknown predicate.
        """
        snapshot, adjacency = self.snapshot, self.snapshot.adjacency
        numbers = (snapshot.find_node(key) for key in (node, f"tool:{node}"))
        number = next((each for each in numbers if each is not None), None)
        if number is None:
            remedy = "Give a node key (type:name) or a tool id"
            raise NotFoundError("the graph has no such node", subject=node, remedy=remedy)
        unknown = sorted(set(predicates) - set(snapshot.known_predicates))
        if unknown:
            remedy = f"Known: {', '.join(snapshot.known_predicates)}"
            raise InvalidArgumentError(f"unknown predicate {unknown[0]!r}", subject="predicates", remedy=remedy)
        names = set(predicates) or set(snapshot.predicates)
        at = {*adjacency.out_edges(number).tolist(), *adjacency.in_edges_of(number).tolist()}
        found = (edge for edge in at if snapshot.predicates[adjacency.predicates[edge]] in names)
        edges = sorted(found, key=lambda edge: (-float(adjacency.confidences[edge]), edge))
        kept = tuple(map(self._edge, edges[:limit]))
        keys = {key for edge in kept for key in (edge.head, edge.tail)} - {snapshot.node_key(number)}
        return EgoGraph(
            center=self._node(number),
            nodes=tuple(self._node(end) for end in map(snapshot.find_node, sorted(keys)) if end is not None),
            edges=kept,
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
            presets=tuple(sorted(self._loaded().presets)),
            default_preset=DEFAULT_PRESET,
            models={
                "encoder": manifest.encoder.name,
                "extractor": manifest.extractor,
                "reranker": self.reranker.name if self.reranker else FUSION,
            },
            node_counts=self.snapshot.node_counts,
            edge_counts=self.snapshot.edge_counts,
            created_by=dict([manifest.created_by.split(" ", 1)]),
            filter_keys=self.snapshot.filters.keys,
        )

    @cached_property
    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        """What the tools of each namespace are about; see :attr:`egotools.values.CatalogInfo.namespaces`."""
        return summarize_namespaces(self.snapshot)

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Return up to ``limit`` tool ids from position ``offset``, in the snapshot's order; empty past the end."""
        return [self.snapshot.tool_id(int(number)) for number in self.snapshot.tool_numbers[offset : offset + limit]]

    def known_terms(self, text: str) -> frozenset[str]:
        """Return the index terms of a text that documents of the catalogue have."""
        whole = self.snapshot.fields["whole"]
        return frozenset(term for term in terms(text) if whole.frequency(term))

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
            head=snapshot.node_key(snapshot.adjacency.heads[number]),
            predicate=snapshot.predicates[snapshot.adjacency.predicates[number]],
            tail=snapshot.node_key(snapshot.adjacency.tails[number]),
            confidence=round(float(snapshot.adjacency.confidences[number]), 6),
            phrase="; ".join(edge.phrases),
            provenance=edge.provenance,
        )


def open_engine(
    store: Path,
    *,
    reranker: Reranker | None = None,
    encoder: Encoder | None = None,
    allowed_models: Sequence[str] = (),
    load: Callable[[str], Encoder] = load_encoder,
    baselines: bool = True,
) -> Engine:
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
        allowed = (*allowed_models, *allowed_by_environment())
        require_allowed_model(made_with.name, allowed, subject=str(snapshot.folder))
        encoder = load(made_with.name)
    if (encoder.name, encoder.digest) != (made_with.name, made_with.sha256):
        raise InvalidArgumentError(
            f"the snapshot was made with the encoder {made_with.name!r} (weights {made_with.sha256[:12] or 'unknown'}), "
            f"not {encoder.name!r} (weights {encoder.digest[:12] or 'unknown'})",
            subject="encoder",
            remedy="Build the snapshot again with this encoder",
        )
    return Engine(snapshot, encoder, reranker, baselines=baselines)


def open_reranker(name: str) -> Reranker | None:
    """The reranker with this name; None for the fusion of features, which needs no model."""
    return None if name == FUSION else load_reranker(name)
