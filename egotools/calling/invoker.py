"""The seam through which planners call tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from egotools.calling.tool_answer import ToolAnswer
from egotools.values import Tool

__all__ = ["ToolInvoker"]


class ToolInvoker(Protocol):
    """Calls a tool. May be used by several tasks at once."""

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool and return its answer, the body as JSON values; also of a call that the tool refused (``ok`` is False).

        :param arguments: JSON values by the names of the tool's input schema.
        :raises ToolRequestError: when no request can be made of the arguments.
        :raises ClientError: when there is no answer: unreachable, too slow, too large.
        :raises PermissionDeniedError: when the call changes something and nobody confirmed it.
        """
        ...
