"""LangChain: a retriever of tools, and found tools as ``StructuredTool``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from egotools.client_errors import ClientError
from egotools.integrations.supported import framework
from egotools.integrations.tool_source import AnyTool, Offer, ToolSource

with framework("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
    from pydantic import ConfigDict

Approve = Callable[[AnyTool, Mapping[str, Any]], bool]
"""Asks for a call that may change something, where the source has no ``confirm``."""


class ToolRetriever(BaseRetriever):
    """A retriever whose documents are tools; ``id`` is that of the tool, ``metadata["name"]`` the name by which a model calls it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    source: Any  # a ToolSource; pydantic would have to know the client to check it

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = [tool.id for tool in self.source.search(query)]
        names = {tool.id: name for name, tool in self.source.tools.items()}
        offers = {offer.name: offer for offer in self.source.offers()}
        return [_document(id_, offers[names[id_]], self.source.tools[names[id_]].namespace) for id_ in found]


def _document(id_: str, offer: Offer, namespace: str) -> Document:
    about = {"id": id_, "name": offer.name, "namespace": namespace, "parameters": offer.parameters}
    return Document(id=id_, page_content=offer.description, metadata=about)


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

    return structured_tool(offer, call, acall)


def structured_tool(
    offer: Offer, call: Callable[[dict[str, Any]], str], acall: Callable[[dict[str, Any]], Awaitable[str]]
) -> BaseTool:
    """Return a tool of LangChain whose functions take the arguments as one mapping.

    Both raise ``ToolException`` for what becomes a message with ``status="error"``.
    """
    return _WholeArguments(
        name=offer.name,
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
