"""A loopback server that speaks the chat-completions protocol and answers as a test tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One HTTP answer. ``text`` is the assistant's message; ``raw`` replaces the whole body."""

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""
    delay_s: float = 0.0
    finish: str = "stop"
    prompt_tokens: int = 100
    completion_tokens: int = 50

    def body(self) -> bytes:
        if self.raw or self.status != 200:
            return (self.raw or json.dumps({"error": {"message": f"status {self.status}"}})).encode()
        choice = {"index": 0, "message": {"role": "assistant", "content": self.text}, "finish_reason": self.finish}
        usage = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        }
        said = {"id": "c1", "object": "chat.completion", "created": 1, "model": "test", "choices": [choice]}
        return json.dumps({**said, "usage": usage}).encode()


@dataclass
class ChatServer:
    """A running server: what it was asked, and where it is."""

    base_url: str = ""
    requests: list[Body] = field(default_factory=list)
    most_at_once: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def hits(self) -> int:
        return len(self.requests)

    @contextmanager
    def serving(self, request: Body) -> Iterator[int]:
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            yield number
        finally:
            with self._lock:
                self._now -= 1


def asked(request: Body) -> str:
    """The document that a request is about."""
    return str(request["messages"][1]["content"])


@contextmanager
def chat_server(script: Callable[[Body, int], Reply]) -> Iterator[ChatServer]:
    """Serve on a free loopback port; ``script`` gets the request and its number, from 1."""
    state = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.serving(request) as number:
                reply = script(request, number)
                time.sleep(reply.delay_s)
            body = reply.body()
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client gave up waiting

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
