"""Plain tool calling: a chat model calls tools one at a time, gets what they answer, and answers. A baseline of the planner.

**What the tools answer, the user's mail among it, is put before the model.** The planner does not do that.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from egotools import Tool
from egotools.calling.invoker import ToolInvoker
from inference.chat import ChatModel, Message
from ontology.errors import EgotoolsError

__all__ = ["Called", "call_tools"]

_STEPS = 8
_MAX_TOKENS = 300
_INSTRUCTIONS = """You answer a request about the user's mail, calendar and files by calling tools, one at a time. Today is {today}.
Each tool, with its arguments:
{tools}
Call a tool with {{"tool": NAME, "arguments": {{...}}}}. Then you get what it found. Answer only with what tools have found, never with a guess: write {{"answer": [...]}}: the ids of all that was asked for; of a question how many, the number alone."""


class Called(NamedTuple):
    """What a model answered.

    :param answers: None where it did not answer; ``said`` is why.
    :param tokens: of all prompts together.
    """

    answers: tuple[str, ...] | None
    tokens: int
    calls: int
    seconds: float
    said: str = ""


async def call_tools(
    request: str, model: ChatModel, tools: Sequence[Tool], invoker: ToolInvoker, *, today: str, shown: int
) -> Called:
    """Let a model call tools until it answers, eight steps at most. The first step is a call: a small model guesses where it may.

    :param shown: characters of each tool's answer that the model gets.
    """
    started, tokens, calls = time.perf_counter(), 0, 0
    answers, said = None, f"no answer in {_STEPS} steps"
    named = {each.name: each for each in tools}
    listed = "\n".join(f"- {name} {json.dumps(_arguments(each))}: {each.description}" for name, each in named.items())
    system = Message(role="system", content=_INSTRUCTIONS.format(today=today, tools=listed))
    messages = [system, Message(role="user", content=request)]
    for _ in range(_STEPS):
        try:
            schema = _schema(named, may_answer=calls > 0)
            answer = await asyncio.to_thread(model.complete, messages, schema=schema, max_tokens=_MAX_TOKENS)
            tokens += answer.prompt_tokens
            step = json.loads(answer.text)
            if "answer" in step:
                answers, said = tuple(map(str, step["answer"])), ""
                break
            found = await invoker.invoke(named[step["tool"]], step["arguments"])
        except (EgotoolsError, ValueError, KeyError, TypeError) as error:
            said = f"{type(error).__name__}: {error}"[:200]
            break
        calls += 1
        result = json.dumps(found.body, ensure_ascii=False)
        cut = f"… ({len(result) - shown} more characters)" if len(result) > shown else ""
        messages += [
            Message(role="assistant", content=answer.text),
            Message(role="user", content=result[:shown] + cut),
        ]
    return Called(answers, tokens, calls, round(time.perf_counter() - started, 1), said)


def _arguments(tool: Tool) -> dict[str, str]:
    return {name: str(each.get("description", "")) for name, each in tool.input_schema.get("properties", {}).items()}


def _schema(named: Mapping[str, Tool], *, may_answer: bool) -> dict[str, Any]:
    """The JSON schema of a step: a call of one of the tools, or the answer."""
    calls = [{"tool": {"const": name}, "arguments": each.input_schema} for name, each in named.items()]
    answers = [{"answer": {"type": "array", "items": {"type": "string"}}}] if may_answer else []
    forms = [
        {"type": "object", "properties": each, "required": list(each), "additionalProperties": False}
        for each in (*calls, *answers)
    ]
    return {"anyOf": forms}
