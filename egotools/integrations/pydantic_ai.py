"""pydantic-ai: a toolset that a model searches, with the framework's own approval."""

from __future__ import annotations

import asyncio
from typing import Any

from egotools.client_errors import ClientError
from egotools.integrations import framework
from egotools.integrations.tool_source import ToolSource

with framework("pydantic-ai-slim"):
    from pydantic_ai import RunContext
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema())  # the source checks the arguments against the schema


class ToolSourceToolset(AbstractToolset[Any]):
    """The search and the found tools of a source. Give it to a run: ``agent.run(…, toolsets=[ToolSourceToolset(source)])``.

    A call that may change something is deferred for approval, unless the source has ``confirm``: let the agent have
    ``DeferredToolRequests`` among its output types.

    :param source: of one conversation.
    """

    def __init__(self, source: ToolSource, *, id: str | None = None) -> None:
        self._source = source
        self._id = id

    @property
    def id(self) -> str | None:
        """The id of the toolset, for durable execution."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the search and the remembered tools."""
        found: dict[str, ToolsetTool[Any]] = {}
        for name, text, parameters in await asyncio.to_thread(self._source.offers):
            tool = ToolDefinition(name=name, description=text, parameters_json_schema=parameters)
            found[name] = ToolsetTool(toolset=self, tool_def=tool, max_retries=1, args_validator=_ANY_OBJECT)
        return found

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Search, or call a found tool; an error ends the call, not the run."""
        source = self._source
        try:
            if source.confirm is None and not ctx.tool_call_approved and source.asks(name):
                raise ApprovalRequired({"tool": source.tools[name].id})
            return await source.acall(name, tool_args, approved=ctx.tool_call_approved)
        except ClientError as error:
            raise ToolFailed(str(error)) from error
