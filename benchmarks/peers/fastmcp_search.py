"""FastMCP: its BM25 search transform over a server's tools (names, descriptions, parameters), asked in the process.

Its other search transform takes a regular expression and not a request in words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool

if TYPE_CHECKING:
    from benchmarks.peers.peer import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], embed: Embed | None) -> Search:
    """Put every tool into a server; the transform indexes them at the first request."""
    ids = {tool.name: tool.id for tool in tools}
    loop = asyncio.new_event_loop()

    @cache
    def server(k: int) -> FastMCP:  # the number of results is an option of the transform, not of a request
        made = FastMCP("catalogue", transforms=[BM25SearchTransform(max_results=k)])
        for tool in tools:
            made.add_tool(Tool(name=tool.name, description=tool.description, parameters=dict(tool.input_schema)))
        return made

    def search(query: str, k: int) -> list[str]:
        result = loop.run_until_complete(server(k).call_tool("search_tools", {"query": query}))
        return [ids[found["name"]] for found in (result.structured_content or {})["result"]]

    return search
