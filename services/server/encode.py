"""Values of the house as messages of the contract, field by field."""

from __future__ import annotations

import json
from collections.abc import Sequence

from egotools.v1 import egotools_pb2 as pb
from ontology.tool import Parameter, Tool
from ontology.triple import Provenance
from retrieval.engine import CatalogInfo, EgoGraph, Engine, GraphEdge, GraphNode
from retrieval.retriever import Reasons, Response, ScoredTool
from services.schemas.call_schema import tool_schema_json

__all__ = ["catalog_message", "ego_graph_message", "response_message", "tool_message"]

_MAX_DESCRIPTION_CHARS = 8_000


def response_message(
    engine: Engine, response: Response, *, schema_format: str, explain: bool, queued_ms: float
) -> pb.RetrieveResponse:
    """An answer; the tools' texts come from the engine.

    :param schema_format: ``none``, ``openai``, ``anthropic`` or ``mcp``.
    """
    timings = {stage: float(spent) for stage, spent in response.timings_ms.items()}
    timings["queue"] = round(queued_ms, 3)
    return pb.RetrieveResponse(
        tools=[_ranked(engine, scored, schema_format, explain) for scored in response.tools],
        snapshot_id=response.snapshot_id,
        preset=response.preset,
        timings_ms=timings,
        fallbacks=response.fallbacks,
        answerable_probability=response.answerable_probability,
        unanswerable=response.unanswerable,
    )


def _ranked(engine: Engine, scored: ScoredTool, schema_format: str, explain: bool) -> pb.RankedTool:
    tool = engine.tool(scored.tool_id)
    return pb.RankedTool(
        id=_text(tool.id),
        name=_text(tool.name),
        title=_text(tool.title),
        description=_text(shortened(tool.description, _MAX_DESCRIPTION_CHARS)),
        namespace=_text(tool.namespace),
        score=float(scored.score),
        rank=scored.rank,
        schema_json=tool_schema_json(tool, schema_format),
        reasons=_reasons(scored.reasons) if explain else None,
        probability=scored.probability,
    )


def shortened(text: str, most: int) -> str:
    """The text, with an ellipsis for its end where it has more than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _reasons(reasons: Reasons) -> pb.Reasons:
    return pb.Reasons(
        entries=[
            pb.EntryMatch(node=_text(entry.node), kind=entry.kind, text=_text(entry.text), score=float(entry.score))
            for entry in reasons.entries
        ],
        edges=[
            pb.TraversedEdge(
                head=_text(edge.head),
                predicate=edge.predicate,
                tail=_text(edge.tail),
                confidence=float(edge.confidence),
            )
            for edge in reasons.edges
        ],
        features={name: float(value) for name, value in reasons.features.items()},
        bindings=[
            pb.ParameterBinding(
                parameter=_text(binding.parameter),
                supplier=_text(binding.supplier),
                output=_text(binding.output),
                kind=binding.kind,
                confidence=float(binding.confidence),
            )
            for binding in reasons.bindings
        ],
    )


def tool_message(tool: Tool) -> pb.Tool:
    """A tool in full."""
    return pb.Tool(
        id=_text(tool.id),
        name=_text(tool.name),
        title=_text(tool.title),
        description=_text(tool.description),
        namespace=_text(tool.namespace),
        parameters=list(map(_parameter, tool.parameters)),
        returns=list(map(_parameter, tool.returns)),
        depends_on=[
            pb.Dependency(
                tool_id=_text(needed.tool),
                parameter=_text(needed.parameter),
                output=_text(needed.output),
                reason=_text(needed.reason),
            )
            for needed in tool.depends_on
        ],
        metadata_json=_text(json.dumps(dict(tool.metadata), ensure_ascii=False, separators=(",", ":"))),
    )


def _parameter(parameter: Parameter) -> pb.Parameter:
    return pb.Parameter(
        name=_text(parameter.name),
        type=_text(parameter.type),
        description=_text(parameter.description),
        required=parameter.required,
        enum=list(map(_text, parameter.enum)),
        location=_text(parameter.location),
        format=_text(parameter.format),
    )


def ego_graph_message(graph: EgoGraph, snapshot_id: str) -> pb.NeighborsResponse:
    """An ego graph."""
    return pb.NeighborsResponse(
        center=_node(graph.center),
        nodes=list(map(_node, graph.nodes)),
        edges=list(map(_edge, graph.edges)),
        total_degree=graph.total_degree,
        truncated=graph.truncated,
        snapshot_id=snapshot_id,
    )


def _node(node: GraphNode) -> pb.GraphNode:
    return pb.GraphNode(
        key=_text(node.key),
        type=_text(node.type),
        name=_text(node.name),
        degree=node.degree,
        tool_id=_text(node.tool_id),
        surface_forms=list(map(_text, node.surface_forms)),
    )


def _edge(edge: GraphEdge) -> pb.GraphEdge:
    return pb.GraphEdge(
        head=_text(edge.head),
        predicate=_text(edge.predicate),
        tail=_text(edge.tail),
        confidence=float(edge.confidence),
        phrase=_text(edge.phrase),
        provenance=list(map(_provenance, edge.provenance)),
    )


def _provenance(provenance: Provenance) -> pb.Provenance:
    return pb.Provenance(
        tool_id=_text(provenance.tool_id),
        field=_text(provenance.field),
        extractor=provenance.extractor,
        start=provenance.start,
        end=provenance.end,
    )


def catalog_message(info: CatalogInfo, tool_ids: Sequence[str], next_page_token: str) -> pb.GetCatalogResponse:
    """What a snapshot holds, with one page of its tool ids."""
    return pb.GetCatalogResponse(
        snapshot_id=info.snapshot_id,
        format_version=info.format_version,
        ontology=pb.OntologyInfo(name=info.ontology_name, version=info.ontology_version, digest=info.ontology_digest),
        models=dict(info.models),
        tool_count=info.tool_count,
        node_counts=dict(info.node_counts),
        edge_counts=dict(info.edge_counts),
        presets=info.presets,
        default_preset=info.default_preset,
        created_by=dict(info.created_by),
        tool_ids=list(map(_text, tool_ids)),
        next_page_token=next_page_token,
    )


def _text(text: str) -> str:
    """The text as protobuf takes it: half a surrogate pair, which JSON can hold and UTF-8 cannot, is replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
