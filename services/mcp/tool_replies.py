"""What a model is told of found tools, of one tool, and of a plan: JSON values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import mcp_types as types

from egotools import RankedTool, Response, Tool, ToolPlan

__all__ = ["NotCallable", "found_reply", "listed_tool", "plan_reply", "tool_reply"]

NotCallable: TypeAlias = Callable[[RankedTool | Tool], str]
"""Why a tool cannot be called here; empty where nothing speaks against it."""
_MAX_DESCRIPTION = 600
_MAX_SCHEMA = 6_000
_NOTHING = (
    "No tool of this catalogue fits the request. Say so, or search again in other words or for a part of the task."
)
_UNSURE = (
    "Call a tool only if its description says that it does what is needed; else say so, or search again in other words or for a part of the"
    " task."
)


def found_reply(response: Response, not_callable: NotCallable) -> dict[str, Any]:
    """The answer of a search; a tool serves needs by their number, counted from 0."""
    reply: dict[str, Any] = {"tools": [_found(tool, not_callable(tool)) for tool in response.tools]}
    if response.need_results:
        reply["needs"] = [
            {"need": each.need, **({"nothing_fits": True} if each.unserved else {"best": each.tool})}
            for each in response.need_results
        ]
    notes = [*response.fallbacks, *_told(response, is_empty=not response.tools)]
    return {**reply, "notes": notes} if notes else reply


def tool_reply(tool: Tool, not_callable: str) -> dict[str, Any]:
    """One tool, whole."""
    outputs = (
        tool.schema.get("outputSchema") or tool.output_schema
    )  # that of a list is none of MCP, and still says what comes
    return {
        **_head(tool, not_callable),
        "description": tool.description,
        "inputSchema": tool.schema.get("inputSchema", {}),
        **({"outputSchema": outputs} if outputs else {}),
        **({"when": [line.text for line in tool.usage.when_to_use]} if tool.usage.when_to_use else {}),
        **({"limits": [line.text for line in tool.usage.limitations]} if tool.usage.limitations else {}),
    }


def plan_reply(plan: ToolPlan) -> dict[str, Any]:
    """A plan: the calls in order, and what the user must be asked."""
    steps = [
        {
            "step": step.number,
            "id": step.tool_id,
            "why": step.kind,
            **({"probability": round(step.confidence, 2)} if step in plan.guesses and step.confidence else {}),
            "inputs": {each.parameter: _source(each) for each in step.inputs if each.parameter},
        }
        for step in plan.steps
    ]
    ask = [{"input": each.parameter, "steps": list(each.steps), "source": each.source} for each in plan.open_inputs]
    notes = [*plan.fallbacks, *_told(plan, is_empty=not plan.steps)]
    return {"steps": steps, "ask": ask, **({"notes": notes} if notes else {})}


def listed_tool(tool: Tool | RankedTool) -> types.Tool:
    """A tool of the catalogue as ``tools/list`` has it. Without its output schema: its answers are fenced texts."""
    reads = tool.effect == "read"
    return types.Tool(
        name=tool.call_name,
        title=tool.title or None,
        description=tool.schema.get("description", ""),
        input_schema=tool.schema.get("inputSchema") or {"type": "object"},
        annotations=types.ToolAnnotations(read_only_hint=reads, destructive_hint=not reads, open_world_hint=True),
    )


def _told(answer: Response | ToolPlan, *, is_empty: bool) -> list[str]:
    if is_empty:
        return [_NOTHING]
    return [f"{answer.doubt}. {_UNSURE}"] if answer.doubt else []


def _found(tool: RankedTool, not_callable: str) -> dict[str, Any]:
    schema = tool.schema.get("inputSchema", {})
    long = len(json.dumps(schema)) > _MAX_SCHEMA
    description = tool.description
    return {
        **_head(tool, not_callable),
        "description": description
        if len(description) <= _MAX_DESCRIPTION
        else f"{description[:_MAX_DESCRIPTION].rstrip()}… (get_tool has all of it)",
        **({"why": tool.explanation} if tool.explanation else {}),
        **({"serves_needs": list(tool.needs)} if tool.needs else {}),
        "inputSchema": f"long: get_tool has it; properties: {_names(schema)}" if long else schema,
    }


def _head(tool: RankedTool | Tool, not_callable: str) -> dict[str, Any]:
    return {
        "id": tool.id,
        "name": tool.call_name,
        "effect": tool.effect or "change",
        **({"not_callable": not_callable} if not_callable else {}),
    }


def _names(schema: dict[str, Any]) -> str:
    return ", ".join(list(schema.get("properties", {}))[:50])


def _source(each: Any) -> str:
    if each.source == "step":
        return f"step {each.step}" + (f", {each.output}" if each.output else "")
    return " ".join(part for part in (each.source, each.supplier, each.output, each.value) if part)
