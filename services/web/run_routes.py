"""Routes of runs: begin, follow as server-sent events, see the entities of a node, consent, cancel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ontology.errors import InvalidArgumentError, UnsupportedError
from services.web.live_runs import LiveRun, LiveRuns
from services.web.page_context import context_of
from services.web.page_requests import Consented, RunAsked, number, read_body
from services.web.run_events import PlanRequest

__all__ = ["RUN_ROUTES"]

_MOST_ENTITIES = 100
_STILL_THERE_S = 15.0
_RETRY_MS = 1_000  # after which a browser connects again


async def _begin(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, asked = await context.access.reader(request), await read_body(request, RunAsked)
    if context.runs.plan is None:
        raise UnsupportedError("this server has no planner", remedy="Look at the tools on the left")
    if asked.domain and asked.domain not in context.domains:
        raise InvalidArgumentError("there is no such domain", subject="domain", remedy="Choose one of the list")
    run = context.runs.begin(visitor.key)
    run.start(
        context.runs.plan,
        PlanRequest(request=asked.query, domain=asked.domain, token=visitor.token, tenant=visitor.tenant, ask=run.ask),
    )
    return JSONResponse({"id": run.id}, status_code=201)


async def _run(request: Request) -> LiveRun:
    context = context_of(request)
    visitor = await context.access.reader(request)
    return context.runs.find(request.path_params["run"], visitor.key)


async def _events(request: Request) -> StreamingResponse:
    run = await _run(request)
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdecimal() and len(last) < 9 else 0
    return _EventStream(context_of(request).runs, run, after)


class _EventStream(StreamingResponse):
    """Is counted from its first byte to its last."""

    def __init__(self, runs: LiveRuns, run: LiveRun, after: int) -> None:
        super().__init__(_stream(run, after), media_type="text/event-stream")
        self._runs, self._run = runs, run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._runs.stream(self._run):
            await super().__call__(scope, receive, send)


async def _stream(run: LiveRun, after: int) -> AsyncIterator[str]:
    """Server-sent events: numbered, with a comment in long pauses so that nobody in between closes the connection."""
    yield f"retry: {_RETRY_MS}\n\n"
    async with aclosing(run.follow(after)) as events:
        waiting = asyncio.ensure_future(anext(events, None))
        try:
            while True:
                done, _ = await asyncio.wait([waiting], timeout=_STILL_THERE_S)
                if not done:
                    yield ": still there\n\n"
                    continue
                found = waiting.result()
                if found is None:
                    return
                yield f"id: {found[0]}\ndata: {json.dumps(found[1])}\n\n"
                waiting = asyncio.ensure_future(anext(events, None))
        finally:
            waiting.cancel()
            await asyncio.wait([waiting])


async def _entities(request: Request) -> JSONResponse:
    run = await _run(request)
    offset, count = number(request, "offset", 0, 10**9), number(request, "count", _MOST_ENTITIES, _MOST_ENTITIES)
    return JSONResponse(run.entities(request.query_params.get("var", ""), offset, count))


async def _consent(request: Request) -> JSONResponse:
    run, given = await _run(request), await read_body(request, Consented)
    run.consent(given.question, given.allowed)
    return JSONResponse({})


async def _cancel(request: Request) -> JSONResponse:
    await (await _run(request)).cancel()
    return JSONResponse({})


RUN_ROUTES = (
    Route("/api/runs", _begin, methods=["POST"]),
    Route("/api/runs/{run}/events", _events),
    Route("/api/runs/{run}/entities", _entities),
    Route("/api/runs/{run}/consent", _consent, methods=["POST"]),
    Route("/api/runs/{run}/cancel", _cancel, methods=["POST"]),
)
