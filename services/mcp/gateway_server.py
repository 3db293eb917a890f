"""The MCP server: tools for finding, planning and calling, and the catalogue's by name; over HTTP who may ask, how much."""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from egotools import AsyncClient, ClientError, InvalidRequestError, ToolRequestError
from egotools.calling.input_arguments import place_arguments
from egotools.calling.invoker import off_loop
from egotools.calling.mcp_invoker import ChangedToolError
from egotools.search_tool import search_description, usable_needs
from planners.calls.tool_access import ToolAccess
from planners.calls.untrusted import fence_answer
from services.http.http_server import http_status, serve_http
from services.jobs.plans import HttpPlace
from services.mcp.consent_question import ASKED_IN, QUESTION_S, ConsentQuestions, InputNeeded
from services.mcp.mcp_caller import McpCaller, ModelSession, ModelSessions, set_token
from services.mcp.model_tools import (
    CallArguments,
    GetArguments,
    PlanArguments,
    SearchArguments,
    found_reply,
    id_of,
    own_tools,
    plan_reply,
    read_arguments,
    shown_text,
    tool_of,
    tool_reply,
    why_not_callable,
)
from services.server.access.tls import web_tls

_Context: TypeAlias = ServerRequestContext[Any, Any]
_LOG = logging.getLogger("egotools.mcp")
_NAME = "egotools"
_MOST_NAMED = 100  # characters of a filter's key in a note
_SCHEMA_BYTES = 8 * 2**10  # of a schema that a server lists, where a call did not fit it
_MAX_ERROR = 4_000  # characters; names and values of a document can stand in an error
_OPERATOR = "Tell the user: whoever runs this gateway can allow it (--base-url, --session, --python, --credential, --allow-network)."
_ALLOWED = ("http", "odata", "mcp", "python")  # protocols that an operator can allow
_NOBODY = "Tell the user what to run: no setting of this gateway makes it callable."
_INSTRUCTIONS = "search_tools finds the tools that a task needs; call_tool calls one that was found."


class McpGateway:
    """Answers the requests of MCP clients out of a gRPC server's answers; its client takes the token of :func:`current_token`."""

    def __init__(self, client: AsyncClient, access: ToolAccess) -> None:
        self._client, self._access = client, access
        self.sessions = sessions = ModelSessions(access, ConsentQuestions(access).ask)

        @asynccontextmanager
        async def lifespan(server: Server[None]) -> AsyncIterator[None]:
            try:
                yield
            finally:
                await sessions.close()

        self.server: Server[None] = Server(
            _NAME,
            version=version(_NAME),
            instructions=_INSTRUCTIONS,
            lifespan=lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            get_tool_input_schema=lambda name: None,
        )
        self.server.middleware.append(self._as_caller)
        security = RequestStateSecurity.ephemeral(ttl=QUESTION_S)
        security.bind_principal = lambda context: McpCaller.of(context).key
        self.server.middleware.append(RequestStateBoundary(security, default_audience=_NAME))

    async def _as_caller(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Middleware: what the request asks of the gRPC server is asked with its caller's token."""
        set_token(McpCaller.of(ctx).token)
        if ctx.method == "initialize":
            await self.sessions.of(ctx)
        return await call_next(ctx)

    async def _list_tools(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        try:
            info = await self._client.catalog(page_size=0)
        except ClientError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return types.ListToolsResult(tools=own_tools(search_description(info)) if info.tool_count else [])

    async def _call_tool(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        session = await self.sessions.of(context)
        ASKED_IN.set((context, params))
        try:
            with session.one_call():
                name, given = params.name, params.arguments
                if name == "search_tools":
                    return await self._found(read_arguments(SearchArguments, given))
                if name == "get_tool":
                    tool = await tool_of(self._client, read_arguments(GetArguments, given).id)
                    return _data(tool_reply(tool, why_not_callable(tool, self._access)))
                if name == "plan_tools":
                    asked = read_arguments(PlanArguments, given)
                    goals = [(await tool_of(self._client, goal)).id for goal in asked.goals]
                    done = list(map(id_of, asked.done))
                    plan = await self._client.plan(
                        goals, query=asked.query, needs=asked.needs, done=done, have=asked.have
                    )
                    return _data(plan_reply(plan))
                if name == "call_tool":
                    call = read_arguments(CallArguments, given)
                    return await self._called(session, call.id, call.arguments)
                return await self._called(session, name, given or {})
        except InputNeeded as needed:
            return needed.result
        except ClientError as error:
            return _failed(shown_text(str(error), _MAX_ERROR))
        except Exception:
            _LOG.exception("the call of a client failed")
            return _failed("INTERNAL: this is a fault of the gateway; its log has it.")

    async def _found(self, asked: SearchArguments) -> types.CallToolResult:
        """The tools. What cannot be asked is left out and said so: a filter that no tool can pass, which models invent
        and then repeat, and what is no need."""
        filters = dict(asked.filters)
        needs, left_out = usable_needs(asked.needs)
        notes = [f"needs: {left_out}"] if left_out else []
        while True:
            try:
                # The number is not cut to the likely tools (auto_k): a needed one that is missing costs a model more than ten schemas.
                response = await self._client.retrieve(
                    asked.query,
                    needs=needs,
                    k=asked.k,
                    filters=filters,
                    schema_format="mcp",
                    done=list(map(id_of, asked.done)),
                    have=asked.have,
                    explain=False,
                    explanation=True,
                )
            except InvalidRequestError as error:
                # By its subject where the values of a filter are unknown, in its message where its key is.
                subject, _, key = error.subject.partition(".")
                named = (key,) if key else tuple(each for each in filters if repr(each) in error.message)
                refused = next((each for each in named if subject == "filters" and each in filters), None)
                if refused is None:
                    raise
                del filters[refused]
                notes.append(f"left out filters.{refused[:_MOST_NAMED]}: {error.message}. {error.remedy}")
            else:
                told = replace(response, fallbacks=(*notes, *response.fallbacks))
                return _data(found_reply(told, lambda tool: why_not_callable(tool, self._access)))

    async def _called(self, session: ModelSession, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        tool = await tool_of(self._client, name)
        # A user is not asked about a call that cannot be made.
        if tool.call.protocol != "mcp":  # which is checked against what its server says now
            place_arguments(tool.call, arguments, tool.input_schema)
        is_denied = self._access.policy.decision(tool) == "deny"  # which says so itself
        if not is_denied and (why := why_not_callable(tool, self._access)):
            raise ToolRequestError(
                why, subject=tool.id, remedy=_OPERATOR if tool.call.protocol in _ALLOWED else _NOBODY
            )
        try:
            answer = await session.invoker.invoke(tool, arguments)
        except ChangedToolError as error:
            live = fence_answer(error.live, tool_id=tool.id, max_bytes=_SCHEMA_BYTES)
            return _failed(f"{error}\n{live.text}")
        shown = await off_loop(answer.size, lambda: fence_answer(answer, tool_id=tool.id).text)
        return types.CallToolResult(content=[types.TextContent(text=shown)], is_error=not answer.ok)


def _data(value: dict[str, Any]) -> types.CallToolResult:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=value)


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


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
