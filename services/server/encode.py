"""Encode values as protobuf messages. The texts and the call schema of each tool are added from the snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from egotools.codec import message_fields, valid_text
from egotools.v1 import egotools_pb2 as pb
from egotools.values import Response
from ontology.tool import Parameter, Tool
from ontology.tool_effects import effect_of
from retrieval.engine import Engine
from services.schemas.call_schema import call_name, call_schema
from services.schemas.input_schema import MAX_DESCRIPTION, shortened
from services.server.calls import answer_too_large

_MOST, _LONGEST = 256, 8 * 1024  # texts of one engine that are kept, and bytes of one: 2 MB for each catalogue
_KEPT: WeakKeyDictionary[Engine, dict[tuple[str, str], bytes]] = WeakKeyDictionary()


def _text(engine: Engine, tool_id: str, schema_format: str) -> bytes:
    """The part of a message that depends on the tool alone; kept while its engine is served: to read a large tool takes a millisecond."""
    kept, key = _KEPT.setdefault(engine, {}), (tool_id, schema_format)
    found = kept.get(key)
    if found is None:
        found = _encoded_texts(engine, tool_id, schema_format)
        if len(kept) >= _MOST:
            kept.clear()
        if len(found) <= _LONGEST:
            kept[key] = found
    return found


def response_message(
    engine: Engine, response: Response, *, schema_format: str, explain: bool, max_bytes: int
) -> pb.RetrieveResponse:
    """Encode a response. The texts of the tools come from the engine.

    :param schema_format: one of :data:`services.schemas.call_schema.SCHEMA_FORMATS`.
    :param max_bytes: of the texts of the tools: an answer that is larger is not made to the end.
    """
    message = pb.RetrieveResponse(**message_fields(replace(response, tools=())))
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
        **_names(tool),
        description=valid_text(shortened(tool.description, MAX_DESCRIPTION)),
        schema_json=valid_text(schema.json),
        schema_notes=map(valid_text, schema.notes),
        call=pb.Call(**message_fields(tool.call)) if tool.call and schema_format != "none" else None,
    )
    return message.SerializeToString()


def tool_message(tool: Tool, schema_notes: Sequence[str] = ()) -> pb.Tool:
    """Encode all fields of a tool, with the notes on its call schema."""
    return pb.Tool(
        **_names(tool),
        description=valid_text(tool.description),
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
        schema_notes=map(valid_text, schema_notes),
    )


def _names(tool: Tool) -> dict[str, Any]:
    texts = {"id": tool.id, "name": tool.name, "title": tool.title, "namespace": tool.namespace}
    named = {field: valid_text(text) for field, text in texts.items()}
    return {**named, "call_name": call_name(tool), "effect": effect_of(tool)}


def _parameter_message(parameter: Parameter) -> pb.Parameter:
    return pb.Parameter(**{**message_fields(parameter), "bounds": dict(parameter.bounds)})


def _json_text(value: Mapping[str, Any] | None) -> str:
    return "" if value is None else valid_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def catalog_message(engine: Engine, tool_ids: Sequence[str], next_page_token: str) -> pb.GetCatalogResponse:
    """Encode the description of a snapshot and of its namespaces, with one page of its tool ids."""
    page = replace(
        engine.catalog(), namespaces=engine.namespaces(), tool_ids=tuple(tool_ids), next_page_token=next_page_token
    )
    return pb.GetCatalogResponse(**message_fields(page))
