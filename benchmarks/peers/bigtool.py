"""langgraph-bigtool: its retrieval tool over LangGraph's in-memory store; no language model.

What is embedded is what its README embeds: name and description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langgraph.store.memory import InMemoryStore
from langgraph_bigtool.tools import get_default_retrieval_tool

if TYPE_CHECKING:
    from benchmarks.peers.peer import Embed, PeerTool, Search

NAMESPACE = ("tools",)


def build(tools: Sequence[PeerTool], embed: Embed | None) -> Search:
    """Put every tool into a store, which embeds it."""
    if embed is None:
        raise ValueError("a store that is searched needs an encoder")
    dimensions = len(embed(["tool"])[0])
    index: Any = {"embed": embed, "dims": dimensions, "fields": ["description"]}  # its own type, where it is installed
    store = InMemoryStore(index=index)
    for tool in tools:
        store.put(NAMESPACE, tool.id, {"description": f"{tool.name}: {tool.description}"})

    def search(query: str, k: int) -> list[str]:
        retrieve, _ = get_default_retrieval_tool(NAMESPACE, limit=k)
        found: list[str] = retrieve(query, store=store)
        return found

    return search
