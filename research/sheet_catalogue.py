"""The catalogue that a reading sheet is drawn from: which tools are near a text, and which are of one entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ontology.tool import Tool

if TYPE_CHECKING:
    from retrieval.engine import SnapshotEngine

__all__ = ["Catalogue", "SnapshotCatalogue", "one_line", "tool_row"]

_TEXT_CHARS = 200
_NAMES = 10  # of the inputs and outputs that a reader sees of a tool
_ABOUT = "has_entity"


class Catalogue(Protocol):
    """What a shortlist is made from."""

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id; raises NotFoundError."""

    def nearest(self, text: str, count: int) -> Sequence[str]:
        """Ids of the tools that are nearest to a text, best first."""

    def kin(self, tool_id: str) -> Sequence[str]:
        """Ids of the tools that share most entities with a tool, best first, without the tool itself."""


class SnapshotCatalogue:
    """The catalogue of a snapshot. Near is by BM25 and cosine (the preset ``fusion``): by no feature of the graph."""

    def __init__(self, engine: SnapshotEngine) -> None:
        self._engine = engine
        self._entities: dict[int, list[int]] = defaultdict(list)
        self._tools: dict[int, list[int]] = defaultdict(list)
        snapshot, edges = engine.snapshot, engine.snapshot.adjacency
        if _ABOUT in snapshot.predicates:
            about = edges.predicates == snapshot.predicates.index(_ABOUT)
            for tool, entity in np.unique(np.stack([edges.heads[about], edges.tails[about]], axis=1), axis=0).tolist():
                self._entities[tool].append(entity)
                self._tools[entity].append(tool)

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id; raises NotFoundError."""
        return self._engine.tool(tool_id)

    def nearest(self, text: str, count: int) -> list[str]:
        """Ids of the nearest tools, best first."""
        from retrieval.query.request import Request

        answer = self._engine.retriever("fusion").retrieve(Request(query=text, k=count, explain=False))
        return [tool.id for tool in answer.tools]

    def kin(self, tool_id: str) -> list[str]:
        """Ids of the tools that share most entities with a tool, best first; an entity of many tools counts less."""
        snapshot = self._engine.snapshot
        number = snapshot.tool_number(tool_id)
        shared: dict[int, float] = defaultdict(float)
        for entity in self._entities[number]:
            for other in self._tools[entity]:
                shared[other] += 1 / len(self._tools[entity])
        ids = {snapshot.tool_id(other): weight for other, weight in shared.items() if other != number}
        return sorted(ids, key=lambda one: (-ids[one], one))

    def listing(self) -> Iterator[str]:
        """Yield a line for each tool: its id, what it does, and what it needs; by id."""
        snapshot = self._engine.snapshot
        for tool in sorted(map(snapshot.tool, snapshot.tool_numbers.tolist()), key=lambda one: one.id):
            row = tool_row(tool)
            yield f"{row['tool']} | {row['what']} | needs: {', '.join(row['needs']) or 'nothing'}"


def tool_row(tool: Tool) -> dict[str, Any]:
    """What a reader sees of a tool: one line, its required inputs, and names of its optional inputs and outputs; at most ten each."""
    inputs = [one for one in tool.parameters if "." not in one.name]
    return {
        "tool": tool.id,
        "system": tool.namespace,
        "what": one_line(tool),
        "needs": [f"{one.name} ({one.type})" for one in inputs if one.required][:_NAMES],
        "takes": [one.name for one in inputs if not one.required][:_NAMES],
        "gives": [one.name for one in tool.returns][:_NAMES],
    }


def one_line(tool: Tool) -> str:
    """Title and description in at most 200 characters; the title is left out where the description begins with it."""
    title, described = (" ".join(text.split()) for text in (tool.title, tool.description))
    text = described if described.casefold().startswith(title.casefold()) else f"{title}. {described}".rstrip(". ")
    return text if len(text) <= _TEXT_CHARS else text[:_TEXT_CHARS].rpartition(" ")[0] + " …"
