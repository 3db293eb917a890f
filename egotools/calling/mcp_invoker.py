"""Calling tools of MCP servers, each as its server has it now."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

from egotools.call import Argument
from egotools.calling.input_arguments import kinds, properties_of
from egotools.calling.invoker import MAX_BYTES, TIMEOUT_S, KnownSecrets, ToolAnswer, of_mcp, off_loop
from egotools.calling.mcp_session import LiveTool, McpSession, StrongerEffectError, stronger_effect
from egotools.calling.tool_request import McpCall, build_request
from egotools.client_errors import ToolRequestError
from egotools.values import Tool

_NAME = re.compile(r"[A-Za-z_$][\w$.\[\]-]{0,39}\Z", re.ASCII)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_MOST_WORDS = 4  # a longer name may be a sentence, and a sentence an instruction
_CHANGED = "The inputs of this tool are not those of the catalogue any more: its server has changed it."


class ChangedToolError(ToolRequestError):
    """No request can be made, by the input schema that the server lists now and that is not the catalogue's: ``live`` is that schema as
    an answer of the server, without credentials, to be shown as answers are, between marks.
    """

    def __init__(self, message: str, *, subject: str, live: ToolAnswer) -> None:
        remedy = "The inputs of this tool have changed since the catalogue was built: give the arguments that its server takes now."
        super().__init__(message, subject=subject, remedy=remedy)
        self.live = live


@dataclass(frozen=True, slots=True, kw_only=True)
class McpAddress:
    """Where the tools of a session are. Secrets are in no ``repr``, and another host never gets them."""

    session: str  # ``mcp:COMMAND …`` to start a server on stdio, or ``mcp+http(s)://…``
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # of each request over HTTP (a token)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # of stdio, beside the few that the SDK hands on


class McpInvoker:
    """Calls the tools of some MCP servers. As a context manager (``async with``) it keeps a session with each server it calls
    until the block ends; else each call opens one of its own. A block is of one caller: no two of them share a session.

    Before each call the tool is looked up in the server's list: arguments are checked against what it takes now, the answer says
    when that is not what the catalogue says, and a tool that does more than the tool given is not called.

    :param addresses: name of a session, as the calls of its tools have it, → its server; that of the empty name serves the
        sessions without one.
    """

    def __init__(
        self, addresses: Mapping[str, McpAddress], *, timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES
    ) -> None:
        self._addresses, given = dict(addresses), addresses.values()
        self._secrets = KnownSecrets(value for each in given for value in (*each.headers.values(), *each.env.values()))
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._kept: dict[str, McpSession] | None = None

    async def __aenter__(self) -> Self:
        self._kept = {}
        return self

    async def __aexit__(self, *_: object) -> None:
        kept, self._kept = self._kept or {}, None
        await asyncio.gather(*(session.close() for session in kept.values()))

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`.

        :raises ChangedToolError: when the arguments do not fit what the tool takes now.
        :raises StrongerEffectError: when the server does not say any more that the tool does as little as ``tool.effect``.
        """
        async with self._opened(tool) as session:
            started = time.monotonic()
            request, live = await self._request(session, tool, arguments)
            if stronger_effect(tool.effect, live.effect) != (tool.effect or "change"):
                raise StrongerEffectError(replace(tool, effect=live.effect))
            left_s = max(self._timeout_s - (time.monotonic() - started), 0.001)
            answer = await session.call(request, timeout_s=left_s)
            answer = await off_loop(session.answer_bytes, lambda: self._secrets.without(of_mcp(answer)))
        is_same = _shape(live.input_schema) == _shape(tool.input_schema)
        return answer if is_same else replace(answer, notes=(*answer.notes, _CHANGED))

    async def look_up(self, tool: Tool, arguments: Mapping[str, Any]) -> Tool:
        """Return a tool with the effect that its server states now, where that is the stronger one, before anybody is asked about a
        call; a tool of another protocol as it is. The errors are those of :meth:`invoke`.
        """
        if tool.call.protocol != "mcp":
            return tool
        async with self._opened(tool) as session:
            _, live = await self._request(session, tool, arguments)
        return replace(tool, effect=stronger_effect(tool.effect, live.effect))

    @asynccontextmanager
    async def _opened(self, tool: Tool) -> AsyncIterator[McpSession]:
        if tool.call.protocol != "mcp":
            raise ToolRequestError("this tool is not of an MCP server", tool.id, "Call it by its protocol.")
        name = tool.call.session if tool.call.session in self._addresses else ""
        address = self._addresses.get(name)
        if address is None:
            known = ", ".join(sorted(self._addresses)) or "none"
            problem = f"no address is given for the MCP session {tool.call.session!r}"
            raise ToolRequestError(problem, tool.id, f"Give its server again (--session); sessions with one: {known}.")
        kept = self._kept
        session = kept.get(name) if kept is not None else None
        if session is None:
            session = McpSession(address.session, headers=address.headers, env=address.env, max_bytes=self._max_bytes)
        if kept is not None:
            kept[name] = session
        try:
            yield session
        finally:
            if kept is None:
                await session.close()

    async def _request(self, session: McpSession, tool: Tool, arguments: Mapping[str, Any]) -> tuple[McpCall, LiveTool]:
        """Make the request for a tool as its server has it now: the snapshot may be of yesterday."""
        live = await session.live_tool(tool.call.operation, timeout_s=self._timeout_s)
        schema = live.input_schema
        places = tuple(Argument(name=name) for name in properties_of(schema, schema))
        try:
            request = build_request(replace(tool.call, arguments=places), arguments, schema=schema)
        except ToolRequestError as error:
            if schema == tool.input_schema:
                raise
            subject = error.subject[:200]  # of the server's names only short ones, and those that the caller gave
            is_plain = _NAME.match(error.subject) and len(_WORD.findall(error.subject)) <= _MOST_WORDS
            if not (is_plain and self._secrets.without_in(error.subject) == error.subject):
                first = re.split(r"[.\[]", error.subject, maxsplit=1)[0]
                known = (each for each in (error.subject, first) if each in arguments)
                subject = next(known, "arguments")[:200]
            shown = ToolAnswer(ok=False, status="not called", body=self._secrets.without_in({"inputSchema": schema}))
            raise ChangedToolError(error.message, subject=subject, live=shown) from None
        return cast(McpCall, request), live


def _shape(schema: Mapping[str, Any]) -> Any:
    """What of a schema decides how a tool is called: its inputs, their types and values, and which are required."""
    inputs = properties_of(schema, schema)
    listed = {name: inner.get("enum") if isinstance(inner, Mapping) else None for name, inner in inputs.items()}
    enums = {name: sorted(map(repr, values)) for name, values in listed.items() if isinstance(values, list)}
    required = schema.get("required")
    needed = frozenset(map(str, required)) if isinstance(required, list) else frozenset()
    return {name: kinds(inner, schema) for name, inner in inputs.items()}, enums, needed
