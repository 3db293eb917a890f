"""Haystack: a toolset that a model searches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from egotools.client_errors import ClientError
from egotools.integrations import framework
from egotools.integrations.tool_source import ToolSource

with framework("haystack-ai"):
    from haystack.tools import Toolset
    from haystack.tools.errors import ToolInvocationError
    from haystack.tools.tool import Tool


class ToolSourceToolset(Toolset):
    """The search and the found tools of a source; an agent reads it before each step.

    A call that may change something needs ``confirm`` of the source.

    :param source: of one conversation.
    """

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        super().__init__([])

    def __iter__(self) -> Iterator[Tool]:
        for name, text, parameters in self._source.offers():
            yield _Tool(name=name, description=text, parameters=parameters, function=partial(self._source.call, name))

    def __len__(self) -> int:
        return 1 + len(self._source.tools)

    def __contains__(self, item: Any) -> bool:
        name = item if isinstance(item, str) else item.name
        return name == self._source.search_name or name in self._source.tools


class _Tool(Tool):
    function: Callable[[dict[str, Any]], str]

    def invoke(self, /, **arguments: Any) -> str:  # a document may name an argument "self"
        try:
            return str(self.function(arguments))
        except ClientError as error:
            raise ToolInvocationError(str(error), tool_name=self.name) from error

    async def invoke_async(self, /, **arguments: Any) -> str:
        return await asyncio.to_thread(self.invoke, **arguments)
