"""An agent of twenty lines with the Anthropic SDK: it searches its tools while it works.

While `egotools serve` runs, with the key in ANTHROPIC_API_KEY:

    .venv/bin/python examples/agents/anthropic_loop.py 127.0.0.1:50051 "find the employee Jan Nowak" hr=http://127.0.0.1:8010/hr
"""

from __future__ import annotations

import sys
from typing import Any

import anthropic

from egotools import Client, ClientError
from egotools.integrations import ToolSource


def run(task: str, source: ToolSource, model: str = "claude-sonnet-5-5", max_turns: int = 20) -> str:
    """Work on a task until the model answers without a call."""
    chat = anthropic.Anthropic()
    messages: list[Any] = [{"role": "user", "content": task}]
    for _ in range(max_turns):
        tools: list[Any] = [
            {"name": offer.name, "description": offer.description, "input_schema": offer.parameters}
            for offer in source.offers()
        ]
        answer = chat.messages.create(model=model, max_tokens=4_096, messages=messages, tools=tools)
        messages.append({"role": "assistant", "content": answer.content})
        results = [_result(source, block) for block in answer.content if block.type == "tool_use"]
        if not results:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "user", "content": results})
    return "The task took too many turns."


def _result(source: ToolSource, block: Any) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": block.id}
    try:
        return {**result, "content": source.call(block.name, block.input)}
    except ClientError as error:  # the model reads what is wrong, and may correct it
        return {**result, "content": f"Error: {error}", "is_error": True}


if __name__ == "__main__":
    address, task, *servers = sys.argv[1:]
    with Client(address) as client:
        print(run(task, ToolSource(client, servers=dict(each.split("=", 1) for each in servers))))
