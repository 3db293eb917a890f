"""LangChain: the search and the found tools as ``StructuredTool``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from egotools.client_errors import ClientError
from egotools.integrations import framework
from egotools.integrations.tool_source import AnyTool, Offer, ToolSource

with framework("langchain-core"):
    from langchain_core.tools import BaseTool, StructuredTool, ToolException

Approve = Callable[[AnyTool, Mapping[str, Any]], bool]
"""Asks for a call that may change something, where the source has no ``confirm``."""


def structured_tools(source: ToolSource, approve: Approve | None = None) -> list[BaseTool]:
    """Return the search and the remembered tools: what a model is bound to for its next turn.

    Errors of a call become messages with ``status="error"``.
    """
    return [_tool(source, offer, approve) for offer in source.offers()]


def _tool(source: ToolSource, offer: Offer, approve: Approve | None) -> BaseTool:
    name = offer.name

    def approved(arguments: Mapping[str, Any]) -> bool:
        if approve is None or source.confirm is not None or not source.asks(name):
            return False
        return bool(approve(source.tools[name], arguments))

    def call(arguments: dict[str, Any]) -> str:
        try:
            return source.call(name, arguments, approved=approved(arguments))
        except ClientError as error:
            raise ToolException(str(error)) from error

    async def acall(arguments: dict[str, Any]) -> str:
        try:
            return await source.acall(name, arguments, approved=approved(arguments))
        except ClientError as error:
            raise ToolException(str(error)) from error

    return _WholeArguments(
        name=name,
        description=offer.description,
        args_schema=offer.parameters,
        func=call,
        coroutine=acall,
        handle_tool_error=True,
    )


class _WholeArguments(StructuredTool):
    """Hands the arguments over as one mapping: a document may name one ``self`` or ``config``."""

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input,), {}
