"""The five calls of the service: check the request, take a turn on a worker, ask the engine, answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import grpc

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import DeadlineError, EgotoolsError, InvalidArgumentError, NotReadyError
from retrieval.engine import Engine
from services.schemas.call_schema import tool_schema_json
from services.server.decode import (
    Ask,
    next_token,
    read_neighbors,
    read_page,
    read_retrieve,
    read_schema_format,
    read_tool_id,
)
from services.server.encode import catalog_message, ego_graph_message, response_message, tool_message
from services.server.error_status import error_message
from services.server.interceptors import note, report_incident
from services.server.limiter import Limiter, Turn
from services.server.settings import ServerSettings

__all__ = ["ToolRetrieval"]

_T = TypeVar("_T")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ToolRetrieval(pb_grpc.ToolRetrievalServicer):
    """The service ``egotools.v1.ToolRetrieval`` over one engine.

    Each call takes its reference to the engine once, at its start, and so answers from one snapshot.
    """

    def __init__(self, limiter: Limiter, settings: ServerSettings) -> None:
        self._limiter = limiter
        self._settings = settings
        self._engine: Engine | None = None

    def use(self, engine: Engine) -> None:
        """Answer from ``engine`` from the next call on."""
        self._engine = engine

    async def Retrieve(self, request: pb.RetrieveRequest, context: _Context) -> pb.RetrieveResponse:
        """The tools that one request needs."""
        engine = self._ready()
        ask = read_retrieve(request)
        note(k=ask.k, query_chars=ask.query_chars)
        response = await self._run(context, lambda turn: _retrieve(engine, ask, turn))
        note(preset=response.preset, tools=len(response.tools), fallbacks=len(response.fallbacks))
        return response

    async def RetrieveBatch(self, request: pb.RetrieveBatchRequest, context: _Context) -> pb.RetrieveBatchResponse:
        """The tools that each of several requests needs."""
        engine = self._ready()
        count = len(request.requests)
        if not 1 <= count <= self._settings.max_batch:
            raise InvalidArgumentError(
                f"a batch has 1 to {self._settings.max_batch} requests, not {count}",
                subject="requests",
                remedy="Split it into several calls" if count else "",
            )
        asks = [_read(message) for message in request.requests]
        note(batch=count, query_chars=sum(ask.query_chars for ask in asks if isinstance(ask, Ask)))
        results = await self._run(context, lambda turn: [_result(engine, ask, turn) for ask in asks])
        note(errors=sum(result.HasField("error") for result in results))
        return pb.RetrieveBatchResponse(results=results)

    async def GetTool(self, request: pb.GetToolRequest, context: _Context) -> pb.GetToolResponse:
        """One tool in full."""
        engine = self._ready()
        tool_id, schema_format = read_tool_id(request.id), read_schema_format(request.schema_format)

        def work(turn: Turn) -> pb.GetToolResponse:
            turn.check("tool")
            tool = engine.tool(tool_id)
            return pb.GetToolResponse(
                tool=tool_message(tool),
                schema_json=tool_schema_json(tool, schema_format),
                snapshot_id=engine.snapshot_id,
            )

        return await self._run(context, work)

    async def Neighbors(self, request: pb.NeighborsRequest, context: _Context) -> pb.NeighborsResponse:
        """The ego graph of a node."""
        engine = self._ready()
        node, predicates, limit = read_neighbors(request)
        note(limit=limit)

        def work(turn: Turn) -> pb.NeighborsResponse:
            turn.check("neighbors")
            return ego_graph_message(engine.neighbors(node, predicates=predicates, limit=limit))

        return await self._run(context, work)

    async def GetCatalog(self, request: pb.GetCatalogRequest, context: _Context) -> pb.GetCatalogResponse:
        """What is being served."""
        engine = self._ready()
        offset, size = read_page(request, engine.snapshot_id)

        def work(turn: Turn) -> pb.GetCatalogResponse:
            turn.check("catalog")
            info = engine.catalog()
            tool_ids = engine.tool_ids(offset, size) if size else ()
            end = offset + len(tool_ids)
            token = next_token(end, engine.snapshot_id) if tool_ids and end < info.tool_count else ""
            return catalog_message(info, tool_ids, token)

        return await self._run(context, work)

    def _ready(self) -> Engine:
        engine = self._engine
        if engine is None:
            raise NotReadyError("the snapshot is still being loaded", remedy="Try again in a moment")
        note(snapshot_id=engine.snapshot_id)
        return engine

    async def _run(self, context: _Context, work: Callable[[Turn], _T]) -> _T:
        remaining: float | None = context.time_remaining()  # None where the caller set no deadline
        allowed = self._settings.default_deadline_s if remaining is None else remaining
        return await self._limiter.run(work, deadline=time.monotonic() + allowed)


def _retrieve(engine: Engine, ask: Ask, turn: Turn) -> pb.RetrieveResponse:
    request = ask.request(turn)
    request.check_deadline("retrieve")
    response = engine.retriever(ask.preset).retrieve(request)
    request.check_deadline("reply")
    return response_message(
        engine, response, schema_format=ask.schema_format, explain=ask.explain, queued_ms=turn.queued_ms
    )


def _read(message: pb.RetrieveRequest) -> Ask | EgotoolsError:
    try:
        return read_retrieve(message)
    except EgotoolsError as error:
        return error


def _result(engine: Engine, ask: Ask | EgotoolsError, turn: Turn) -> pb.RetrieveResult:
    if isinstance(ask, EgotoolsError):
        return pb.RetrieveResult(error=error_message(ask))
    try:
        return pb.RetrieveResult(response=_retrieve(engine, ask, turn))
    except DeadlineError:
        raise  # the deadline is the whole call's
    except EgotoolsError as error:
        return pb.RetrieveResult(error=error_message(error))
    except Exception:
        return pb.RetrieveResult(error=report_incident("RetrieveBatch"))
