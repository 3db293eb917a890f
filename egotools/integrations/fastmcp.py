"""FastMCP: a provider that puts the catalogue of an egotools server behind two tools of an MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from egotools.client_errors import ClientError
from egotools.integrations import framework
from egotools.integrations.tool_source import ToolSource
from egotools.search_tool import CONTEXT_TEXT, MOST_NEEDS, NEEDS_TEXT, SEARCH_TEXT, read_asked

with framework("fastmcp"):
    from fastmcp.exceptions import ToolError
    from fastmcp.server.providers import Provider
    from fastmcp.tools import Tool
    from fastmcp.utilities.versions import VersionSpec
    from mcp_types import ToolAnnotations
    from pydantic import Field

_CALL = "call_tool"


class ToolSourceProvider(Provider):
    """``search_tools`` and ``call_tool`` over a source. Nothing is kept for a session: its client says what it has done.

    A call that may change something needs ``confirm`` of the source.

    :param source: its settings; ``max_remembered`` bounds what all sessions together have found.
    """

    def __init__(self, source: ToolSource) -> None:
        super().__init__()
        self._source = source
        self._tools = {
            source.search_name: Tool.from_function(
                self._search,
                name=source.search_name,
                description=SEARCH_TEXT,
                annotations=ToolAnnotations(read_only_hint=True),
            ),
            _CALL: Tool.from_function(self._call, name=_CALL, description="Call a tool that a search found."),
        }

    async def _list_tools(self) -> Sequence[Tool]:
        (search, *_) = await asyncio.to_thread(self._source.offers)
        found = self._tools[self._source.search_name].model_copy(update={"description": search.description})
        return [found, self._tools[_CALL]]

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        return self._tools.get(name)

    async def _search(
        self,
        needs: Annotated[list[str], Field(description=NEEDS_TEXT, json_schema_extra={"maxItems": MOST_NEEDS})] = [],  # noqa: B006
        query: Annotated[str, Field(description=CONTEXT_TEXT)] = "",
        done: Annotated[list[str], Field(description="Ids of the tools that were called already.")] = [],  # noqa: B006
        have: Annotated[list[str], Field(description="Names of the values that are known.")] = [],  # noqa: B006
    ) -> dict[str, Any]:
        task = self._source.fresh()
        task.done.update(dict.fromkeys(done))
        task.have.update(dict.fromkeys(have, ""))
        try:
            asked = read_asked({"needs": needs, "query": query})
            found = await asyncio.to_thread(task.search, asked["query"], asked["needs"])
        except ClientError as error:
            raise ToolError(str(error)) from error
        self._source.remember(reversed(found))
        ids = {name: tool.id for name, tool in task.tools.items()}
        return {"tools": [{"id": ids[offer.name], **offer._asdict()} for offer in reversed(task.offers()[1:])]}

    async def _call(
        self,
        name: Annotated[str, Field(description="The name of the tool, as the search gave it.")],
        arguments: Annotated[dict[str, Any], Field(description="As its parameters say.")] = {},  # noqa: B006
    ) -> str:
        task = self._source.fresh(tool.id for known, tool in self._source.tools.items() if known == name)
        try:
            return await task.acall(name, arguments)
        except ClientError as error:
            raise ToolError(str(error)) from error
