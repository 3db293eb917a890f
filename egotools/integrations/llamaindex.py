"""LlamaIndex: an ``ObjectRetriever`` of tools for its agents."""

from __future__ import annotations

import asyncio
from typing import Any

from egotools.client_errors import ClientError
from egotools.integrations import framework
from egotools.integrations.tool_source import Offer, ToolSource

with framework("llama-index-core"):
    from llama_index.core.objects import ObjectRetriever
    from llama_index.core.schema import QueryBundle
    from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput


class ToolSourceRetriever(ObjectRetriever[AsyncBaseTool]):
    """The tools that a conversation has: found for its request, found by its model, and the one by which the model searches.

    Give it to an agent as ``tool_retriever``. The agent asks it before each turn; it searches when the request is another one.
    """

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._searched = ""

    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[AsyncBaseTool]:
        """Return the tools for a request.

        :raises ClientError: when the server does not answer.
        """
        source = self._source
        query = str_or_query_bundle if isinstance(str_or_query_bundle, str) else str_or_query_bundle.query_str
        # Agents ask for a tool that is called by its name: that is no request.
        if query.strip() and query not in (self._searched, source.search_name, *source.tools):
            source.search(query)
            self._searched = query
        return [_Tool(source, offer) for offer in source.offers()]

    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[AsyncBaseTool]:
        """As :meth:`retrieve`."""
        return await asyncio.to_thread(self.retrieve, str_or_query_bundle)


class _Metadata(ToolMetadata):
    """The schema as the server made it: it needs no model of pydantic."""

    schema: dict[str, Any]

    def get_parameters_dict(self) -> dict[str, Any]:
        return self.schema


class _Tool(AsyncBaseTool):
    def __init__(self, source: ToolSource, offer: Offer) -> None:
        self._source = source
        self._metadata = _Metadata(description=offer.description, name=offer.name, fn_schema=None)
        self._metadata.schema = offer.parameters

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    def __call__(self, /, *args: Any, **arguments: Any) -> ToolOutput:
        return self.call(*args, **arguments)

    def call(self, /, *args: Any, **arguments: Any) -> ToolOutput:  # a document may name an argument "self"
        name, failure = self._metadata.get_name(), None
        try:
            text = self._source.call(name, arguments)
        except ClientError as error:
            text, failure = str(error), error
        return ToolOutput(
            tool_name=name,
            content=text,
            raw_input=arguments,
            raw_output=text,
            is_error=failure is not None,
            exception=failure,
        )

    async def acall(self, /, *args: Any, **arguments: Any) -> ToolOutput:
        return await asyncio.to_thread(self.call, **arguments)
