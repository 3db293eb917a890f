"""Finding tools at a real server: full documents, kept by snapshot; tools that are gone."""

from __future__ import annotations

from pathlib import Path

from egotools import AsyncClient, NotFoundError, Tool
from planners.calls.tool_finder import ToolFinder
from tests.harness.servers import serving

REQUEST = "list the books that the given authors wrote"


class Counting(AsyncClient):
    """The client, with a count of the documents that are asked for, and tools that are gone."""

    gone: frozenset[str] = frozenset()
    asked: tuple[str, ...] = ()

    async def get_tool(self, tool_id: str, **options: object) -> Tool:
        self.asked = (*self.asked, tool_id)
        if tool_id.rpartition("/")[2] in self.gone:
            raise NotFoundError("there is no such tool", code="NOT_FOUND", subject=tool_id)
        return await super().get_tool(tool_id, **options)  # type: ignore[arg-type]


async def test_documents_are_read_once_for_a_snapshot(library_store: Path) -> None:
    async with serving(library_store) as server, Counting(server.address) as client:
        finder = ToolFinder(client, k=4)
        first = await finder.find(REQUEST)
        assert [each.rank for each in first.tools] == [1, 2, 3, 4] and all(each.explanation for each in first.tools)
        assert await finder.find(REQUEST) == first
        assert len(client.asked) == 4


async def test_a_tool_that_is_gone_since_it_was_ranked(library_store: Path) -> None:
    async with serving(library_store) as server, Counting(server.address) as client:
        client.gone = frozenset({"list_books_of_author"})
        found = await ToolFinder(client, k=5).find(REQUEST)
    assert [each.rpartition("/")[2] for each in found.gone] == ["list_books_of_author"]
    assert len(found.tools) == 4
