"""From the name or id that a model gives to the tool."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from egotools import AsyncClient, NotFoundError, RankedTool, Tool

__all__ = ["ToolNames"]

_MOST = 50_000
_SEARCHED = 10


class ToolNames:
    """Call names that answers of this process had, with their ids.

    A call name depends on its tool alone, so one map serves all callers. It opens nothing: each tool is fetched with the rights of its
    caller.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._ids: OrderedDict[str, str] = OrderedDict()

    def learn(self, tool: RankedTool | Tool) -> None:
        """Remember a tool of an answer."""
        self._ids[tool.call_name] = tool.id
        self._ids.move_to_end(tool.call_name)
        if len(self._ids) > _MOST:
            self._ids.popitem(last=False)

    def id_of(self, text: str) -> str:
        """Return the id for an id or a call name, without asking: of a name that is not known, as names are made of ids."""
        return self._ids.get(text) or (text if "/" in text else _unmade(text))

    async def tool(self, text: str) -> Tool:
        """Return the tool with this id or call name, also where no search has found it.

        :raises NotFoundError: when the caller sees none.
        """
        for tool_id in dict.fromkeys(self._candidates(text)):
            tool = await self._get(tool_id)
            if tool is not None and text in (tool.id, tool.call_name):
                self.learn(tool)
                return tool
        for found in (await self._client.retrieve(text[:1_000], k=_SEARCHED, explain=False)).tools:
            self.learn(found)
            if found.call_name == text:
                return await self._client.get_tool(found.id, schema_format="mcp")
        raise NotFoundError(
            f"there is no tool {text[:200]!r}",
            code="NOT_FOUND",
            subject="id",
            remedy="Give an id or a name as search_tools returned it.",
        )

    def _candidates(self, text: str) -> Iterator[str]:
        yield self.id_of(text)
        yield text
        yield _unmade(text)

    async def _get(self, tool_id: str) -> Tool | None:
        if not 0 < len(tool_id) <= 4_096:
            return None
        try:
            return await self._client.get_tool(tool_id, schema_format="mcp")
        except NotFoundError:
            return None


def _unmade(name: str) -> str:
    """The id of which a call name was made, where it was not shortened."""
    return name.replace("__", "/").replace("--", ".")
