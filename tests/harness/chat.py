"""Models behind loopback: one that a function answers for, and one that says what stands in a script, in the protocols of OpenAI and Anthropic."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

from tests.harness import http_server
from tests.harness.http_server import Arrived, Loopback

Body = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One HTTP answer. ``text`` is the assistant's message."""

    text: str = ""
    status: int = 200
    prompt_tokens: int = 100
    completion_tokens: int = 50

    def served(self) -> http_server.Reply:
        """What a server sends."""
        if self.status != 200:
            return http_server.as_json({"error": {"message": f"status {self.status}"}}, status=self.status)
        read, written = self.prompt_tokens, self.completion_tokens
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return http_server.as_json({**_chat(self.text, "c1"), "usage": usage})


@dataclass
class ChatServer:
    """A running server: what it was asked, and where it is."""

    script: Callable[[Body, int], Reply]
    base_url: str = ""
    requests: list[Body] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def hits(self) -> int:
        return len(self.requests)

    def answer(self, arrived: Arrived) -> http_server.Reply:
        request = arrived.json
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        return self.script(request, number).served()


def step_of(request: Body) -> str:
    """The name of the schema that a request asks for; ``tool`` where it asks for none."""
    form = request.get("response_format")
    return str(form["json_schema"]["name"]) if form else "tool"


def said_by_step(script: Mapping[str, Sequence[Any]]) -> Callable[[Body, int], Reply]:
    """A script for :func:`chat_server`: of each step its answers in order, the last again and again; ``{}`` where it has none."""
    answers = {step: chain(said, repeat(said[-1])) for step, said in script.items()}
    return lambda request, number: Reply(
        text=json.dumps(next(answers.get(step_of(request), repeat({})))), prompt_tokens=11, completion_tokens=5
    )


def asked(request: Body) -> str:
    """The document that a request is about."""
    return str(request["messages"][1]["content"])


@contextmanager
def chat_server(script: Callable[[Body, int], Reply]) -> Iterator[ChatServer]:
    """Serve while the block runs; ``script`` gets the request and its number, from 1."""
    chat = ChatServer(script)
    with Loopback(chat.answer) as server:
        chat.base_url = f"{server.url}/v1"
        yield chat


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

    def answer(self, arrived: Arrived) -> http_server.Reply:
        self.requests.append(arrived.json)
        turn = self.turns.pop(0) if self.turns else "The script is over."
        number = len(self.requests)
        made = next(made for end, made in _FORMATS.items() if arrived.path.endswith(end))(turn, f"call_{number}")
        return http_server.as_json(made)


def _chat(turn: Turn, id_: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
    if not isinstance(turn, str):
        function = {"name": turn[0], "arguments": json.dumps(turn[1])}
        message["tool_calls"] = [{"id": id_, "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(turn, str) else "tool_calls"}
    said = {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
    return {"id": id_, "object": "chat.completion", "created": 1, "model": "scripted", **said}


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
    with Loopback(chat.answer) as server:
        chat.url = f"{server.url}/v1"
        yield chat
