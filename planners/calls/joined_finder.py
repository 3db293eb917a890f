"""Tools of two catalogues for one request: those of the service, and those that a planner brings along."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import zip_longest

from planners.calls.tool_finder import Finder, FoundTool, FoundTools

__all__ = ["JoinedFinder"]


class JoinedFinder:
    """Asks two finders, and takes their tools in turns: scores of two catalogues cannot be compared.

    :param first: whose tool stands before that of the same rank of the other.
    :param most: tools of an answer.
    :param reserved: ids of tools of the second: another one of such an id in the first is left out.
    """

    def __init__(self, first: Finder, second: Finder, *, most: int, reserved: Collection[str] = ()) -> None:
        self._finders = (first, second)
        self._most = most
        self._reserved = frozenset(reserved)

    async def find(self, request: str) -> FoundTools:
        """Return the tools for a request.

        :raises ClientError: when a server does not answer, or refuses.
        """
        first, second = await asyncio.gather(*(finder.find(request) for finder in self._finders))
        others = replace(first, tools=tuple(each for each in first.tools if each.tool.id not in self._reserved))
        tools = list(_in_turns(others, second))[: self._most]
        return FoundTools(
            request=request,
            tools=tuple(replace(each, rank=rank) for rank, each in enumerate(tools, 1)),
            snapshot_id=f"{first.snapshot_id}+{second.snapshot_id}",
            gone=(*first.gone, *second.gone),
        )


def _in_turns(first: FoundTools, second: FoundTools) -> Iterator[FoundTool]:
    seen: set[str] = set()
    for pair in zip_longest(first.tools, second.tools):
        for each in pair:
            if each is not None and each.tool.id not in seen:
                seen.add(each.tool.id)
                yield each
