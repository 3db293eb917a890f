"""A dry run: every request is built and kept, none is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egotools import Tool
from egotools.calling.call_credentials import Credential
from egotools.calling.tool_answer import ToolAnswer
from egotools.calling.tool_request import ToolRequest

__all__ = ["DryRunInvoker"]


class DryRunInvoker:
    """Answers every call with nothing, after its arguments were checked.

    :ivar requests: what would have been sent, in order.
    """

    def __init__(self, *, server: str = "", credentials: Mapping[str, Credential] | None = None) -> None:
        self._server = server
        self._credentials = credentials
        self.requests: list[tuple[Tool, ToolRequest]] = []

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`; the answer's body is None."""
        self.requests.append((tool, tool.request(arguments, server=self._server, credentials=self._credentials)))
        return ToolAnswer(ok=True, status="not sent", body=None)
