"""The dependency unroll of Graph RAG-Tool Fusion (arXiv 2502.07223), written from the description of the method.

Vector search ranks the tools; each tool found is followed by its transitive dependencies, depth first in the order that the
catalogue declares, until the answer is full. The answer to a smaller k is a prefix of that to a larger one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from research.peers.peer import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], embed: Embed | None) -> Search:
    """Embed name and description of every tool."""
    if embed is None:
        raise ValueError("a vector search needs an encoder")
    ids = [tool.id for tool in tools]
    dependencies = {tool.id: tool.depends_on for tool in tools}
    vectors_ND = np.array(embed([f"{tool.name}: {tool.description}" for tool in tools]), dtype=np.float32)

    def search(query: str, k: int) -> list[str]:
        similarities_N = vectors_ND @ np.array(embed([query])[0], dtype=np.float32)
        found: dict[str, None] = {}
        for place in np.argsort(-similarities_N, kind="stable"):
            found |= dict.fromkeys(_unrolled(ids[place], dependencies))
            if len(found) >= k:
                break
        return list(found)[:k]

    return search


def _unrolled(tool: str, dependencies: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A tool and its transitive dependencies, each once, depth first."""
    seen: set[str] = set()
    waiting = [tool]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        yield current
        waiting += reversed(dependencies[current])
