"""What goes into a call and what comes out of it: frozen values, apart from the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Answer",
    "Catalog",
    "Dependency",
    "EgoGraph",
    "EntryMatch",
    "FoundTool",
    "GraphEdge",
    "GraphNode",
    "OntologyInfo",
    "Parameter",
    "ParameterBinding",
    "Provenance",
    "Query",
    "Reasons",
    "Tool",
    "TraversedEdge",
]


@dataclass(frozen=True, slots=True)
class Query:
    """One request of a batch.

    :param query: the request in plain words, 1 to 20,000 characters.
    :param k: how many tools at most, 1 to 1,000.
    :param filters: metadata key → allowed values; a tool must match every key.
    :param preset: name of the retriever; empty: the server's default.
    :param explain: whether the answer says why.
    :param schema_format: ``none``, ``openai``, ``anthropic`` or ``mcp``.
    :param auto_k: as few tools as are expected to be enough, at most ``k``; none where no tool fits.
    """

    query: str
    k: int = 10
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preset: str = ""
    explain: bool = True
    schema_format: str = "none"
    auto_k: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """A node of the graph that the request matched; ``score`` is a cosine (semantic) or an inverse document frequency."""

    node: str
    kind: str
    text: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversedEdge:
    """An edge that joins an entry node and the tool; confidence in [0, 1]."""

    head: str
    predicate: str
    tail: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterBinding:
    """A required input of the tool and what supplies it; ``supplier`` is empty when no returned tool does."""

    parameter: str
    supplier: str
    output: str
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """Why a tool was returned; all empty when the request did not ask."""

    entries: tuple[EntryMatch, ...] = ()
    edges: tuple[TraversedEdge, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    bindings: tuple[ParameterBinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """One tool of an answer; ``rank`` counts from 1, ``score`` is comparable within one answer only.

    :param schema_json: the call schema as JSON, in the form that was asked for, or empty.
    :param probability: in [0, 1], that a request which is served needs it; None where the preset does not know.
    """

    id: str
    name: str
    title: str
    description: str
    namespace: str
    score: float
    rank: int
    schema_json: str = ""
    reasons: Reasons = field(default_factory=Reasons)
    probability: float | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The call schema, to be handed to a model; empty when none was asked for."""
        return _object(self.schema_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The tools that a request needs, best first.

    :param snapshot_id: the snapshot that answered.
    :param timings_ms: stage → milliseconds in the server.
    :param fallbacks: what was left out and why; empty when nothing was.
    :param answerable_probability: in [0, 1], that some tool serves the request, reckoned as if every second request were served
        by none; None where the preset does not know.
    :param unanswerable: whether that is below what 95 of 100 served requests have.
    """

    tools: tuple[FoundTool, ...]
    snapshot_id: str
    preset: str
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    answerable_probability: float | None = None
    unanswerable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An input or output of a tool; nested fields by dotted path (``items[].order_id``)."""

    name: str
    type: str
    description: str = ""
    required: bool = False
    enum: tuple[str, ...] = ()
    location: str = ""
    format: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A dependency that the tool's source declares."""

    tool_id: str
    parameter: str = ""
    output: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool in full.

    :param metadata: JSON values by key.
    :param schema_json: the call schema as JSON, in the form that was asked for, or empty.
    :param snapshot_id: the snapshot that it is from.
    """

    id: str
    name: str
    title: str
    description: str
    namespace: str
    parameters: tuple[Parameter, ...] = ()
    returns: tuple[Parameter, ...] = ()
    depends_on: tuple[Dependency, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    schema_json: str = ""
    snapshot_id: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """The call schema, to be handed to a model; empty when none was asked for."""
        return _object(self.schema_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node of the tool graph; ``key`` is ``type:name``, ``tool_id`` empty unless it is a tool."""

    key: str
    type: str
    name: str
    degree: int
    tool_id: str = ""
    surface_forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where an edge was read; ``start`` and ``end`` are -1 where a whole field is the evidence."""

    tool_id: str
    field: str
    extractor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A directed edge of the tool graph between two node keys; confidence in [0, 1]."""

    head: str
    predicate: str
    tail: str
    confidence: float
    phrase: str = ""
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoGraph:
    """A node with its neighbours one edge away.

    :param total_degree: edges of the center under the predicates asked for, returned or not.
    :param truncated: whether the limit left edges out.
    """

    center: GraphNode
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    total_degree: int
    truncated: bool
    snapshot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OntologyInfo:
    """The ontology of a snapshot; ``digest`` is its SHA-256."""

    name: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What a server serves.

    :param models: role → name of the model.
    :param node_counts: entity type → number of nodes.
    :param edge_counts: predicate → number of edges.
    :param created_by: component → version that made the snapshot.
    :param tool_ids: one page of them.
    :param next_page_token: hand it back for the next page; empty on the last.
    """

    snapshot_id: str
    format_version: int
    ontology: OntologyInfo
    models: Mapping[str, str]
    tool_count: int
    node_counts: Mapping[str, int]
    edge_counts: Mapping[str, int]
    presets: tuple[str, ...]
    default_preset: str
    created_by: Mapping[str, str]
    tool_ids: tuple[str, ...] = ()
    next_page_token: str = ""


def _object(text: str) -> dict[str, Any]:
    if not text:
        return {}
    made = json.loads(text)
    return made if isinstance(made, dict) else {}
