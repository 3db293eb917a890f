"""The RPCs of the service: check the request, wait for a worker slot, call the engine, encode the response."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import grpc

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import DeadlineError, EgotoolsError, InvalidArgumentError
from retrieval.engine import Engine
from retrieval.query.request import Request
from services.schemas.call_schema import call_schema
from services.server.access.visible_engine import engine_for
from services.server.call_record import add_log_fields, current_call
from services.server.catalogs import Catalogs
from services.server.decode import (
    decode_neighborhood,
    decode_page,
    decode_request,
    decode_schema_format,
    decode_tool_id,
    page_token,
)
from services.server.encode import catalog_message, ego_graph_message, response_message, tool_message
from services.server.error_status import error_message
from services.server.interceptors import report_incident
from services.server.limiter import Limiter, Slot
from services.server.settings import ServerSettings

__all__ = ["ToolRetrieval"]

_T = TypeVar("_T")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ToolRetrieval(pb_grpc.ToolRetrievalServicer):
    """The service ``egotools.v1.ToolRetrieval`` over the catalogues of a server.

    Each call leases the engine of its tenant once, at its start, so it answers from one snapshot.
    """

    def __init__(self, catalogs: Catalogs, limiter: Limiter, settings: ServerSettings) -> None:
        self._catalogs = catalogs
        self._limiter = limiter
        self._settings = settings

    async def Retrieve(self, message: pb.RetrieveRequest, context: _Context) -> pb.RetrieveResponse:
        """Return the tools that one request needs."""
        with self._leased() as engine:
            request = decode_request(message)
            add_log_fields(k=request.k, query_chars=len(request.query))
            response = await self._run(context, lambda slot: _retrieve(engine, request, slot))
            add_log_fields(preset=response.preset, tools=len(response.tools), fallbacks=len(response.fallbacks))
            return response

    async def RetrieveBatch(self, message: pb.RetrieveBatchRequest, context: _Context) -> pb.RetrieveBatchResponse:
        """Return the tools that each of several requests needs."""
        with self._leased() as engine:
            count = len(message.requests)
            if not 1 <= count <= self._settings.max_batch:
                raise InvalidArgumentError(
                    f"a batch has 1 to {self._settings.max_batch} requests, not {count}",
                    subject="requests",
                    remedy="Split it into several calls" if count else "",
                )
            decoded = [_decoded(each) for each in message.requests]
            add_log_fields(
                batch=count, query_chars=sum(len(each.query) for each in decoded if isinstance(each, Request))
            )
            results = await self._run(context, lambda slot: [_result(engine, each, slot) for each in decoded])
            add_log_fields(errors=sum(result.HasField("error") for result in results))
            return pb.RetrieveBatchResponse(results=results)

    async def GetTool(self, message: pb.GetToolRequest, context: _Context) -> pb.GetToolResponse:
        """Return all fields of one tool."""
        with self._leased() as engine:
            tool_id, schema_format = decode_tool_id(message), decode_schema_format(message.schema_format)

            def work(slot: Slot) -> pb.GetToolResponse:
                tool = engine.tool(tool_id)
                schema = call_schema(tool, schema_format)
                return pb.GetToolResponse(
                    tool=tool_message(tool, schema.notes, engine.usage(tool_id)),
                    schema_json=schema.json,
                    snapshot_id=engine.snapshot_id,
                )

            return await self._run(context, work)

    async def Neighbors(self, message: pb.NeighborsRequest, context: _Context) -> pb.NeighborsResponse:
        """Return the ego graph of a node."""
        with self._leased() as engine:
            wanted = decode_neighborhood(message)
            add_log_fields(limit=wanted.limit)

            def work(slot: Slot) -> pb.NeighborsResponse:
                return ego_graph_message(
                    engine.neighbors(wanted.node, predicates=wanted.predicates, limit=wanted.limit)
                )

            return await self._run(context, work)

    async def GetCatalog(self, message: pb.GetCatalogRequest, context: _Context) -> pb.GetCatalogResponse:
        """Return the description of the served snapshot, with one page of its tool ids."""
        with self._leased() as engine:
            page = decode_page(message, engine.snapshot_id)

            def work(slot: Slot) -> pb.GetCatalogResponse:
                info = engine.catalog()
                tool_ids = engine.tool_ids(page.offset, page.size) if page.size else ()
                end = page.offset + len(tool_ids)
                token = page_token(end, engine.snapshot_id) if tool_ids and end < info.tool_count else ""
                return catalog_message(info, tool_ids, token)

            return await self._run(context, work)

    @contextmanager
    def _leased(self) -> Iterator[Engine]:
        call = current_call()
        with self._catalogs.lease(call.tenant) as engine:
            add_log_fields(snapshot_id=engine.snapshot_id)
            yield engine_for(engine, call.caller)

    async def _run(self, context: _Context, work: Callable[[Slot], _T]) -> _T:
        remaining: float | None = context.time_remaining()  # None: the caller set no deadline
        allowed = self._settings.default_deadline_s if remaining is None else remaining
        return await self._limiter.run(work, deadline=time.monotonic() + allowed)


def _retrieve(engine: Engine, request: Request, slot: Slot) -> pb.RetrieveResponse:
    request = replace(request, deadline=slot.deadline, cancelled=slot.abandoned.is_set)
    request.check("retrieve")
    response = engine.retriever(request.preset).retrieve(request)
    request.check("reply")
    return response_message(
        engine,
        response,
        schema_format=request.schema_format,
        explain=request.explain,
        queued_ms=slot.queued_ms,
    )


def _decoded(message: pb.RetrieveRequest) -> Request | EgotoolsError:
    try:
        return decode_request(message)
    except EgotoolsError as error:
        return error


def _result(engine: Engine, request: Request | EgotoolsError, slot: Slot) -> pb.RetrieveResult:
    if isinstance(request, EgotoolsError):
        return pb.RetrieveResult(error=error_message(request))
    try:
        return pb.RetrieveResult(response=_retrieve(engine, request, slot))
    except DeadlineError:
        raise  # it is the deadline of the whole batch
    except EgotoolsError as error:
        return pb.RetrieveResult(error=error_message(error))
    except Exception:
        return pb.RetrieveResult(error=report_incident("RetrieveBatch"))
