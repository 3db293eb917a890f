"""Tools for a request: the retrieval service is asked over gRPC, and each tool comes with its full document."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Protocol

from egotools import AsyncClient, NotFoundError, RankedTool, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """One tool of an answer, with its full document; ranks are from 1, scores comparable within one answer only."""

    rank: int
    score: float
    explanation: str
    tool: Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTools:
    """The tools for a request, best first, by the snapshot that answered; without what is no more in the one that is served now."""

    request: str
    tools: tuple[FoundTool, ...]
    snapshot_id: str


class Finder(Protocol):
    """Finds tools for a request in plain words."""

    async def find(self, request: str) -> FoundTools:
        """Return the tools for a request; raises ClientError when the server does not answer, or refuses."""
        ...


class ToolFinder:
    """Asks one server. May be used by several tasks at once.

    :param client: of the caller, who closes it.
    :param k: how many tools an answer has at most.
    """

    def __init__(self, client: AsyncClient, *, k: int = 10) -> None:
        self._client, self._k = client, k

    async def find(self, request: str) -> FoundTools:
        """See :class:`Finder`."""
        answer = await self._client.retrieve(request, self._k, explain=False, explanation=True, timeout_s=10.0)

        async def found(each: RankedTool) -> FoundTool | None:
            """A tool with its document, that of the answer's snapshot or of a later one; None where it is gone."""
            asked = {"schema_format": "none", "min_snapshot": answer.snapshot_id, "timeout_s": 10.0}
            with contextlib.suppress(NotFoundError):
                tool = await self._client.get_tool(each.id, **asked)  # type: ignore[arg-type]
                return FoundTool(rank=each.rank, score=each.score, explanation=each.explanation, tool=tool)
            return None

        tools = await asyncio.gather(*map(found, answer.tools))
        return FoundTools(request=request, tools=tuple(filter(None, tools)), snapshot_id=answer.snapshot_id)
