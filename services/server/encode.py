"""Encode values as protobuf messages. The texts and the call schema of each tool are added from the snapshot."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias
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
_MOST_BYTES = 32 * 2**20
_Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class _OfEngine:
    texts: dict[_Key, bytes] = field(default_factory=dict)
    size: int = 0

    def clear(self) -> None:
        self.texts.clear()
        self.size = 0


class KeptTexts:
    """Tool and format → encoded text, for each engine as long as it is served. Thread-safe.

    :param most_bytes: of all engines together; where there are more, the engine that has most loses its own.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._engines: WeakKeyDictionary[Engine, _OfEngine] = WeakKeyDictionary()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(each.size for each in self._engines.values())

    def text(self, engine: Engine, tool_id: str, schema_format: str, make: Callable[[], bytes]) -> bytes:
        """Return the text of a tool in a format; what ``make`` returns is kept, if it is short."""
        kept = self._engines.get(engine)
        found = kept.texts.get((tool_id, schema_format)) if kept is not None else None
        if found is None:
            found = make()
            if len(found) <= _LONGEST:
                self._keep(engine, (tool_id, schema_format), found)
        return found

    def _keep(self, engine: Engine, key: _Key, text: bytes) -> None:
        with self._lock:
            kept = self._engines.setdefault(engine, _OfEngine())
            if len(kept.texts) >= _MOST:
                kept.clear()
            if key in kept.texts:  # another thread was faster
                return
            kept.texts[key] = text
            kept.size += len(text)
            while self.size > self._most_bytes:
                max(self._engines.values(), key=lambda each: each.size).clear()


_KEPT = KeptTexts()  # to read a large tool takes a millisecond


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
    :raises InvalidArgumentError: when they have more.
    """
    timings = {**response.timings_ms, "queue": round(queued_ms, 3)}
    message = pb.RetrieveResponse(**message_fields(replace(response, tools=(), timings_ms=timings)))
    size = 0
    for ranked in response.tools:
        texts = _KEPT.text(engine, ranked.id, schema_format, partial(_encoded_texts, engine, ranked.id, schema_format))
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
    """The part of a message that depends on the tool alone."""
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
