"""What a model is told of found tools, of one tool, and of a plan: JSON values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import mcp_types as types

from egotools import RankedTool, Response, Tool, ToolPlan
from ingest.trust.hidden_characters import bidirectional_runs, invisible_runs, without_hidden

__all__ = ["NotCallable", "found_reply", "listed_tool", "plan_reply", "shown_text", "tool_reply"]

NotCallable: TypeAlias = Callable[[RankedTool | Tool], str]
"""Why a tool cannot be called here; empty where nothing speaks against it."""
_MAX_DESCRIPTION = 600
_MAX_SCHEMA = 6_000
_MAX_LISTED, _MAX_LISTED_SCHEMA = 2_000, 32_000  # characters; a client sends them with every request to its model
_MAX_NAME = 200
_HAS_ALL = "… (get_tool has all of it)"
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
            {"need": each.need, "best": each.tool, **({"may_not_fit": True} if each.unserved else {})}
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
        "description": shown_text(tool.description),
        "inputSchema": _shown_schema(tool.schema.get("inputSchema", {})),
        **({"outputSchema": _shown_schema(outputs)} if outputs else {}),
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
    """A tool of the catalogue as ``tools/list`` has it, of bounded size. Without its output schema: its answers are fenced texts."""
    reads = tool.effect == "read"
    schema = _shown_schema(tool.schema.get("inputSchema") or {"type": "object"}, _MAX_DESCRIPTION)
    if len(json.dumps(schema)) > _MAX_LISTED_SCHEMA:
        schema = {"type": "object", "description": _long(schema)}
    return types.Tool(
        name=tool.call_name,
        title=shown_text(tool.title, _MAX_NAME) or None,
        description=shown_text(tool.schema.get("description", ""), _MAX_LISTED, _HAS_ALL),
        input_schema=schema,
        annotations=types.ToolAnnotations(read_only_hint=reads, destructive_hint=not reads, open_world_hint=True),
    )


def _told(answer: Response | ToolPlan, *, is_empty: bool) -> list[str]:
    if is_empty:
        return [_NOTHING]
    return [f"{answer.doubt}. {_UNSURE}"] if answer.doubt else []


def _found(tool: RankedTool, not_callable: str) -> dict[str, Any]:
    schema = _shown_schema(tool.schema.get("inputSchema", {}))
    return {
        **_head(tool, not_callable),
        "description": shown_text(tool.description, _MAX_DESCRIPTION, _HAS_ALL),
        **({"why": tool.explanation} if tool.explanation else {}),
        **({"serves_needs": list(tool.needs)} if tool.needs else {}),
        "inputSchema": _long(schema) if len(json.dumps(schema)) > _MAX_SCHEMA else schema,
    }


def _head(tool: RankedTool | Tool, not_callable: str) -> dict[str, Any]:
    return {
        "id": tool.id,
        "name": tool.call_name,
        "effect": tool.effect or "change",
        **({"not_callable": not_callable} if not_callable else {}),
    }


def _long(schema: dict[str, Any]) -> str:
    names = ", ".join(shown_text(name, _MAX_NAME) for name in list(schema.get("properties", {}))[:50])
    return f"long: get_tool has it; properties: {names}"


def shown_text(text: str, most: int | None = None, cut: str = "…") -> str:
    """A text of a document for a model: cut to a number of characters, and without hidden characters where it hides something."""
    if most is not None and len(text) > most:
        text = text[:most].rstrip() + cut
    hides = any(run.severe for run in (*invisible_runs(text), *bidirectional_runs(text)))
    return without_hidden(text) if hides else text


def _shown_schema(part: Any, most: int | None = None) -> Any:
    """A part of a schema with its titles and descriptions as a model is shown them."""
    if isinstance(part, list):
        return [_shown_schema(each, most) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: shown_text(inner, most)
        if key in ("title", "description") and isinstance(inner, str)
        else _shown_schema(inner, most)
        for key, inner in part.items()
    }


def _source(each: Any) -> str:
    if each.source == "step":
        return f"step {each.step}" + (f", {each.output}" if each.output else "")
    return " ".join(part for part in (each.source, each.supplier, each.output, each.value) if part)
