"""ratel-ai: the default search of its catalogue, BM25 over descriptions and schemas, in Rust."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratel_ai import ExecutableTool, ToolCatalog

if TYPE_CHECKING:
    from benchmarks.peers.peer import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], embed: Embed | None) -> Search:
    """Register every tool."""
    catalog = ToolCatalog()
    asyncio.run(_register(catalog, tools))
    return lambda query, k: [hit.tool_id for hit in catalog.search(query, k)]


async def _register(catalog: ToolCatalog, tools: Sequence[PeerTool]) -> None:
    await catalog.register(
        [
            ExecutableTool(
                id=tool.id,
                name=tool.name,
                description=tool.description,
                input_schema=dict(tool.input_schema),
                output_schema=dict(tool.output_schema),
                execute=lambda arguments: None,  # never invoked here
            )
            for tool in tools
        ]
    )
