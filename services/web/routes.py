"""The routes of the page: search and tools, questions, runs of plans, findings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ontology.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from ontology.json_values import first_error
from services.audited import audited, named_tools
from services.web.live_runs import LiveRun, LiveRuns
from services.web.page_context import Visitor, context_of
from services.web.page_talks import PageTalks
from services.web.run_events import PlanRequest

__all__ = ["ASK_ROUTES", "RETRIEVAL_ROUTES", "RUN_ROUTES", "TRUST_ROUTES"]

_MAX_QUERY_CHARS = 20_000
_Words: TypeAlias = Annotated[str, Field(min_length=1, max_length=_MAX_QUERY_CHARS)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ToolsAsked(_Form):
    """A request for tools: words, needs, or both. The service says what is wrong with them."""

    query: str = Field(default="", max_length=_MAX_QUERY_CHARS)
    needs: list[str] = Field(default_factory=list)
    k: int = Field(default=10, ge=1, le=100)


class RunAsked(_Form):
    """A request for a run."""

    query: _Words
    domain: str = Field(default="", max_length=200)


class Branched(_Form):
    """A turn of a conversation that is to go another way."""

    turn: int = Field(ge=1)
    step: int = Field(ge=0)


class QuestionAsked(_Form):
    """A question of a graph; of a new conversation where ``talk`` is empty."""

    query: _Words
    talk: str = Field(default="", max_length=100)
    branch: Branched | None = None


class Consented(_Form):
    """The answer to a question of a run."""

    question: str = Field(max_length=100)
    allowed: bool


class Approved(_Form):
    """The release of a tool by its id, or of the tools that a pattern matches."""

    tool: str = Field(default="", max_length=2_000)
    pattern: str = Field(default="", max_length=2_000)
    reason: str = Field(min_length=1, max_length=2_000, pattern=r"\S")


_T = TypeVar("_T", bound=_Form)


async def read_body(request: Request, form: type[_T]) -> _T:
    """Return the body of a request.

    :raises InvalidArgumentError: when it is not JSON of this form.
    """
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidArgumentError("the body is not JSON", subject="content-type", remedy="Send application/json")
    try:
        return form.model_validate_json(await request.body())
    except ValidationError as error:
        raise InvalidArgumentError(first_error(error), subject="body", remedy="Correct the request") from error


def number(request: Request, name: str, default: int, most: int) -> int:
    """Return a number of the address, 0 to ``most``.

    :raises InvalidArgumentError: when it is none.
    """
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise InvalidArgumentError(f"{text[:40]!r} is no number", subject=name, remedy="Write digits")
    return min(int(text), most)


_MOST_NEIGHBOURS = 300


async def _retrieve(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, asked = await context.access.reader(request), await read_body(request, ToolsAsked)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        return JSONResponse(asdict(await client.retrieve(asked.query, needs=asked.needs, k=asked.k, explain=True)))


async def _tool(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor = await context.access.reader(request)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        return JSONResponse(asdict(await client.get_tool(request.query_params.get("id", ""))))


async def _neighbors(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, limit = await context.access.reader(request), number(request, "limit", 100, _MOST_NEIGHBOURS)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        found = await client.neighbors(request.query_params.get("node", ""), limit=max(1, limit))
        return JSONResponse({**asdict(found), "truncated": found.truncated})


async def _catalog(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor = await context.access.reader(request)
    async with context.open_client(visitor.token, visitor.tenant) as client:
        page = await client.catalog(page_size=100, page_token=request.query_params.get("page", ""))
        return JSONResponse(asdict(page))


RETRIEVAL_ROUTES = (
    Route("/api/retrieve", _retrieve, methods=["POST"]),
    Route("/api/tool", _tool),
    Route("/api/neighbors", _neighbors),
    Route("/api/catalog", _catalog),
)


_MOST_ROWS = 500  # of one answer: as many as a chart draws


async def _ask(request: Request) -> JSONResponse:
    context = context_of(request)
    visitor, asked = await context.access.admin(request), await read_body(request, QuestionAsked)
    talks = _talks(request)
    if asked.branch is not None and not asked.talk:
        raise InvalidArgumentError("it needs a conversation", subject="branch", remedy="Ask a question first")
    talk = talks.find(asked.talk, visitor.key) if asked.talk else talks.new(visitor.key, visitor.tenant)
    plan = talk.ask(None if asked.branch is None else (asked.branch.turn, asked.branch.step))
    run = context.runs.begin(visitor.key)
    talks.keep(talk)
    run.start(plan, PlanRequest(request=asked.query, token=visitor.token, tenant=visitor.tenant, ask=run.ask))
    return JSONResponse({"talk": talk.id, "run": run.id}, status_code=201)


async def _result(request: Request) -> JSONResponse:
    visitor = await context_of(request).access.admin(request)
    talk = _talks(request).find(request.path_params["talk"], visitor.key)
    offset, count = number(request, "offset", 0, 10**9), number(request, "count", 20, _MOST_ROWS)
    turn, handle = request.path_params["turn"], request.path_params["handle"]
    return JSONResponse(await talk.page(turn, handle, offset, count))


def _talks(request: Request) -> PageTalks:
    talks = context_of(request).talks
    if talks is None:
        raise UnsupportedError("this server answers no questions of a graph", remedy="Look at the tools")
    return talks


ASK_ROUTES = (
    Route("/api/talks", _ask, methods=["POST"]),
    Route("/api/talks/{talk}/{turn:int}/results/{handle}", _result),
)
"""For :func:`services.web.page_app.page_app`."""


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


_MOST_FINDINGS, _MOST_GROUPS = 1_000, 500


async def _findings(request: Request) -> JSONResponse:
    _, store = await _store(request)
    return JSONResponse(await asyncio.to_thread(_read_findings, store))


def _read_findings(store: Path) -> dict[str, Any]:
    from ingest.trust.quarantine import read_approvals, read_record

    record = read_record(store)
    released = {(each.tool, each.sha256) for each in read_approvals(store)}
    return {
        "total": len(record.findings),
        "findings": [each.to_json() for each in record.findings[:_MOST_FINDINGS]],
        "quarantined": sorted(record.quarantined),
        "approved": sorted(tool for tool, sha256 in record.hashes.items() if (tool, sha256) in released),
    }


async def _approve(request: Request) -> JSONResponse:
    visitor, store = await _store(request)
    approved = await read_body(request, Approved)
    count = await asyncio.to_thread(_release, store, approved, visitor.name or "page")
    return JSONResponse({"approved": count})


def _release(store: Path, approved: Approved, by: str) -> int:
    """Release tools as the last build saw them; return how many.

    :raises NotFoundError: when that found nothing in them.
    """
    from ingest.trust.quarantine import approve, read_record

    record = read_record(store)
    ids = [id_ for id_ in (approved.tool,) if id_ in record.hashes] or record.matching(approved.pattern)
    if not ids:
        subject = approved.tool or approved.pattern
        raise NotFoundError("the last build found nothing in it", subject=subject, remedy="Load the findings again")
    with audited("approve-finding", ids[0] if len(ids) == 1 else named_tools(ids)):
        return len(approve(store, record.releases(ids), reason=approved.reason, by=by))


async def _duplicates(request: Request) -> JSONResponse:
    _, store = await _store(request)
    groups = await asyncio.to_thread(_near_duplicates, store)
    return JSONResponse({"total": len(groups), "groups": groups[:_MOST_GROUPS]})


def _near_duplicates(store: Path) -> tuple[tuple[str, ...], ...]:
    from ingest.duplicate_tools import near_duplicates
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store)
    try:
        return near_duplicates(snapshot.tool(number) for number in range(snapshot.tool_count))
    finally:
        snapshot.release()


async def _store(request: Request) -> tuple[Visitor, Path]:
    """The visitor, who may change the catalogue, and its store."""
    context = context_of(request)
    visitor = await context.access.admin(request)
    tenant = visitor.tenant or (next(iter(context.stores)) if len(context.stores) == 1 else "")
    if tenant not in context.stores:
        raise UnsupportedError(
            "this server has no store of this catalogue", subject=tenant, remedy="Serve the page from the store"
        )
    return visitor, context.stores[tenant]


TRUST_ROUTES = (
    Route("/api/findings", _findings),
    Route("/api/approve", _approve, methods=["POST"]),
    Route("/api/near-duplicates", _duplicates),
)
