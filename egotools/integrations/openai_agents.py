"""The OpenAI Agents SDK: an agent that searches its tools, and asks for approval as the SDK does."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from egotools.client_errors import ClientError
from egotools.integrations import framework
from egotools.integrations.tool_source import Offer, ToolSource

with framework("openai-agents"):
    from agents import Agent, FunctionTool, RunContextWrapper, Tool
    from agents.tool_context import ToolContext


@dataclass
class ToolSourceAgent(Agent[Any]):
    """An agent with the tools of a source beside its own; before each turn it is given those that were found.

    A call that may change something waits for ``RunState.approve``, unless the source has ``confirm``.

    :param source: of one conversation.
    """

    source: ToolSource = field(kw_only=True)

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return the agent's own tools, the search and the found tools."""
        found = await asyncio.to_thread(function_tools, self.source)
        return [*await super().get_all_tools(run_context), *found]


def function_tools(source: ToolSource) -> list[Tool]:
    """Return the search and the remembered tools. An error of a call is told to the model in one sentence."""

    def function_tool(offer: Offer) -> FunctionTool:
        needs_approval = source.confirm is None and source.asks(offer.name)

        async def call(context: ToolContext[Any], arguments: str) -> str:
            try:
                given = json.loads(arguments or "{}")
            except ValueError:
                given = {}
            try:
                known = given if isinstance(given, dict) else {}
                return await source.acall(offer.name, known, approved=needs_approval)
            except ClientError as error:
                return f"Error: {error}"

        return FunctionTool(*offer, call, strict_json_schema=False, needs_approval=needs_approval)

    return [function_tool(offer) for offer in source.offers()]
