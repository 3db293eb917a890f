"""Between values and messages, and how a channel is set up: shared by the sync and the async client."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import grpc

from egotools.errors import ClientError, InvalidRequestError, client_error
from egotools.results import (
    Answer,
    Catalog,
    Dependency,
    EgoGraph,
    EntryMatch,
    FoundTool,
    GraphEdge,
    GraphNode,
    OntologyInfo,
    Parameter,
    ParameterBinding,
    Provenance,
    Query,
    Reasons,
    Tool,
    TraversedEdge,
)
from egotools.v1 import egotools_pb2 as pb

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "answer",
    "batch_results",
    "catalog",
    "channel_options",
    "ego_graph",
    "retrieve_request",
    "schema_format_number",
    "tool",
    "transport",
]

DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
_INT32 = 2**31
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_SERVICE_CONFIG = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        # Replicas that say NOT_SERVING (loading, or about to stop) get no calls. Without it a call that reaches a server
        # in the moment it stops ends CANCELLED, which no retry may touch.
        "healthCheckConfig": {"serviceName": _SERVICE},
        "methodConfig": [
            {
                "name": [{"service": _SERVICE}],
                # Every call only reads, so another try is always safe; only the code that means "ask elsewhere" is.
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 3,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
        # Retries stop while most calls fail, so that a fleet in trouble is not hit four times as hard.
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
    },
    separators=(",", ":"),
)


def channel_options(max_message_bytes: int, options: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Options of a channel: calls go round all addresses, UNAVAILABLE is tried up to four times."""
    return [
        ("grpc.service_config", _SERVICE_CONFIG),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),  # the server says what is too large for it
        ("grpc.initial_reconnect_backoff_ms", 100),  # a restarted replica gets calls again soon
        ("grpc.max_reconnect_backoff_ms", 5_000),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        *options,
    ]


def transport(tls: grpc.ChannelCredentials | bool) -> grpc.ChannelCredentials | None:
    """The credentials of a channel: None for plain text, the system's roots for True."""
    if isinstance(tls, bool):
        return grpc.ssl_channel_credentials() if tls else None
    return tls


def schema_format_number(name: str) -> pb.SchemaFormat.ValueType:
    """The number of a schema format.

    :raises InvalidRequestError: when there is none of that name.
    """
    known = {full.removeprefix("SCHEMA_FORMAT_").lower(): number for full, number in pb.SchemaFormat.items()}
    number = known.get(name.lower())
    if number is None:
        raise InvalidRequestError(
            f"There is no schema format {name!r}.",
            code="INVALID_ARGUMENT",
            reason="INVALID_ARGUMENT",
            subject="schema_format",
            remedy=f"Use one of {', '.join(known)}.",
        )
    return number


def number(name: str, value: int) -> int:
    """A whole number that fits its field; the server judges the range that means something.

    :raises InvalidRequestError: when it does not fit.
    """
    if not -_INT32 <= value < _INT32:
        raise InvalidRequestError(
            f"{name} must be a whole number of 32 bits, not {value}.",
            code="INVALID_ARGUMENT",
            reason="INVALID_ARGUMENT",
            subject=name,
        )
    return value


def retrieve_request(query: Query) -> pb.RetrieveRequest:
    """The message of one request.

    :raises InvalidRequestError: for a filter that is a bare text, an unknown schema format, a number out of range.
    """
    try:
        query.query.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequestError(
            "The query holds half a surrogate pair, which no message can carry.",
            code="INVALID_ARGUMENT",
            reason="INVALID_ARGUMENT",
            subject="query",
            remedy="Decode the text it was read from as a whole.",
        ) from None
    return pb.RetrieveRequest(
        query=query.query,
        k=number("k", query.k),
        filters=_filters(query.filters),
        preset=query.preset,
        explain=query.explain,
        schema_format=schema_format_number(query.schema_format),
        auto_k=query.auto_k,
    )


def _filters(filters: Mapping[str, Sequence[str]]) -> dict[str, pb.StringList]:
    made: dict[str, pb.StringList] = {}
    for key, values in filters.items():
        if isinstance(values, str):  # would be read letter by letter
            raise InvalidRequestError(
                "The values of a filter are a list of texts.",
                code="INVALID_ARGUMENT",
                reason="INVALID_ARGUMENT",
                subject=f"filters.{key}",
                remedy=f"Write [{values!r}].",
            )
        made[key] = pb.StringList(values=values)
    return made


def answer(message: pb.RetrieveResponse) -> Answer:
    """The answer to one request."""
    return Answer(
        tools=tuple(map(_found, message.tools)),
        snapshot_id=message.snapshot_id,
        preset=message.preset,
        timings_ms=dict(message.timings_ms),
        fallbacks=tuple(message.fallbacks),
        answerable_probability=message.answerable_probability if message.HasField("answerable_probability") else None,
        unanswerable=message.unanswerable,
    )


def batch_results(message: pb.RetrieveBatchResponse) -> tuple[Answer | ClientError, ...]:
    """An answer or an error for each request, in their order."""
    return tuple(
        answer(result.response) if result.HasField("response") else client_error(result.error)
        for result in message.results
    )


def _found(message: pb.RankedTool) -> FoundTool:
    return FoundTool(
        id=message.id,
        name=message.name,
        title=message.title,
        description=message.description,
        namespace=message.namespace,
        score=message.score,
        rank=message.rank,
        schema_json=message.schema_json,
        reasons=_reasons(message.reasons),
        probability=message.probability if message.HasField("probability") else None,
    )


def _reasons(message: pb.Reasons) -> Reasons:
    return Reasons(
        entries=tuple(
            EntryMatch(node=entry.node, kind=entry.kind, text=entry.text, score=entry.score)
            for entry in message.entries
        ),
        edges=tuple(
            TraversedEdge(head=edge.head, predicate=edge.predicate, tail=edge.tail, confidence=edge.confidence)
            for edge in message.edges
        ),
        features=dict(message.features),
        bindings=tuple(
            ParameterBinding(
                parameter=binding.parameter,
                supplier=binding.supplier,
                output=binding.output,
                kind=binding.kind,
                confidence=binding.confidence,
            )
            for binding in message.bindings
        ),
    )


def tool(message: pb.GetToolResponse) -> Tool:
    """One tool in full."""
    said = message.tool
    return Tool(
        id=said.id,
        name=said.name,
        title=said.title,
        description=said.description,
        namespace=said.namespace,
        parameters=tuple(map(_parameter, said.parameters)),
        returns=tuple(map(_parameter, said.returns)),
        depends_on=tuple(
            Dependency(tool_id=needed.tool_id, parameter=needed.parameter, output=needed.output, reason=needed.reason)
            for needed in said.depends_on
        ),
        metadata=json.loads(said.metadata_json or "{}"),
        schema_json=message.schema_json,
        snapshot_id=message.snapshot_id,
    )


def _parameter(message: pb.Parameter) -> Parameter:
    return Parameter(
        name=message.name,
        type=message.type,
        description=message.description,
        required=message.required,
        enum=tuple(message.enum),
        location=message.location,
        format=message.format,
    )


def ego_graph(message: pb.NeighborsResponse) -> EgoGraph:
    """The ego graph of a node."""
    return EgoGraph(
        center=_node(message.center),
        nodes=tuple(map(_node, message.nodes)),
        edges=tuple(map(_edge, message.edges)),
        total_degree=message.total_degree,
        truncated=message.truncated,
        snapshot_id=message.snapshot_id,
    )


def _node(message: pb.GraphNode) -> GraphNode:
    return GraphNode(
        key=message.key,
        type=message.type,
        name=message.name,
        degree=message.degree,
        tool_id=message.tool_id,
        surface_forms=tuple(message.surface_forms),
    )


def _edge(message: pb.GraphEdge) -> GraphEdge:
    return GraphEdge(
        head=message.head,
        predicate=message.predicate,
        tail=message.tail,
        confidence=message.confidence,
        phrase=message.phrase,
        provenance=tuple(
            Provenance(tool_id=read.tool_id, field=read.field, extractor=read.extractor, start=read.start, end=read.end)
            for read in message.provenance
        ),
    )


def catalog(message: pb.GetCatalogResponse) -> Catalog:
    """What is being served, with one page of tool ids."""
    ontology = message.ontology
    return Catalog(
        snapshot_id=message.snapshot_id,
        format_version=message.format_version,
        ontology=OntologyInfo(name=ontology.name, version=ontology.version, digest=ontology.digest),
        models=dict(message.models),
        tool_count=message.tool_count,
        node_counts=dict(message.node_counts),
        edge_counts=dict(message.edge_counts),
        presets=tuple(message.presets),
        default_preset=message.default_preset,
        created_by=dict(message.created_by),
        tool_ids=tuple(message.tool_ids),
        next_page_token=message.next_page_token,
    )
