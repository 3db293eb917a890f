"""The page as an ASGI application: its files, its routes, and errors as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError
from services.http.http_server import http_status, is_own_host
from services.web.page_context import PageContext, context_of
from services.web.routes import ASK_ROUTES, RETRIEVAL_ROUTES, RUN_ROUTES, TRUST_ROUTES
from services.web.run_events import error_json

__all__ = ["POLICY", "STATIC", "page_app"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The content security policy: nothing inline, nothing from elsewhere, and no text that becomes markup."""
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_MAX_BODY_BYTES = 64 * 1024


class PageGuard:
    """Middleware. A host name that is not the server's is refused, and what comes from another site.

    :param hosts: names by which the page may be called, beside those of loopback.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store" if scope["path"].startswith("/api/") else "no-cache")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not is_own_host(headers.get("host", ""), self._hosts):
            return PlainTextResponse("This server has another name.", status_code=421)
        if scope["path"].startswith("/api/"):
            origin = headers.get("origin", "")
            elsewhere = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
            if elsewhere or (origin and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()):
                return PlainTextResponse("This comes from another site.", status_code=403)
        if scope["method"] not in ("GET", "HEAD"):
            length = headers.get("content-length", "")
            if not length.isdecimal():
                return PlainTextResponse("The length of the request is missing.", status_code=411)
            if int(length) > _MAX_BODY_BYTES:
                return PlainTextResponse("The request is too long.", status_code=413)
        return None


STATIC = Path(__file__).parent / "static"
"""The files of the page."""


def page_app(context: PageContext, *, hosts: Iterable[str] = ()) -> Starlette:
    """Return the application. When it shuts down, the runs that are under way are cancelled.

    :param hosts: names by which the page may be called, beside those of loopback.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await context.runs.stop()

    app = Starlette(
        routes=[
            Route("/", _index),
            Route("/api/session", _session),
            *RETRIEVAL_ROUTES,
            *RUN_ROUTES,
            *ASK_ROUTES,
            *TRUST_ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(PageGuard, hosts=hosts), Middleware(_CsrfChecked)],
        exception_handlers={EgotoolsError: _failed, ClientError: _failed, Exception: _failed},
        lifespan=lifespan,
    )
    app.state.context = context
    return app


async def _index(request: Request) -> FileResponse:
    return FileResponse(STATIC / "index.html")


async def _session(request: Request) -> JSONResponse:
    """Say who looks at the page, as far as the page needs it. Asks for no token."""
    context = context_of(request)
    problem = None
    try:
        await context.access.reader(request)
    except EgotoolsError as error:
        problem = error_json(error)
    return JSONResponse(
        {
            "problem": problem,
            "csrf": context.access.csrf_token(request),
            "planner": context.runs.plan is not None,
            "domains": list(context.domains),
            "talks": context.talks is not None and await _is_admin(request),
            "dialogue": context.talks is not None and context.talks.is_by_model,
        }
    )


async def _is_admin(request: Request) -> bool:
    try:
        await context_of(request).access.admin(request)
    except EgotoolsError:
        return False
    return True


async def _failed(request: Request, error: Exception) -> JSONResponse:
    found = error_json(error)
    return JSONResponse({"error": found}, status_code=http_status(found["code"]))


class _CsrfChecked:
    """Middleware: a request that changes something must come from the page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            request = Request(scope)
            try:
                context_of(request).access.check_csrf(request)
            except EgotoolsError as error:
                await (await _failed(request, error))(scope, receive, send)
                return
        await self._app(scope, receive, send)
