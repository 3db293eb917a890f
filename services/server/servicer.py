"""The RPCs of the service: decode the request, wait for a worker, call the engine, encode the response."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import grpc

from egotools.codec import message_fields
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import DeadlineError, EgotoolsError, InvalidArgumentError
from retrieval.engine import Engine
from retrieval.query.request import Request
from services.schemas.call_schema import call_schema
from services.server.admission import Limiter, Turn, flow_of
from services.server.calls import (
    add_log_fields,
    answer_too_large,
    current_call,
    error_message,
    report_incident,
)
from services.server.catalogs import Catalogs
from services.server.messages import (
    catalog_message,
    check_call_cost,
    decode_key,
    decode_neighborhood,
    decode_page,
    decode_plan,
    decode_request,
    decode_schema_format,
    page_token,
    plan_cost,
    request_cost,
    response_message,
    tool_message,
    tool_tokens,
)
from services.server.query_model import SHORTLIST, Chooser, Improved, QueryModel, shown_tools, what_is_searched
from services.server.reports import Reports
from services.server.settings import ServerSettings

_T = TypeVar("_T")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ToolRetrieval(pb_grpc.ToolRetrievalServicer):
    """The service ``egotools.v1.ToolRetrieval`` over the catalogues of a server. Each call takes the engine of its
    tenant once, at its start, so it answers from one snapshot."""

    def __init__(
        self,
        catalogs: Catalogs,
        limiter: Limiter,
        settings: ServerSettings,
        reports: Reports,
        query_model: QueryModel | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        self._catalogs, self._limiter, self._settings = catalogs, limiter, settings
        self._reports, self._query_model, self._chooser = reports, query_model, chooser

    async def Retrieve(self, message: pb.RetrieveRequest, context: _Context) -> pb.RetrieveResponse:
        """Return the tools that one request needs."""
        engine = self._engine(message.min_snapshot)
        request = decode_request(message)
        add_log_fields(k=request.k, query_chars=len(request.text), needs=len(request.needs))
        check_call_cost([_cost(engine, request)], self._settings.max_call_cost)
        improved = await self._chosen(engine, await self._improved(engine, request, context), context)
        work = partial(self._retrieve, engine, improved, current_call().tenant)
        response = await self._run(context, work, cost=_cost(engine, improved.request))
        add_log_fields(preset=response.preset, tools=len(response.tools), fallbacks=len(response.fallbacks))
        add_log_fields(unanswerable=response.unanswerable)
        return response

    async def RetrieveBatch(self, message: pb.RetrieveBatchRequest, context: _Context) -> pb.RetrieveBatchResponse:
        """Return the tools that each of several requests needs."""
        engine = self._engine()
        decoded, costs = self._batch(engine, message)
        check_call_cost(costs, self._settings.max_call_cost)
        answer, size, most = pb.RetrieveBatchResponse(), 0, self._settings.max_message_bytes
        deadline, tenant = self._deadline(context), current_call().tenant
        for number, (request, cost) in enumerate(zip(decoded, costs, strict=True)):
            # Each waits for a turn of its own, so that a batch holds no worker for long.
            work = partial(self._result, engine, request, tenant)
            result = await self._run(context, work, cost=cost, deadline=deadline, begun=number > 0)
            size += result.ByteSize()
            if size > most:
                raise answer_too_large(size, most)
            answer.results.append(result)
        failed = [each.HasField("error") for each in answer.results]
        empty = sum(each.HasField("response") and not each.response.tools for each in answer.results)
        unanswerable = sum(each.response.unanswerable for each in answer.results)
        add_log_fields(errors=sum(failed), unanswerable=unanswerable, empty=empty)
        return answer

    async def GetTool(self, message: pb.GetToolRequest, context: _Context) -> pb.GetToolResponse:
        """Return all fields of one tool."""
        engine = self._engine(message.min_snapshot)
        tool_id, schema_format = decode_key("id", message.id), decode_schema_format(message.schema_format)

        def work(turn: Turn) -> pb.GetToolResponse:
            tool = engine.tool(tool_id)
            schema = call_schema(tool, schema_format)
            message = tool_message(tool, schema.notes)
            return pb.GetToolResponse(tool=message, schema_json=schema.json, snapshot_id=engine.snapshot_id)

        return await self._run(context, work)

    async def Neighbors(self, message: pb.NeighborsRequest, context: _Context) -> pb.NeighborsResponse:
        """Return the ego graph of a node."""
        engine = self._engine(message.min_snapshot)
        wanted = decode_neighborhood(message)
        add_log_fields(limit=wanted["limit"])

        def work(turn: Turn) -> pb.NeighborsResponse:
            found = engine.neighbors(**wanted)
            return pb.NeighborsResponse(**message_fields(found), truncated=found.truncated)

        return await self._run(context, work)

    async def GetCatalog(self, message: pb.GetCatalogRequest, context: _Context) -> pb.GetCatalogResponse:
        """Return the description of the served snapshot, with one page of its tool ids."""
        engine = self._engine()
        offset, size = decode_page(message, engine.snapshot_id)

        def work(turn: Turn) -> pb.GetCatalogResponse:
            tool_ids = engine.tool_ids(offset, size) if size else ()
            end = offset + len(tool_ids)
            more = bool(tool_ids) and end < engine.catalog().tool_count
            return catalog_message(engine, tool_ids, page_token(end, engine.snapshot_id) if more else "")

        return await self._run(context, work)

    async def ReportOutcome(self, message: pb.ReportOutcomeRequest, context: _Context) -> pb.ReportOutcomeResponse:
        """Keep what became of a request; answered once that is on the disk."""
        engine = self._engine()
        call = current_call()
        self._reports.allow(call)
        add_log_fields(used=len(message.used))
        kept = await self._run(context, lambda turn: self._reports.keep(message, call, engine))
        await asyncio.wrap_future(kept)
        return pb.ReportOutcomeResponse()

    async def Plan(self, message: pb.PlanRequest, context: _Context) -> pb.PlanResponse:
        """Return the calls that lead to goal tools, in order."""
        engine = self._engine(message.min_snapshot)
        request = decode_plan(message)
        add_log_fields(goals=len(request.goals), query_chars=len(request.query), needs=len(request.needs))
        cost = plan_cost(request, reranked=engine.reranker is not None)
        check_call_cost([cost], self._settings.max_call_cost)

        def work(turn: Turn) -> pb.PlanResponse:
            timed = replace(request, deadline=turn.deadline, cancelled=turn.abandoned.is_set)
            return pb.PlanResponse(**message_fields(engine.plan(timed)))

        response = await self._run(context, work, cost=cost)
        add_log_fields(tools=len(response.steps), fallbacks=len(response.fallbacks))
        add_log_fields(unanswerable=response.unanswerable)
        return response

    def _engine(self, min_snapshot: str = "") -> Engine:
        """The engine of the call's tenant, in which only the tools of its caller exist."""
        call = current_call()
        call.tenant = self._catalogs.resolve(call.tenant)
        engine = self._catalogs.engine(call.tenant)
        add_log_fields(snapshot_id=engine.snapshot_id)
        self._catalogs.require_snapshot(call.tenant, engine.snapshot_id, min_snapshot)
        return engine.restricted(call.caller.filters) if call.caller.filters else engine

    async def _improved(self, engine: Engine, request: Request, context: _Context) -> Improved:
        """The request with the needs that the query model writes; as it is without one, and where they would cost more than a call may."""
        model = self._query_model
        if model is None or not model.helps(request):
            return Improved(request=request)
        searched = await self._run(context, lambda turn: what_is_searched(engine))
        improved = await model.improve(request, current_call().tenant, self._deadline(context), searched=searched)
        count = len(improved.request.needs)
        add_log_fields(model_tokens=improved.tokens, needs=count)
        if _cost(engine, improved.request) <= self._settings.max_call_cost:
            return improved
        dear = f"no query model: its {count} needs would cost more than a call may"
        return replace(improved, request=request, fallbacks=(*improved.fallbacks, dear))

    async def _chosen(self, engine: Engine, improved: Improved, context: _Context) -> Improved:
        """The request with the tools that the chooser names among the best; as it is without one."""
        chooser, request = self._chooser, improved.request
        if chooser is None or not chooser.helps(request):
            return improved
        cost = _cost(engine, replace(request, k=SHORTLIST, explain=False))

        def shortlisted(turn: Turn) -> dict[str, str]:
            return shown_tools(engine, replace(request, deadline=turn.deadline, cancelled=turn.abandoned.is_set))

        shown = await self._run(context, shortlisted, cost=cost)
        chosen = await chooser.choose(improved, current_call().tenant, self._deadline(context), shown=shown)
        add_log_fields(model_tokens=chosen.tokens, chosen=len(chosen.request.first))
        return chosen

    def _batch(
        self, engine: Engine, message: pb.RetrieveBatchRequest
    ) -> tuple[list[Request | EgotoolsError], list[int]]:
        """Return the requests of a batch, and what each costs in units."""
        count = len(message.requests)
        if not 1 <= count <= self._settings.max_batch:
            problem = f"a batch has 1 to {self._settings.max_batch} requests, not {count}"
            remedy = "Split it into several calls" if count else ""
            raise InvalidArgumentError(problem, subject="requests", remedy=remedy)
        decoded: list[Request | EgotoolsError] = []
        for each in message.requests:
            try:
                self._catalogs.require_snapshot(current_call().tenant, engine.snapshot_id, each.min_snapshot)
                decoded.append(decode_request(each))
            except EgotoolsError as error:
                decoded.append(error)
        add_log_fields(batch=count, query_chars=sum(len(each.query) for each in decoded if isinstance(each, Request)))
        return decoded, [_cost(engine, each) if isinstance(each, Request) else 1 for each in decoded]

    def _retrieve(self, engine: Engine, improved: Improved, tenant: str, turn: Turn) -> pb.RetrieveResponse:
        """Answer one request on a worker."""
        size_of = partial(tool_tokens, engine, schema_format=improved.request.schema_format)
        request = replace(improved.request, deadline=turn.deadline, cancelled=turn.abandoned.is_set, size_of=size_of)
        request.check("retrieve")
        response = improved.told(engine.retriever(request.preset).retrieve(request))
        request.check("reply")
        request_id = self._reports.issue(tenant)
        timings_ms = {**response.timings_ms, "queue": round(turn.queued_ms, 3)}
        return response_message(
            engine,
            replace(response, request_id=request_id, timings_ms=timings_ms),
            schema_format=request.schema_format,
            explain=request.explain,
            max_bytes=self._settings.max_message_bytes,
        )

    def _result(self, engine: Engine, request: Request | EgotoolsError, tenant: str, turn: Turn) -> pb.RetrieveResult:
        """Answer one request of a batch, on a worker."""
        try:
            if isinstance(request, EgotoolsError):
                raise request
            response = self._retrieve(engine, Improved(request=request), tenant, turn)
            return pb.RetrieveResult(response=response)
        except DeadlineError:
            raise  # it is the deadline of the whole batch
        except EgotoolsError as error:
            return pb.RetrieveResult(error=error_message(error))
        except Exception:
            return pb.RetrieveResult(error=report_incident("RetrieveBatch"))

    def _deadline(self, context: _Context) -> float:
        """The time of ``time.monotonic()`` when a call ends: its own deadline or the server's default, but within the limit."""
        remaining: float | None = context.time_remaining()  # None: the caller set no deadline
        spent = time.monotonic() - current_call().started
        allowed = self._settings.default_deadline_s - spent if remaining is None else remaining
        return time.monotonic() + min(allowed, self._settings.max_deadline_s - spent)

    async def _run(
        self, context: _Context, work: Callable[[Turn], _T], *, cost: int = 1, deadline: float = 0, begun: bool = False
    ) -> _T:
        call = current_call()
        until = deadline or self._deadline(context)
        return await self._limiter.run(work, deadline=until, flow=flow_of(call, call.tenant), cost=cost, begun=begun)


def _cost(engine: Engine, request: Request) -> int:
    return request_cost(request, reranked=engine.reranker is not None)
