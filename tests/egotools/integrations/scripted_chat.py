"""A server on loopback that speaks the chat protocols of OpenAI and Anthropic, and says what it is told to say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.egotools.loopback import Arrived, Reply, loopback

Turn = str | tuple[str, dict[str, Any]]
"""What the model says: a text, or a call with its arguments."""


@dataclass(slots=True)
class ScriptedChat:
    """The turns that are left, and the requests that came."""

    url: str = ""
    turns: list[Turn] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def say(self, *turns: Turn) -> None:
        self.turns[:] = turns
        self.requests.clear()

    def offered(self) -> list[set[str]]:
        """The names of the tools of each request."""
        return [
            {tool.get("name") or tool["function"]["name"] for tool in request.get("tools") or ()}
            for request in self.requests
        ]

    def told(self) -> str:
        """All that the model was told at last."""
        return json.dumps(self.requests[-1], ensure_ascii=False)

    def answer(self, arrived: Arrived) -> Reply:
        self.requests.append(json.loads(arrived.body))
        turn = self.turns.pop(0) if self.turns else "The script is over."
        number = len(self.requests)
        made = next(made for end, made in _FORMATS.items() if arrived.path.endswith(end))(turn, f"call_{number}")
        return Reply(body=json.dumps(made).encode())


def _chat(turn: Turn, id_: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
    if not isinstance(turn, str):
        function = {"name": turn[0], "arguments": json.dumps(turn[1])}
        message["tool_calls"] = [{"id": id_, "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(turn, str) else "tool_calls"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": id_,
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }


def _responses(turn: Turn, id_: str) -> dict[str, Any]:
    item: dict[str, Any]
    if isinstance(turn, str):
        content = [{"type": "output_text", "text": turn, "annotations": []}]
        item = {"type": "message", "id": f"m_{id_}", "role": "assistant", "status": "completed", "content": content}
    else:
        called = {"call_id": id_, "name": turn[0], "arguments": json.dumps(turn[1])}
        item = {"type": "function_call", "id": f"f_{id_}", "status": "completed", **called}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": id_,
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details},
    }


def _messages(turn: Turn, id_: str) -> dict[str, Any]:
    if isinstance(turn, str):
        block: dict[str, Any] = {"type": "text", "text": turn}
    else:
        block = {"type": "tool_use", "id": id_, "name": turn[0], "input": turn[1]}
    return {
        "id": id_,
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [block],
        "stop_reason": "end_turn" if isinstance(turn, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


_FORMATS = {"/chat/completions": _chat, "/responses": _responses, "/messages": _messages}


@contextmanager
def scripted_chat(turns: Sequence[Turn] = ()) -> Iterator[ScriptedChat]:
    """Run the server while the block runs."""
    chat = ScriptedChat(turns=list(turns))
    with loopback(chat.answer) as server:
        chat.url = f"{server.url}/v1"
        yield chat
