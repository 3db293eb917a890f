"""What the server keeps for one client: its sessions with the sources, the tools that it found, its calls under way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from egotools import AsyncClient, ClientError, OverloadedError
from egotools.calling.invoker import ToolInvoker
from planners.calls.tool_access import Ask, CallLimits, ToolAccess
from services.mcp.mcp_caller import McpCaller, set_token

__all__ = ["ModelSession", "ModelSessions", "SnapshotWatch"]

Notify: TypeAlias = Callable[[], Awaitable[None]]
"""Tells one client."""
_LOG = logging.getLogger("egotools.mcp")


@dataclass(slots=True, eq=False)
class _Watched:
    clients: list[Notify] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class SnapshotWatch:
    """Asks the gRPC server for its snapshot again and again, once for each caller, with the caller's rights.

    :param every_s: seconds between two questions.
    """

    def __init__(self, client: AsyncClient, every_s: float) -> None:
        self._client = client
        self._every_s = every_s
        self._watched: dict[str, _Watched] = {}

    @contextlib.contextmanager
    def telling(self, caller: McpCaller, notify: Notify) -> Iterator[None]:
        """Tell a client inside the block."""
        watched = self._watched.setdefault(caller.key, _Watched())
        watched.clients.append(notify)
        if watched.task is None:
            watched.task = asyncio.create_task(self._look(caller, watched))
        try:
            yield
        finally:
            watched.clients.remove(notify)
            if not watched.clients:
                watched.task.cancel()
                self._watched.pop(caller.key, None)

    async def _look(self, caller: McpCaller, watched: _Watched) -> None:
        set_token(caller.token)
        known = ""
        while True:
            with contextlib.suppress(
                ClientError
            ):  # the server may be down for a while, or refuse a token that has expired
                found = (await self._client.catalog(page_size=0)).snapshot_id
                if known and found != known:
                    _LOG.info("snapshot %s", found)
                    await asyncio.gather(*(notify() for notify in watched.clients), return_exceptions=True)
                known = found
            await asyncio.sleep(self._every_s)


_MOST_KEPT = 256
_IDLE_S = 1_800.0
_STATE = "egotools"
_OPENING = "egotools.opening"


@dataclass(slots=True, eq=False)
class ModelSession:
    """One client.

    :param invoker: calls tools, in sessions with their servers that are this client's alone.
    :param listed: tools that the client found and that are listed for it, by name, in the order of their finding.
    :param clients: who is told when that list grows.
    """

    caller: McpCaller
    invoker: ToolInvoker
    max_calls: int
    listed: dict[str, types.Tool] = field(default_factory=dict)
    clients: list[Notify] = field(default_factory=list)
    calls: int = 0
    used_s: float = 0.0

    @contextmanager
    def telling(self, notify: Notify) -> Iterator[None]:
        """Tell a client inside the block that its list has grown."""
        self.clients.append(notify)
        try:
            yield
        finally:
            self.clients.remove(notify)

    async def list_also(self, tools: Iterable[types.Tool], most: int) -> None:
        """List further tools after those that are listed, up to so many, and tell so."""
        before = len(self.listed)
        for tool in tools:
            if len(self.listed) < most:
                self.listed.setdefault(tool.name, tool)
        if len(self.listed) > before:
            await asyncio.gather(*(notify() for notify in self.clients), return_exceptions=True)

    @contextmanager
    def one_call(self) -> Iterator[None]:
        """Count a call while it runs.

        :raises OverloadedError: when too many run.
        """
        if self.calls >= self.max_calls:
            raise OverloadedError(
                f"{self.calls} calls of this session run already",
                code="RESOURCE_EXHAUSTED",
                subject="session",
                remedy="Wait for their answers.",
            )
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1


@dataclass(slots=True)
class _Place:
    """A place that is kept for a session before it begins.

    :param taken: whether it began.
    """

    taken: bool = False


class ModelSessions:
    """The sessions of a server.

    A client with an MCP session has one until that ends. Where the protocol has no sessions (revision 2026-07-28), one is kept for the
    process on stdio and for each token over HTTP; a request without a token shares nothing with another.
    """

    def __init__(self, access: ToolAccess, ask: Ask, watch: SnapshotWatch, max_calls: int) -> None:
        self._access = access
        self._watch = watch
        self._ask = ask
        self._max_calls = max_calls
        self._kept: OrderedDict[str, tuple[ModelSession, AsyncExitStack]] = OrderedDict()
        self._one_opens = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()
        self.of_caller: Counter[str] = Counter()

    async def of(self, context: ServerRequestContext[Any, Any]) -> ModelSession:
        """Return the session of a request, begun where there is none."""
        caller = McpCaller.of(context)
        connection = _connection(context)
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        async with self._one_opens:
            if is_modern and caller.token != "":
                return await self._kept_session(caller)
            if _STATE not in connection.state:
                session = await connection.exit_stack.enter_async_context(self._opened(caller))
                connection.state[_STATE] = session
                if not is_modern:
                    self._begin(context, connection.exit_stack, session)
            found: ModelSession = connection.state[_STATE]
            return found

    @contextmanager
    def opening(self, key: str, scope: MutableMapping[str, Any]) -> Iterator[None]:
        """Count a session for a caller while the request that may begin it is served, and further if it does.

        :param scope: of the request.
        """
        place = scope[_OPENING] = _Place()
        self.of_caller[key] += 1
        try:
            yield
        finally:
            if not place.taken:
                self._leave(key)

    def _begin(self, context: ServerRequestContext[Any, Any], ended: AsyncExitStack, session: ModelSession) -> None:
        """Count a session of the protocol, and tell its client of changes of the list, until it ends."""
        key, notify = session.caller.key, context.session.send_tool_list_changed
        place = getattr(context.request, "scope", {}).get(_OPENING)
        if place is None:  # not over HTTP
            self.of_caller[key] += 1
        else:
            place.taken = True
        ended.callback(self._leave, key)
        ended.enter_context(session.telling(notify))
        ended.enter_context(self._watch.telling(session.caller, notify))

    async def close(self) -> None:
        """End the sessions that no connection ends."""
        while self._kept:
            self._end(self._kept.popitem()[1][1])
        await asyncio.gather(*self._ending, return_exceptions=True)

    @asynccontextmanager
    async def _opened(self, caller: McpCaller) -> AsyncIterator[ModelSession]:
        async with self._access.calling(self._ask, CallLimits()) as invoker:
            yield ModelSession(caller=caller, invoker=invoker, max_calls=self._max_calls)

    async def _kept_session(self, caller: McpCaller) -> ModelSession:
        now = time.monotonic()
        self._end_idle(now)
        if caller.key not in self._kept:
            stack = AsyncExitStack()
            self._kept[caller.key] = (await stack.enter_async_context(self._opened(caller)), stack)
        session = self._kept[caller.key][0]
        session.used_s = now
        self._kept.move_to_end(caller.key)
        return session

    def _end_idle(self, now: float) -> None:
        for key, (session, stack) in list(self._kept.items()):
            if session.calls or (now - session.used_s < _IDLE_S and len(self._kept) < _MOST_KEPT):
                continue
            del self._kept[key]
            self._end(stack)

    def _end(self, stack: AsyncExitStack) -> None:
        """End a session with the sources without letting anybody wait for them."""
        task = asyncio.create_task(stack.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _leave(self, key: str) -> None:
        self.of_caller[key] -= 1
        if not self.of_caller[key]:
            del self.of_caller[key]


def _connection(context: ServerRequestContext[Any, Any]) -> Connection:
    """The client's connection: the SDK documents its state and exit stack for handlers, and hands it on by this attribute only."""
    connection: Connection = context.session._connection
    return connection
