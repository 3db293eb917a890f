"""What may be called and where, and an invoker for it that keeps the safe order: policy and consent, limits, retries, protocol."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from egotools import Tool
from egotools.calling.address_guard import Network
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import ToolInvoker
from egotools.calling.mcp_invoker import McpAddress, McpInvoker
from inference.retry import RetryPolicy
from planners.calls.call_limits import CallLimits, LimitedInvoker
from planners.calls.call_policy import CallPolicy
from planners.calls.consent import Ask, ConsentingInvoker
from planners.calls.protocol_invoker import ProtocolInvoker
from planners.calls.python_invoker import PythonInvoker
from planners.calls.safe_retries import RetryingInvoker

__all__ = ["ToolAccess"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccess:
    """What may be called, and where.

    :param modules: of Python, whose functions may be called.
    :param servers: namespace → base URL, see :class:`HttpInvoker`.
    :param sessions: name → MCP server.
    :param credentials: key of a security scheme, or ``NAMESPACE.KEY``, → credential, see :class:`HttpInvoker`.
    :param allowed_networks: that a document's server may be in although they are not public.
    :param policy: of the operator: which calls are made, asked about, or refused.
    :param timeout_s: seconds for a call.
    """

    modules: Collection[str] = ()
    servers: Mapping[str, str] = field(default_factory=dict)
    sessions: Mapping[str, McpAddress] = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    allowed_networks: Sequence[Network] = ()
    policy: CallPolicy = field(default_factory=CallPolicy)
    timeout_s: float = 30.0

    def server_of(self, tool: Tool) -> str:
        """The base URL that was given for a tool, or empty."""
        return self.servers.get(tool.namespace, self.servers.get("", ""))

    @contextlib.asynccontextmanager
    async def calling(
        self,
        ask: Ask,
        limits: CallLimits,
        own: Callable[[ToolInvoker], ToolInvoker] | None = None,
        retries: RetryPolicy | None = None,
    ) -> AsyncIterator[ToolInvoker]:
        """Yield what calls tools: policy and consent first, then limits, then retries, then the protocol. MCP sessions are kept
        until the end, and belong to this block: give each caller (tenant and subject) one of its own.

        :param own: given what calls by protocols, returns what calls some tools in its place: those of this process.
        :param retries: of safe calls; the usual ones where None.
        """
        http = HttpInvoker(
            servers=self.servers,
            credentials=self.credentials,
            allowed_networks=self.allowed_networks,
            timeout_s=self.timeout_s,
        )
        async with McpInvoker(self.sessions, timeout_s=self.timeout_s) as mcp:
            protocols: dict[str, ToolInvoker] = {"http": http, "odata": http}
            if self.modules:
                protocols["python"] = PythonInvoker(self.modules, timeout_s=self.timeout_s)
            if self.sessions:
                protocols["mcp"] = mcp
            called: ToolInvoker = ProtocolInvoker(protocols)
            limited = LimitedInvoker(RetryingInvoker(called if own is None else own(called), retries), limits)
            yield ConsentingInvoker(limited, ask, self.policy, mcp.look_up)
