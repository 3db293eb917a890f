"""The MCP server over streamable HTTP: who may ask, from where, and how much."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from egotools import AsyncClient, ClientError
from services.http.http_server import http_status, serve_http
from services.jobs.plans import HttpPlace
from services.mcp.gateway_server import McpGateway
from services.mcp.mcp_caller import McpCaller, set_token
from services.server.access.tls import web_tls

PATH = "/mcp"
_MAX_BODY_BYTES = 2**20
_MOST_SESSIONS = 512
_MOST_SESSIONS_OF_ONE = 64
_REVISION_HEADER = "mcp-protocol-version"
_IDLE_S = 1_800.0
_VERDICT_S, _MOST_VERDICTS = 2.0, 4_096


@asynccontextmanager
async def serve_mcp_http(gateway: McpGateway, client: AsyncClient, settings: HttpPlace) -> AsyncIterator[str]:
    """Serve inside the block; yields the URL. InvalidArgumentError when it would be open to a network in plain text, or cannot listen."""
    tls = web_tls(settings.host, settings.tls_cert, settings.tls_key, insecure=settings.insecure)
    # Only these hosts are answered, and only their pages: another site's page cannot reach the server through a browser.
    hosts = dict.fromkeys(["127.0.0.1", "localhost", "::1", settings.host, *settings.names])
    named = [form for host in hosts for name in [f"[{host}]" if ":" in host else host] for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for host in named for scheme in ("http", "https")]
    app = gateway.server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(allowed_hosts=named, allowed_origins=origins),
        max_request_body_size=_MAX_BODY_BYTES,
        max_sessions=_MOST_SESSIONS,
        session_idle_timeout=_IDLE_S,
    )
    guarded = _CallerCheck(app, client, gateway)
    async with serve_http(guarded, host=settings.host, port=settings.port, tls=tls) as address:
        yield address + PATH


class _CallerCheck:
    """Middleware: the gRPC server says whether its caller may ask; a session is its caller's alone."""

    def __init__(self, app: ASGIApp, client: AsyncClient, gateway: McpGateway) -> None:
        self._app, self._client, self._gateway = app, client, gateway
        self._verdicts: OrderedDict[str, tuple[float, ClientError | None]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its caller, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        caller = McpCaller.of_http(request)
        begins = "mcp-session-id" not in request.headers
        refusal = None
        now = time.monotonic()  # a verdict counts for two seconds: a flood of one caller costs the gRPC server no calls
        asked_s, error = self._verdicts.get(caller.key, (-_VERDICT_S, None))
        if now - asked_s >= _VERDICT_S:
            error = None
            set_token(caller.token)
            try:
                await self._client.catalog(page_size=0)
            except ClientError as refused:
                error = refused
            self._verdicts[caller.key] = (now, error)
            self._verdicts.move_to_end(caller.key)
            if len(self._verdicts) > _MOST_VERDICTS:
                self._verdicts.popitem(last=False)
        if error is not None:
            status = http_status(error.code, error.reason)
            challenge = {"www-authenticate": "Bearer"} if status == 401 else {}
            said = {"error": error.code.lower(), "error_description": str(error)}
            refusal = JSONResponse(said, status, challenge)
        if refusal is None and begins and self._gateway.sessions.of_caller[caller.key] >= _MOST_SESSIONS_OF_ONE:
            what = f"this caller has {_MOST_SESSIONS_OF_ONE} sessions: end one, or use one of them"
            refusal = JSONResponse({"error": "too_many_sessions", "error_description": what}, 429)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        if caller.token:  # the SDK answers 404 where a session was begun by another user
            scope["user"] = AuthenticatedUser(AccessToken(token=caller.token, client_id=caller.key, scopes=[]))
        # Nothing is awaited between the look at the number and the counting. A request of a revision without sessions begins none.
        begins &= request.headers.get(_REVISION_HEADER, LATEST_HANDSHAKE_VERSION) in HANDSHAKE_PROTOCOL_VERSIONS
        with self._gateway.sessions.opening(caller.key, scope) if begins else nullcontext():
            await self._app(scope, receive, send)
