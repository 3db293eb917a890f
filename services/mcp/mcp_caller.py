"""Who sends a request, with which token the gRPC server is asked then, and what is kept for one client."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import HTTPConnection

from egotools import OverloadedError
from egotools.calling.invoker import ToolInvoker
from planners.calls.tool_access import Ask, CallLimits, ToolAccess

_MOST_KEPT = 256
_IDLE_S = 1_800.0
_STATE = "egotools"
_OPENING = "egotools.opening"


MAX_CALLS = 16  # calls of one session at once; more are refused
_TOKEN: ContextVar[str | None] = ContextVar("egotools_mcp_token", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCaller:
    """A caller."""

    token: str | None = field(repr=False)  # empty for an anonymous caller; None on stdio, where the process has one
    key: str  # equal for requests of the same token; without one, for those of the same address

    @classmethod
    def of_http(cls, request: HTTPConnection) -> Self:
        """The caller of a request over HTTP."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        if token:
            return cls(token=token, key=hashlib.sha256(token.encode()).hexdigest())
        return cls(token="", key=f"anonymous {request.client.host if request.client else ''}")

    @classmethod
    def of(cls, context: ServerRequestContext[Any, Any]) -> Self:
        """The caller of an MCP request."""
        if isinstance(context.request, HTTPConnection):
            return cls.of_http(context.request)
        return cls(token=None, key="stdio")


def set_token(token: str | None) -> None:
    """Say with which token the calls of this task ask the gRPC server; None: with that of the process."""
    _TOKEN.set(token)


def current_token(of_process: str = "") -> str:
    """Return the token for a call of the gRPC server."""
    token = _TOKEN.get()
    return of_process if token is None else token


@dataclass(slots=True, eq=False)
class ModelSession:
    """One client."""

    caller: McpCaller
    invoker: ToolInvoker  # calls tools, in sessions with their servers that are this client's alone
    calls: int = 0
    used_s: float = 0.0

    @contextmanager
    def one_call(self) -> Iterator[None]:
        """Count a call while it runs; OverloadedError when too many run."""
        if self.calls >= MAX_CALLS:
            problem = f"{self.calls} calls of this session run already"
            raise OverloadedError(problem, "session", "Wait for their answers.")
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1


class ModelSessions:
    """The sessions of a server. A client with an MCP session has one until that ends. Where the protocol has no
    sessions (revision 2026-07-28), one is kept for the process on stdio and for each token over HTTP; a request without
    a token shares nothing with another."""

    def __init__(self, access: ToolAccess, ask: Ask) -> None:
        self._access = access
        self._ask = ask
        self._kept: OrderedDict[str, tuple[ModelSession, AsyncExitStack]] = OrderedDict()
        self._one_opens = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()
        self.of_caller: Counter[str] = Counter()

    async def of(self, context: ServerRequestContext[Any, Any]) -> ModelSession:
        """Return the session of a request, begun where there is none."""
        caller = McpCaller.of(context)
        # The SDK documents the state and the exit stack of a connection for handlers, and hands it on by this name only.
        connection: Connection = context.session._connection
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        async with self._one_opens:
            if is_modern and caller.token != "":
                now = time.monotonic()
                for key, (session, stack) in list(self._kept.items()):
                    idle = now - session.used_s >= _IDLE_S or len(self._kept) >= _MOST_KEPT
                    if idle and not session.calls:
                        del self._kept[key]
                        self._end(stack)
                if caller.key not in self._kept:
                    stack = AsyncExitStack()
                    self._kept[caller.key] = (await stack.enter_async_context(self._opened(caller)), stack)
                kept = self._kept[caller.key][0]
                kept.used_s = now
                self._kept.move_to_end(caller.key)
                return kept
            if _STATE not in connection.state:
                begun = await connection.exit_stack.enter_async_context(self._opened(caller))
                connection.state[_STATE] = begun
                if not is_modern:  # a session of the protocol is counted until it ends
                    if not getattr(context.request, "scope", {}).pop(_OPENING, False):  # not over HTTP
                        self.of_caller[caller.key] += 1
                    connection.exit_stack.callback(self._leave, caller.key)
            found: ModelSession = connection.state[_STATE]
            return found

    @contextmanager
    def opening(self, key: str, scope: MutableMapping[str, Any]) -> Iterator[None]:
        """Count a session for a caller while the request that may begin it is served, and further if it does: it then takes what ``scope`` holds."""
        scope[_OPENING] = True
        self.of_caller[key] += 1
        try:
            yield
        finally:
            if scope.pop(_OPENING, False):
                self._leave(key)

    async def close(self) -> None:
        """End the sessions that no connection ends."""
        while self._kept:
            self._end(self._kept.popitem()[1][1])
        await asyncio.gather(*self._ending, return_exceptions=True)

    @asynccontextmanager
    async def _opened(self, caller: McpCaller) -> AsyncIterator[ModelSession]:
        async with self._access.calling(self._ask, CallLimits()) as invoker:
            yield ModelSession(caller, invoker)

    def _end(self, stack: AsyncExitStack) -> None:
        """End a session with the sources without letting anybody wait for them."""
        task = asyncio.create_task(stack.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _leave(self, key: str) -> None:
        self.of_caller[key] -= 1
        if not self.of_caller[key]:
            del self.of_caller[key]
