"""The page as an ASGI application: its files, its routes, and errors as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError
from services.http.http_status import http_status
from services.web.ask_routes import ASK_ROUTES
from services.web.error_json import error_json
from services.web.page_context import PageContext, context_of
from services.web.page_guard import PageGuard
from services.web.retrieval_routes import RETRIEVAL_ROUTES
from services.web.run_routes import RUN_ROUTES
from services.web.trust_routes import TRUST_ROUTES

__all__ = ["STATIC", "page_app"]

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
