"""Baselines without the planner: the model alone, and a model that calls tools one at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from egotools import ClientError, Tool
from egotools.calling.invoker import ToolAnswer, ToolInvoker
from inference.chat import ChatModel, Message, Sample
from ontology.errors import EgotoolsError
from planners.calls.tool_finder import Finder

__all__ = ["PlainLimits", "call_tools_plainly", "zero_shot"]

_ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_RULES = "Answer with a number, with as few words as possible, or with a list that commas part. Write an empty answer where you do not know it."
_ALONE = f'You answer a question. {_RULES} Write {{"answer": "..."}}.'
_WITH_TOOLS = """You answer a question by calling tools, one at a time. Each tool, with its arguments:
{tools}
Call a tool with {{"tool": NAME, "arguments": {{...}}}}. Then you get what it answers. When you have all that is needed, write {{"answer": "..."}}.
{rules}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainLimits:
    """Of one task.

    :param calls: of tools, one at a time; with the last one's answer the model must answer.
    :param shown_chars: of each tool's answer in the prompt.
    """

    calls: int
    max_tokens: int
    shown_chars: int


async def zero_shot(question: str, model: ChatModel, sample: Sample, limits: PlainLimits) -> str:
    """Return what the model answers without any tool; empty where its answer is unusable."""
    messages = [Message(role="system", content=_ALONE), Message(role="user", content=question)]
    try:
        answer = await asyncio.to_thread(
            model.complete, messages, schema=_ANSWER, max_tokens=limits.max_tokens, sample=sample
        )
        return str(json.loads(answer.text)["answer"])
    except (EgotoolsError, ValueError, KeyError, TypeError):
        return ""


async def call_tools_plainly(
    question: str, model: ChatModel, finder: Finder, invoker: ToolInvoker, sample: Sample, limits: PlainLimits
) -> str:
    """Return what the model answers after calls of the tools that are found for the question; empty where it gives none."""
    try:
        tools = [each.tool for each in (await finder.find(question)).tools]
    except (EgotoolsError, ClientError):
        tools = []
    named = {each.id: each for each in tools}
    listed = "\n".join(f"- {name} {_arguments(each)}: {each.description}" for name, each in named.items())
    system = _WITH_TOOLS.format(tools=listed or "(none)", rules=_RULES)
    messages = [Message(role="system", content=system), Message(role="user", content=question)]
    for made in range(limits.calls + 1):
        schema = _schema(named if made < limits.calls else {})
        try:
            text = (
                await asyncio.to_thread(
                    model.complete, messages, schema=schema, max_tokens=limits.max_tokens, sample=sample
                )
            ).text
            step = json.loads(text)
        except (EgotoolsError, ValueError):
            return ""
        if "answer" in step:
            return str(step["answer"])
        found = await _called(invoker, named, step)
        shown = found.body if isinstance(found.body, str) else json.dumps(found.body, ensure_ascii=False)
        messages += [
            Message(role="assistant", content=text),
            Message(role="user", content=shown[: limits.shown_chars]),
        ]
    return ""


async def _called(invoker: ToolInvoker, named: Mapping[str, Tool], step: Mapping[str, Any]) -> ToolAnswer:
    try:
        return await invoker.invoke(named[str(step["tool"])], dict(step["arguments"]))
    except (EgotoolsError, ClientError, KeyError, TypeError, ValueError) as error:
        return ToolAnswer(ok=False, status="error", body=f"{type(error).__name__}: {error}"[:1_000])


def _arguments(tool: Tool) -> str:
    properties = tool.input_schema.get("properties", {})
    return json.dumps({name: str(each.get("description", "")) for name, each in properties.items()})


def _schema(names: Collection[str]) -> dict[str, Any]:
    """Return the JSON schema of a step: a call of one of the tools, or the answer. Arguments are any object, as in the planner's own prompt:
    servers that make grammars of schemas refuse some of those of tools."""
    if not names:
        return _ANSWER
    call = {
        "type": "object",
        "properties": {"tool": {"enum": sorted(names)}, "arguments": {"type": "object"}},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }
    return {"anyOf": [call, _ANSWER]}
