"""Encode values as protobuf messages. The texts and the call schema of each tool are added from the snapshot."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from egotools.codec import message_fields, valid_text
from egotools.v1 import egotools_pb2 as pb
from egotools.values import EgoGraph, Response, ToolPlan
from ontology.tool import Parameter, Tool
from ontology.tool_effects import effect_of
from retrieval.engine import Engine
from services.schemas.call_schema import call_name, call_schema
from services.schemas.input_schema import MAX_DESCRIPTION, shortened
from services.server.error_status import answer_too_large

__all__ = ["catalog_message", "ego_graph_message", "plan_message", "response_message", "tool_message"]

_MOST, _LONGEST = 512, 16 * 1024  # texts of one engine, and bytes of one
_MOST_BYTES = 32 * 2**20  # of all engines; where there are more, the engine that has most loses its own


class _Texts(dict[tuple[str, str], bytes]):
    """Tool and format → encoded text, of one engine; ``size`` in bytes."""

    size = 0


_KEPT: WeakKeyDictionary[Engine, _Texts] = WeakKeyDictionary()  # to read a large tool takes a millisecond
_KEEPING = threading.Lock()


def _text(engine: Engine, tool_id: str, schema_format: str) -> bytes:
    """The part of a message that depends on the tool alone; kept as long as the engine is served, if it is short."""
    key = (tool_id, schema_format)
    found = _KEPT.get(engine, _Texts()).get(key)
    if found is not None:
        return found
    found = _encoded_texts(engine, tool_id, schema_format)
    with _KEEPING:
        kept = _KEPT.setdefault(engine, _Texts())
        if len(found) <= _LONGEST and key not in kept:
            if len(kept) >= _MOST:
                kept.clear()
                kept.size = 0
            kept[key] = found
            kept.size += len(found)
            while sum(each.size for each in _KEPT.values()) > _MOST_BYTES:
                largest = max(_KEPT.values(), key=lambda each: each.size)
                largest.clear()
                largest.size = 0
    return found


def response_message(
    engine: Engine,
    response: Response,
    *,
    schema_format: str,
    explain: bool,
    queued_ms: float,
    max_bytes: int,
) -> pb.RetrieveResponse:
    """Encode a response. The texts of the tools come from the engine.

    :param schema_format: one of :data:`services.schemas.call_schema.SCHEMA_FORMATS`.
    :param queued_ms: milliseconds that the request waited for a worker.
    :param max_bytes: of the texts of the tools: an answer that is larger is not made to the end.
    """
    timings = {**response.timings_ms, "queue": round(queued_ms, 3)}
    message = pb.RetrieveResponse(**message_fields(replace(response, tools=(), timings_ms=timings)))
    size = 0
    for ranked in response.tools:
        texts = _text(engine, ranked.id, schema_format)
        size += len(texts)
        if size > max_bytes:
            raise answer_too_large(size, max_bytes)
        sent = message.tools.add()
        sent.ParseFromString(texts)
        sent.rank, sent.score, sent.explanation = ranked.rank, ranked.score, valid_text(ranked.explanation)
        sent.needs.extend(ranked.needs)
        sent.completes = ranked.completes
        if ranked.probability is not None:
            sent.probability = ranked.probability
        if explain:
            sent.reasons.CopyFrom(pb.Reasons(**message_fields(ranked.reasons)))
    return message


def _encoded_texts(engine: Engine, tool_id: str, schema_format: str) -> bytes:
    tool = engine.tool(tool_id)
    schema = call_schema(tool, schema_format)
    message = pb.RankedTool(
        id=valid_text(tool.id),
        name=valid_text(tool.name),
        title=valid_text(tool.title),
        description=valid_text(shortened(tool.description, MAX_DESCRIPTION)),
        namespace=valid_text(tool.namespace),
        schema_json=valid_text(schema.json),
        schema_notes=map(valid_text, schema.notes),
        call_name=call_name(tool),
        call=pb.Call(**message_fields(tool.call)) if tool.call and schema_format != "none" else None,
        effect=effect_of(tool),
    )
    return message.SerializeToString()


def tool_message(tool: Tool, schema_notes: Sequence[str] = ()) -> pb.Tool:
    """Encode all fields of a tool, with the notes on its call schema."""
    return pb.Tool(
        id=valid_text(tool.id),
        name=valid_text(tool.name),
        title=valid_text(tool.title),
        description=valid_text(tool.description),
        namespace=valid_text(tool.namespace),
        parameters=map(_parameter_message, tool.parameters),
        returns=map(_parameter_message, tool.returns),
        depends_on=[
            pb.Dependency(
                tool_id=valid_text(dependency.tool),
                parameter=valid_text(dependency.parameter),
                output=valid_text(dependency.output),
                reason=valid_text(dependency.reason),
            )
            for dependency in tool.depends_on
        ],
        metadata_json=_json_text(tool.metadata),
        input_schema_json=_json_text(tool.input_schema),
        output_schema_json=_json_text(tool.output_schema),
        call=pb.Call(**message_fields(tool.call)) if tool.call else None,
        call_name=call_name(tool),
        schema_notes=map(valid_text, schema_notes),
        effect=effect_of(tool),
    )


def _parameter_message(parameter: Parameter) -> pb.Parameter:
    return pb.Parameter(**{**message_fields(parameter), "bounds": dict(parameter.bounds)})


def _json_text(value: Mapping[str, Any] | None) -> str:
    return "" if value is None else valid_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def ego_graph_message(graph: EgoGraph) -> pb.NeighborsResponse:
    """Encode an ego graph."""
    return pb.NeighborsResponse(**message_fields(graph), truncated=graph.truncated)


def plan_message(plan: ToolPlan) -> pb.PlanResponse:
    """Encode a plan."""
    return pb.PlanResponse(**message_fields(plan))


def catalog_message(engine: Engine, tool_ids: Sequence[str], next_page_token: str) -> pb.GetCatalogResponse:
    """Encode the description of a snapshot and of its namespaces, with one page of its tool ids."""
    page = replace(
        engine.catalog(), namespaces=engine.namespaces(), tool_ids=tuple(tool_ids), next_page_token=next_page_token
    )
    return pb.GetCatalogResponse(**message_fields(page))
