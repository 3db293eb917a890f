"""An agent of twenty lines with the OpenAI SDK: it searches its tools while it works.

While `egotools serve` runs, with the key and, for another provider, the address in OPENAI_API_KEY and OPENAI_BASE_URL:

    .venv/bin/python examples/agents/openai_loop.py 127.0.0.1:50051 "find the employee Jan Nowak" hr=http://127.0.0.1:8010/hr
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai

from egotools import Client, ClientError
from egotools.integrations import ToolSource


def run(task: str, source: ToolSource, model: str = "gpt-5-mini", max_turns: int = 20) -> str:
    """Work on a task until the model answers without a call."""
    chat = openai.OpenAI()
    messages: list[Any] = [{"role": "user", "content": task}]
    for _ in range(max_turns):
        tools: list[Any] = [{"type": "function", "function": offer._asdict()} for offer in source.offers()]
        message = chat.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.type != "function":
                continue  # none was offered
            try:
                content = source.call(call.function.name, json.loads(call.function.arguments))
            except (ClientError, ValueError) as error:  # the model reads what is wrong, and may correct it
                content = f"Error: {error}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return "The task took too many turns."


if __name__ == "__main__":
    address, task, *servers = sys.argv[1:]
    with Client(address) as client:
        print(run(task, ToolSource(client, servers=dict(each.split("=", 1) for each in servers))))
