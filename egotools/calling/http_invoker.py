"""Calling tools over HTTP and OData."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egotools.calling.address_guard import Network
from egotools.calling.answer_body import of_http
from egotools.calling.call_credentials import Credential, bound_credentials
from egotools.calling.known_secrets import KnownSecrets
from egotools.calling.off_loop import off_loop
from egotools.calling.send_call import send_http
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall
from egotools.client_errors import ToolRequestError
from egotools.values import Tool

__all__ = ["HttpInvoker"]


class HttpInvoker:
    """Sends the request that is built from a tool's call.

    :param servers: namespace of tools → base URL that takes the place of their document's; that of the empty name serves the
        namespaces without one.
    :param credentials: scheme key, or ``NAMESPACE.KEY``, → API key, token, or user and password; see :func:`bound_credentials`.
    :param allowed_networks: that a document's server may be in although they are not public, see :mod:`egotools.calling.address_guard`.
    :param timeout_s: seconds for a call as a whole.
    :param max_bytes: bytes of an answer that are taken.
    """

    def __init__(
        self,
        *,
        servers: Mapping[str, str] | None = None,
        credentials: Mapping[str, Credential] | None = None,
        allowed_networks: Sequence[Network] = (),
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._servers = dict(servers or {})
        self._credentials = dict(credentials or {})
        self._secrets = KnownSecrets(self._credentials.values())
        self._allowed_networks = tuple(allowed_networks)
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`."""
        server = self._servers.get(tool.namespace, self._servers.get("", ""))
        credentials = bound_credentials(tool.call, self._credentials, namespace=tool.namespace, server=server)
        request = tool.request(arguments, server=server, credentials=credentials)
        if isinstance(request, McpCall | AwsCall | PythonCall):
            raise ToolRequestError(
                "this tool is not called over HTTP", subject=tool.id, remedy="Call it by its protocol."
            )
        answer = await send_http(
            request, allowed_networks=self._allowed_networks, timeout_s=self._timeout_s, max_bytes=self._max_bytes
        )
        return await off_loop(answer.size, self._body_of, answer)

    def _body_of(self, answer: ToolAnswer) -> ToolAnswer:
        return of_http(self._secrets.without(answer))
