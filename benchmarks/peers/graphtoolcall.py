"""graph-tool-call: keywords and its graph and, where there is an encoder, embeddings.

Tools go in as an MCP ``tools/list`` answer, the one of its plain forms that carries outputs, and its own detection of
dependencies stays on. Dependencies that the catalogue declares become relations of its kind ``requires``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graph_tool_call import ToolGraph

if TYPE_CHECKING:
    from benchmarks.peers.peer import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], embed: Embed | None) -> Search:
    """Ingest the tools with what they depend on, and embed them where there is an encoder."""
    # It warns that a large catalogue should have embeddings; it is measured with them and without.
    warnings.simplefilter("ignore", UserWarning)
    graph = ToolGraph()
    rows = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        | ({"outputSchema": tool.output_schema} if tool.output_schema else {})
        for tool in tools
    ]
    graph.ingest_mcp_tools(rows)
    names = {tool.id: tool.name for tool in tools}
    for tool in tools:
        for needed in tool.depends_on:
            graph.add_relation(tool.name, names[needed], "requires")
    if embed is not None:
        graph.enable_embedding(embed)
    ids = {tool.name: tool.id for tool in tools}
    return lambda query, k: [ids[found.name] for found in graph.retrieve(query, top_k=k)]
