"""The page of a gRPC server in this process: its files, its routes, who may use them, and errors as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from egotools import AsyncClient, ClientError
from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, UnauthenticatedError, UnsupportedError
from ontology.json_values import first_error
from services.http.http_server import http_status, is_own_host, serve_http
from services.jobs.ask_parts import AskPlan, ask_graph, outcome_error
from services.server.access.authentication import check_permission
from services.server.access.tls import is_loopback, own_credentials, own_target, web_context
from services.server.server import Server
from services.web.live_runs import LiveRuns, Plan, PlanRequest, RunEvent, error_json, observed

_MOST_ROWS = 200  # of a table that are shown


def client_maker(server: Server) -> Callable[[str, str], AsyncClient]:
    """Return what makes a client of a server that has started, from a token and a tenant (both may be empty). The
    certificate of the server is trusted as it is, as its own: the connection does not leave the machine."""
    host, _, port = server.address.rpartition(":")
    target = own_target(host, port)
    certificate = server.settings.tls_cert

    def make(token: str, tenant: str) -> AsyncClient:
        plain = certificate is None
        tls, options = (False, []) if certificate is None else own_credentials(certificate)  # it may be replaced
        return AsyncClient(target, tls=tls, options=options, token=token or None, tenant=tenant, insecure_token=plain)

    return make


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Where the page is, and what is behind it; its TLS is that of the server."""

    host: str = "127.0.0.1"  # beyond loopback only with TLS and access control, or where the server is ``insecure``
    port: int = 8080
    names: tuple[str, ...] = ()  # by which the page may be called, beside those of loopback and ``host``
    plan: Plan | None = None  # None: the page only looks for tools
    domains: Sequence[str] = ()  # of the planner, the default first
    ask: AskPlan | None = None  # of questions of a graph, where it names none of the tenant's tools; None: none are


@asynccontextmanager
async def serve_web(
    server: Server, stores: Mapping[str, Path], settings: WebSettings | None = None
) -> AsyncIterator[str]:
    """Serve the page of a server that has started, inside the block; yields the page's address. The page calls the
    server over gRPC with its visitor's token, and asks questions of the tool graph in the store of the visitor's
    tenant. Raises InvalidArgumentError when the page would be open to a network, or cannot listen."""
    settings = settings or WebSettings()
    grpc_settings, access = server.settings, server.access
    certificate, key = grpc_settings.tls_cert, grpc_settings.tls_key
    local = is_loopback(settings.host)
    tls = None if local or certificate is None or key is None else web_context(certificate, key)
    if not local and not grpc_settings.insecure and (tls is None or access.authentication is None):
        problem = "the page would listen beyond loopback without TLS and access control"
        remedy = "Leave the page on loopback behind a proxy; or say --insecure where a proxy has TLS and access control"
        raise InvalidArgumentError(problem, subject=settings.host, remedy=remedy)
    if grpc_settings.require_client_cert:
        problem = "the page cannot call a server that knows its callers by their certificates"
        raise InvalidArgumentError(problem, subject="require_client_cert", remedy="Use tokens, or leave --web out")

    page = _Page(server, stores, settings)
    app = page.app([settings.host, *settings.names])
    async with serve_http(app, host=settings.host, port=settings.port, tls=tls) as address:
        try:
            yield address
        finally:
            page.stopping.set()


# The content security policy: nothing inline, nothing from elsewhere, and no text that becomes markup
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
STATIC = Path(__file__).parent / "static"  # the files of the page
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_TENANT_HEADER = "x-egotools-tenant"
_READ, _ALL = "/egotools.v1.ToolRetrieval/Retrieve", "/egotools.v1.CatalogAdmin/Publish"
_MAX_BODY_BYTES, _MAX_QUERY_CHARS = 64 * 1024, 20_000
_MOST_NEIGHBOURS = 300
_STILL_THERE_S = 15.0
_FAILURES: tuple[Any, ...] = (EgotoolsError, ClientError, Exception)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _ToolsAsked(_Form):
    """A request for tools: words, needs, or both. The service says what is wrong with them."""

    query: str = Field(default="", max_length=_MAX_QUERY_CHARS)
    needs: list[str] = Field(default_factory=list)
    k: int = Field(default=10, ge=1, le=100)


class _RunAsked(_Form):
    query: str = Field(min_length=1, max_length=_MAX_QUERY_CHARS)
    domain: str = Field(default="", max_length=200)


_F = TypeVar("_F", bound=_Form)


async def _body(request: Request, form: type[_F]) -> _F:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidArgumentError("the body is not JSON", subject="content-type", remedy="Send application/json")
    try:
        return form.model_validate_json(await request.body())
    except ValidationError as error:
        raise InvalidArgumentError(first_error(error), subject="body", remedy="Correct the request") from error


class _Page:
    """The routes of the page. It calls the server over gRPC with its visitor's token."""

    def __init__(self, server: Server, stores: Mapping[str, Path], settings: WebSettings) -> None:
        self._settings, self._stores, self._open_client = settings, stores, client_maker(server)
        self._authentication = server.access.authentication  # None: everybody may see everything, as there
        self._question = None if settings.ask is None else observed(self._answered)
        self._runs, self.stopping = LiveRuns(), asyncio.Event()

    async def _answered(self, asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
        """Answer a question of a graph: of that of the plan, else of the tool graph of the visitor's tenant."""
        plan = self._settings.ask or AskPlan(graph="")
        if not plan.graph:
            if asked.tenant not in self._stores:
                raise NotFoundError("there is no such tenant", subject=asked.tenant, remedy="Name another one")
            plan = replace(plan, graph=f"store:{self._stores[asked.tenant]}")
        told = await ask_graph(plan, asked.request, lambda event: observe(event.to_json()), rows=_MOST_ROWS)
        failed = outcome_error(told.answered.end, by_command=False)
        error = None if failed is None else error_json(failed)
        observe({"event": "QuestionAnswered", "pages": list(told.pages), "error": error})

    async def _visitor(self, request: Request, method: str = _READ) -> tuple[str, str]:
        """The token and the tenant of who asks, when they may call a method of the service; else the errors of authentication."""
        tenant = request.headers.get(_TENANT_HEADER, "")
        if self._authentication is None:
            return "", tenant
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        if not token:
            remedy = "The page has no sign-in: let a proxy send authorization: Bearer TOKEN"
            raise UnauthenticatedError("the request has no token", subject="authorization", remedy=remedy)
        caller = await self._authentication.caller(await self._authentication.bearer(f"Bearer {token}"))
        check_permission(caller, method, tenant)
        return token, tenant or caller.home

    async def _refusal(self, request: Request, method: str) -> EgotoolsError | None:
        try:
            await self._visitor(request, method)
        except EgotoolsError as error:
            return error
        return None

    async def session(self, request: Request) -> JSONResponse:
        """Say what this visitor may do. Asks for no token."""
        refused = await self._refusal(request, _READ)
        questions = self._question is not None and await self._refusal(request, _ALL) is None
        problem = None if refused is None else error_json(refused)
        planner, domains = self._settings.plan is not None, list(self._settings.domains)
        return JSONResponse({"problem": problem, "planner": planner, "questions": questions, "domains": domains})

    async def tools(self, request: Request) -> JSONResponse:
        """The tools for a request, or the calls that lead to what is asked, in order."""
        async with self._open_client(*await self._visitor(request)) as client:
            asked = await _body(request, _ToolsAsked)
            if request.url.path == "/api/plan":
                return JSONResponse(asdict(await client.plan(query=asked.query, needs=asked.needs)))
            return JSONResponse(asdict(await client.retrieve(asked.query, needs=asked.needs, k=asked.k)))

    async def looked_up(self, request: Request) -> JSONResponse:
        """A tool, the neighbours of a node, or a page of the catalogue."""
        what, given = request.url.path.rpartition("/")[2], request.query_params
        async with self._open_client(*await self._visitor(request)) as client:
            if what == "tool":
                return JSONResponse(asdict(await client.get_tool(given.get("id", ""))))
            if what == "catalog":
                return JSONResponse(asdict(await client.catalog(page_size=100, page_token=given.get("page", ""))))
            found = await client.neighbors(given.get("node", ""), limit=_MOST_NEIGHBOURS)
            return JSONResponse({**asdict(found), "truncated": found.truncated})

    async def begun(self, request: Request) -> StreamingResponse:
        """The events of a run of the planner, or of a question of a graph."""
        is_run = request.url.path == "/api/runs"
        visitor = await self._visitor(request, _READ if is_run else _ALL)
        asked, plan = await _body(request, _RunAsked), self._settings.plan if is_run else self._question
        if plan is None:
            problem = "this server has no planner" if is_run else "this server answers no questions of a graph"
            raise UnsupportedError(problem, remedy="Look at the tools")
        if asked.domain and asked.domain not in self._settings.domains:
            raise InvalidArgumentError("there is no such domain", subject="domain", remedy="Choose one of the list")
        self._runs.check_room()
        events = self._runs.events(plan, PlanRequest(asked.query, asked.domain, *visitor))
        return StreamingResponse(_stream(events, self.stopping), media_type="text/event-stream")

    def app(self, hosts: Iterable[str]) -> Starlette:
        """Return the application, which may be called by names of loopback and of ``hosts``."""

        async def index(request: Request) -> FileResponse:
            return FileResponse(STATIC / "index.html")

        async def failed(request: Request, error: Exception) -> JSONResponse:
            found = error_json(error)
            return JSONResponse({"error": found}, status_code=http_status(found["code"]))

        routes = (
            Route("/", index),
            Route("/api/session", self.session),
            *(Route(f"/api/{name}", self.tools, methods=["POST"]) for name in ("retrieve", "plan")),
            *(Route(f"/api/{name}", self.looked_up) for name in ("tool", "neighbors", "catalog")),
            *(Route(f"/api/{name}", self.begun, methods=["POST"]) for name in ("runs", "questions")),
            Mount("/static", StaticFiles(directory=STATIC)),
        )
        guard = [Middleware(_PageGuard, hosts=hosts)]
        return Starlette(routes=routes, middleware=guard, exception_handlers=dict.fromkeys(_FAILURES, failed))


async def _stream(events: AsyncGenerator[RunEvent, None], stopping: asyncio.Event) -> AsyncIterator[str]:
    """Server-sent events, with a comment in long pauses so that nobody in between closes the connection."""
    async with aclosing(events):
        stopped = asyncio.ensure_future(stopping.wait())
        waiting = asyncio.ensure_future(anext(events, None))
        try:
            while not stopping.is_set():
                await asyncio.wait([waiting, stopped], timeout=_STILL_THERE_S, return_when=asyncio.FIRST_COMPLETED)
                if not waiting.done():
                    yield ": still there\n\n"
                elif (event := waiting.result()) is None:
                    return
                else:
                    yield f"data: {json.dumps(event)}\n\n"
                    waiting = asyncio.ensure_future(anext(events, None))
        finally:
            for task in (waiting, stopped):
                task.cancel()
            await asyncio.wait([waiting, stopped])


class _PageGuard:
    """Middleware. A host name that is none of loopback or ``hosts`` is refused, and what comes from another site."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store" if scope["path"].startswith("/api/") else "no-cache")
            await send(message)

        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not is_own_host(headers.get("host", ""), self._hosts):
            return PlainTextResponse("This server has another name.", status_code=421)
        if scope["path"].startswith("/api/"):
            origin, netloc = headers.get("origin", ""), ""
            with suppress(ValueError):  # it is no address
                netloc = urlsplit(origin).netloc.lower()
            elsewhere = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
            if elsewhere or (origin and netloc != headers.get("host", "").lower()):
                return PlainTextResponse("This comes from another site.", status_code=403)
        if scope["method"] not in ("GET", "HEAD"):
            length = headers.get("content-length", "")
            if not length.isdecimal():
                return PlainTextResponse("The length of the request is missing.", status_code=411)
            if int(length) > _MAX_BODY_BYTES:
                return PlainTextResponse("The request is too long.", status_code=413)
        return None
