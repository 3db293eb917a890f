"""The values of the contract: arguments and results of the calls, for retrieval, server, command and client.

Every value is frozen. The field names are those of the messages in ``proto/egotools/v1/egotools.proto``, which documents each of them;
here stands what a reader of a program needs. Confidences and probabilities are in [0, 1], a probability that was not estimated is
None, and a text or number that a value does not have is empty or 0. An ``origin`` is the place in an overlay file that declares
something (``overlay.yaml:12``). This module imports the standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from egotools.call import Call
from egotools.client_errors import ToolRequestError

if TYPE_CHECKING:
    from egotools.calling.call_credentials import Credential
    from egotools.calling.tool_request import ToolRequest

__all__ = [
    "CatalogInfo",
    "Dependency",
    "EgoGraph",
    "EntryMatch",
    "GraphEdge",
    "GraphNode",
    "NamespaceSummary",
    "NeedResult",
    "OntologyInfo",
    "OpenInput",
    "Parameter",
    "ParameterBinding",
    "PlanInput",
    "PlanStep",
    "Provenance",
    "Query",
    "RankedTool",
    "Reasons",
    "Response",
    "Tool",
    "ToolPlan",
    "TraversedEdge",
]


@dataclass(frozen=True, slots=True)
class Query:
    """What a request asks.

    :param query: the request in plain words, 1 to 20,000 characters with at least one letter or digit.
    :param k: maximum number of tools, 1 to 1,000.
    :param filters: metadata key, or ``id``, → values; a tool must match every key. ``!value`` excludes, ``start*`` is any with that start.
    :param preset: name of the retriever; empty: the server's default.
    :param explain: whether each tool has its reasons and its explanation; ``explanation``: the latter alone.
    :param schema_format: ``none``, ``openai``, ``openai_strict``, ``anthropic`` or ``mcp``.
    :param auto_k: the server chooses the number of tools, 1 to ``k``.
    :param done: ids of the tools that were executed for this task already; they are not returned, and supply inputs.
    :param have: values that are known already: name of an input or output, or kind of object → value, which may be empty.
    :param min_snapshot: id of a snapshot: a server that serves an older one refuses.
    :param abstain: no tools where the request is unanswerable.
    :param needs: what the agent needs, 1 to 32 phrases of 1 to 500 characters, one capability each; the query is context then, and may
        be empty.
    :param budget_tokens: most tokens of the returned tools' schemas, counted as three bytes each; 0: no limit.
    """

    query: str = ""
    k: int = 10
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preset: str = ""
    explain: bool = True
    schema_format: str = "none"
    auto_k: bool = False
    done: Sequence[str] = ()
    have: Mapping[str, str] = field(default_factory=dict)
    explanation: bool = False
    min_snapshot: str = ""
    abstain: bool = False
    needs: Sequence[str] = ()
    budget_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """A node of the graph that the request matched: ``semantic`` (a cosine), or ``ngram`` (words of the request, their inverse document
    frequency).
    """

    node: str
    kind: str
    text: str
    score: float
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversedEdge:
    """An edge of an ego graph between an entry node and the tool; ``head`` and ``tail`` are node keys."""

    head: str
    predicate: str
    tail: str
    confidence: float
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterBinding:
    """An input of the tool, and the returned tool whose ``output`` can fill it; ``kind`` is ``supplies``, ``resolved_by``, ``depends_on``, or
    ``context``: the surroundings (project, account, region) give it.
    """

    parameter: str
    supplier: str = ""
    output: str = ""
    kind: str = ""
    confidence: float = 0.0
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """Why a tool was returned; ``features`` are not normalised, higher is better. All empty where the request did not ask for reasons."""

    entries: tuple[EntryMatch, ...] = ()
    edges: tuple[TraversedEdge, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    bindings: tuple[ParameterBinding, ...] = ()


class _Callable:
    """What a tool of an answer and a tool that was looked up can both do."""

    __slots__ = ()
    if TYPE_CHECKING:
        call: Call
        schema_json: str

    @property
    def schema(self) -> dict[str, Any]:
        """The call schema, for a model; empty when none was requested."""
        return _json_object(self.schema_json)

    def request(
        self, arguments: Mapping[str, Any], *, server: str = "", credentials: Mapping[str, Credential] | None = None
    ) -> ToolRequest:
        """The request that calls this tool; one of an answer needs a schema format. See :func:`egotools.build_request`.

        :raises ToolRequestError: when it cannot be made.
        """
        from egotools.calling.tool_request import build_request

        schema = getattr(self, "input_schema", None) or self.schema
        return build_request(self.call, arguments, schema=schema, server=server, credentials=credentials)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTool(_Callable):
    """One tool of an answer.

    A retriever fills ``id``, ``rank``, ``score``, ``probability`` and ``reasons``; the server adds the texts and the schema.

    :param rank: from 1.
    :param score: higher is better, does not increase with the rank; comparable within one response only.
    :param schema_json: the call schema as JSON, in the requested format.
    :param probability: that the request needs the tool, given that it is answerable.
    :param call_name: the name by which a model calls it.
    :param call: how it is called; with an empty protocol where the source does not say or no schema was asked for.
    :param schema_notes: why ``schema_json`` is not all that its format asks for (strict mode), one sentence each.
    :param explanation: one line for a person: words that match, which value fills which input, which tool to call first, and the other required inputs.
    :param effect: what a call does: ``read``, ``idempotent`` or ``change``; empty counts as ``change``.
    :param needs: numbers in ``Response.need_results`` of the needs that it serves, the one it serves best first.
    :param completes: whether the graph brought it: it serves no need, but another tool of the answer needs it.
    """

    id: str
    rank: int
    score: float
    name: str = ""
    title: str = ""
    description: str = ""
    namespace: str = ""
    schema_json: str = ""
    reasons: Reasons = field(default_factory=Reasons)
    probability: float | None = None
    call_name: str = ""
    call: Call = field(default_factory=Call)
    schema_notes: tuple[str, ...] = ()
    explanation: str = ""
    effect: str = ""
    needs: tuple[int, ...] = ()
    completes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedResult:
    """How well one need of a request is served: by ``tool`` best. ``unserved``: nothing fits, ``probability`` is below the threshold that 95 of
    100 served needs of well documented catalogues reach.
    """

    need: str
    tool: str = ""
    probability: float | None = None
    unserved: bool = False


def may_not_fit(probability: float | None) -> str:
    """What is said of tools for a request that may be unanswerable: the probability that one serves it."""
    return f"may not fit: probability {probability or 0.0:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The answer to one request: the tools that it needs, best first.

    :param timings_ms: stage → milliseconds (``encode``, ``entry``, ``ego``, ``rank``, ``explain``, ``total``, …).
    :param fallbacks: parts that were left out and why, one sentence each; empty for a complete response.
    :param answerable_probability: that some tool serves the request, if every second request were unanswerable.
    :param unanswerable: whether that is below the threshold that 95 of 100 answerable requests reach.
    :param request_id: for :meth:`egotools.Client.report_outcome`; empty where the server keeps no outcomes.
    :param need_results: for each need, in order; for a request without needs those that the model of the server's operator wrote for it.
    """

    tools: tuple[RankedTool, ...]
    snapshot_id: str
    preset: str
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    answerable_probability: float | None = None
    unanswerable: bool = False
    request_id: str = ""
    need_results: tuple[NeedResult, ...] = ()

    @property
    def doubt(self) -> str:
        """That the tools may not fit, with the probability that one does; empty where the request is answerable."""
        return may_not_fit(self.answerable_probability) if self.unanswerable else ""

    def by_call_name(self, name: str) -> RankedTool:
        """The tool that a model called.

        :raises ToolRequestError: when no tool of this answer has that name: the model made it up.
        """
        for tool in self.tools:
            if tool.call_name == name:
                return tool
        known = ", ".join(tool.call_name for tool in self.tools) or "none"
        problem = f"no tool of this answer is called {name[:200]!r}; the model made the name up"
        raise ToolRequestError(problem, "tool", f"Tell the model so, or ask again. The tools of this answer: {known}.")

    def request(
        self,
        tool: RankedTool | str,
        arguments: Mapping[str, Any],
        *,
        server: str = "",
        credentials: Mapping[str, Credential] | None = None,
    ) -> ToolRequest:
        """The request that calls a tool of this answer. See :func:`egotools.build_request`.

        :param tool: one of :attr:`tools`, or the name by which a model called it.
        :raises ToolRequestError: when no tool of this answer has that name, and when the request cannot be made.
        """
        found = self.by_call_name(tool) if isinstance(tool, str) else tool
        return found.request(arguments, server=server, credentials=credentials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An input or output of a tool; nested fields by dotted path (``items[].order_id``), ``default`` and ``example`` as text, ``bounds`` by
    keyword of JSON Schema.
    """

    name: str
    type: str
    description: str = ""
    required: bool = False
    enum: tuple[str, ...] = ()
    location: str = ""
    format: str = ""
    example: str = ""
    default: str = ""
    pattern: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A dependency that the tool's source declares: ``output`` of the tool ``tool_id`` fills ``parameter``."""

    tool_id: str
    parameter: str = ""
    output: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(_Callable):
    """All fields of one tool. Those that a :class:`RankedTool` has too mean the same; the schemas and the metadata are JSON."""

    id: str
    name: str
    title: str
    description: str
    namespace: str
    parameters: tuple[Parameter, ...] = ()
    returns: tuple[Parameter, ...] = ()
    depends_on: tuple[Dependency, ...] = ()
    metadata_json: str = ""
    input_schema_json: str = ""
    output_schema_json: str = ""
    call: Call = field(default_factory=Call)
    call_name: str = ""
    schema_notes: tuple[str, ...] = ()
    effect: str = ""
    schema_json: str = ""
    snapshot_id: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata: JSON values by key."""
        return _json_object(self.metadata_json)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments as the source has it; empty where it has none."""
        return _json_object(self.input_schema_json)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of a successful answer as the source has it; empty where it has none."""
        return _json_object(self.output_schema_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node of the tool graph; ``key`` is ``type:name``, ``degree`` the number of its edges in the whole graph."""

    key: str
    type: str
    name: str
    degree: int = 0
    tool_id: str = ""
    surface_forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Provenance:
    """A place in a document where an edge was found: characters ``start`` to ``end`` of a field of a tool, or the whole field (-1)."""

    tool_id: str
    field: str
    extractor: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A directed edge of the tool graph; ``head`` and ``tail`` are node keys, ``phrase`` the words that express it in the documents."""

    head: str
    predicate: str
    tail: str
    confidence: float = 1.0
    phrase: str = ""
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoGraph:
    """A node with its neighbours one edge away, edges in order of decreasing confidence; ``total_degree`` counts those that were left out too."""

    center: GraphNode
    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    total_degree: int = 0
    snapshot_id: str = ""

    @property
    def truncated(self) -> bool:
        """Whether the limit left edges out."""
        return len(self.edges) < self.total_degree


@dataclass(frozen=True, slots=True, kw_only=True)
class OntologyInfo:
    """The ontology of a snapshot; ``digest`` is the SHA-256 of its content."""

    name: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSummary:
    """A namespace (empty for the tools without one), and the business objects that most of its tools act on, at most 8."""

    name: str
    tool_count: int
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogInfo:
    """The description of a snapshot: what it counts by name, at most 1,000 namespaces, and one page of its tool ids."""

    snapshot_id: str
    format_version: int
    ontology: OntologyInfo
    tool_count: int
    presets: tuple[str, ...]
    default_preset: str
    models: Mapping[str, str] = field(default_factory=dict)
    node_counts: Mapping[str, int] = field(default_factory=dict)
    edge_counts: Mapping[str, int] = field(default_factory=dict)
    created_by: Mapping[str, str] = field(default_factory=dict)
    filter_keys: Mapping[str, int] = field(default_factory=dict)
    namespaces: tuple[NamespaceSummary, ...] = ()
    tool_ids: tuple[str, ...] = ()
    next_page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput:
    """An input of a step, and where its value comes from.

    :param source: ``step``; ``done``, a tool that was executed already; ``have`` and ``request``, a known value; ``context``, which the
        request or the caller's configuration gives; ``ask``: the user must be asked.
    :param step: number of the step that supplies it, or 0; its tool is ``supplier``, and its output ``output`` (``suppliers[].id``).
    :param value: of ``have`` and ``request``; empty where the caller keeps it, or the request says it in words.
    :param alternatives: ids of other tools that could supply it, the best first.
    """

    parameter: str
    source: str
    step: int = 0
    supplier: str = ""
    output: str = ""
    kind: str = ""
    confidence: float = 0.0
    value: str = ""
    required: bool = True
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One call; ``number`` is from 1.

    :param kind: ``goal``, ``resolved_by`` (it turns words into an identifier), ``supplies`` or ``depends_on`` (a document says that it
        must go first).
    :param confidence: of a goal 1 where the caller named it, else the probability that the request needs it, 0 where not estimated.
    :param effect: what the call does, where the document, the method or the name of the tool says so: ``read``, ``idempotent``, ``change``.
    """

    number: int
    tool_id: str
    kind: str
    confidence: float
    inputs: tuple[PlanInput, ...] = ()
    effect: str = ""

    def bindings(self) -> tuple[str, ...]:
        """One line for each input that an earlier step or a known value fills: ``step 2.supplier_id ← step 1.suppliers[].id``."""
        return tuple(
            f"step {self.number}.{each.parameter} ← "
            + (f"step {each.step}" if each.step else each.value)
            + (f".{each.output}" if each.step and each.output else "")
            for each in self.inputs
            if each.parameter and (each.step or each.value)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInput:
    """A value that no step supplies: the user is asked (``source`` is ``ask``), or the surroundings give it (``context``)."""

    parameter: str
    description: str
    source: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlan:
    """An ordered list of calls, each after those that it takes values from. Nothing was called. Its other fields are as of a :class:`Response`."""

    steps: tuple[PlanStep, ...]
    open_inputs: tuple[OpenInput, ...] = ()
    cost: float = 0.0
    snapshot_id: str = ""
    fallbacks: tuple[str, ...] = ()
    answerable_probability: float | None = None
    unanswerable: bool = False
    need_results: tuple[NeedResult, ...] = ()

    @property
    def guesses(self) -> tuple[PlanStep, ...]:
        """The goals that nobody named: the query or the needs chose them."""
        return tuple(step for step in self.steps if step.kind == "goal" and step.confidence < 1)

    @property
    def doubt(self) -> str:
        """That goals that nobody named may not fit, with the probability that a tool does; else empty."""
        return may_not_fit(self.answerable_probability) if self.unanswerable and self.guesses else ""

    @property
    def tool_ids(self) -> tuple[str, ...]:
        """Ids of the tools, in the order of their calls."""
        return tuple(step.tool_id for step in self.steps)


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {}
