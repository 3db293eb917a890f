"""A real HTTP server on the loopback, which answers what the test tells it to."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["DRIPS", "Asked", "Loopback", "Reply", "as_json"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it arrived; names of headers in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What goes back. ``hang`` holds the answer until the server stops; ``tear`` promises more bytes than it sends; ``endless`` sends the
    body again and again, each time after so many seconds, until the client leaves; ``raw`` is sent instead of the head.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    tear: bool = False
    endless: float | None = None
    raw: bytes | None = None


def as_json(value: Any, *, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status=status, body=json.dumps(value).encode(), headers=named)


class Loopback:
    """Runs ``answer`` for each POST and keeps what was asked."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(answer))
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self, answer: Callable[[Asked], Reply]) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                asked = Asked(
                    path=self.path,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=json.loads(self.rfile.read(length)),
                )
                outer.asked.append(asked)
                reply = answer(asked)
                if reply.hang:
                    outer._stopping.wait()
                    self.close_connection = True
                    return
                if reply.raw is None:
                    self._send_head(reply)
                else:
                    self.wfile.write(reply.raw)
                self.wfile.write(reply.body)
                with contextlib.suppress(OSError):
                    while reply.endless is not None and not outer._stopping.wait(reply.endless):
                        self.wfile.write(reply.body)

            def _send_head(self, reply: Reply) -> None:
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                if reply.endless is None:
                    self.send_header("Content-Length", str(len(reply.body) + (100 if reply.tear else 0)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing: the test reads ``asked``."""

        return Handler


_CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
_PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
DRIPS = {
    "a header": Reply(raw=b"HTTP/1.1 200 OK\r\nX-Slow: ", body=b"a", endless=0.05),
    "interim answers": Reply(raw=b"", body=_PROCESSING, endless=0.05),
    "a flood of interim answers": Reply(raw=b"", body=_PROCESSING * 1000, endless=0.0),
    "a chunk's extension": Reply(raw=_CHUNKED + b"5;", body=b"a", endless=0.05),
    "chunks": Reply(raw=_CHUNKED, body=b"1\r\n \r\n", endless=0.05),
}
"""Answers without end, each byte of which comes well within a timeout."""
