"""Calling tools of several protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egotools import Tool, ToolRequestError
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer

__all__ = ["ProtocolInvoker"]


class ProtocolInvoker:
    """Hands each call to the invoker of its protocol.

    :param invokers: protocol of :data:`egotools.call.PROTOCOLS` → invoker.
    """

    def __init__(self, invokers: Mapping[str, ToolInvoker]) -> None:
        self._invokers = dict(invokers)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`."""
        protocol = tool.call.protocol
        invoker = self._invokers.get(protocol)
        if invoker is None:
            problem = (
                f"nothing here calls tools by the protocol {protocol!r}" if protocol else "its source names no protocol"
            )
            known = ", ".join(sorted(self._invokers)) or "none"
            named = (
                " Functions of Python are called where their module is named (--python)."
                if protocol == "python"
                else ""
            )
            raise ToolRequestError(problem, subject=tool.id, remedy=f"Protocols that are called here: {known}.{named}")
        return await invoker.invoke(tool, arguments)
