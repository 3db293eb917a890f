"""Calls of Google's operations through a tool invoker: its consent, limits, retries and credentials hold for a mirror too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from egotools import Tool
from egotools.calling.tool_answer import ToolAnswer
from ontology.errors import ToolCallError
from planners.personal.google_mirror import CallOperation

__all__ = ["google_calls"]

_Invoke: TypeAlias = Callable[[Tool, Mapping[str, Any]], Awaitable[ToolAnswer]]


def google_calls(invoke: _Invoke, tools: Iterable[Tool]) -> CallOperation:
    """Return what :func:`planners.personal.google_mirror.mirror_google` calls.

    :param invoke: of a tool invoker that has the servers of the namespaces of the tools, and the token of the scheme ``oauth2``.
    :param tools: of the discovery documents ``google-discovery:gmail`` and ``google-discovery:calendar``.
    """
    known = {tool.id.rpartition("/")[2]: tool for tool in tools}

    async def call(operation: str, arguments: Mapping[str, Any]) -> Any:
        """Call an operation.

        :raises ToolCallError: when it is none of the tools, or its answer is an error.
        """
        if operation not in known:
            raise ToolCallError("no tool of this id", subject=operation, remedy="Build from the discovery documents")
        answer = await invoke(known[operation], arguments)
        if not answer.ok:
            raise ToolCallError(answer.status, subject=operation)
        return answer.body

    return call
