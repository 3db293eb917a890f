"""A server on loopback that keeps every request as it arrives, and answers what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True)
class Arrived:
    """One request; ``target`` is the path with the query as it was on the wire, names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered.

    :param dribble_s: pause before each byte of the body.
    :param hang: the answer is held until the server stops.
    :param endless: the body is sent again and again, each time after so many seconds, until the client leaves.
    :param raw: sent instead of status and headers.
    """

    status: int = 200
    body: bytes = b"{}"
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    dribble_s: float = 0.0
    hang: bool = False
    endless: float | None = None
    raw: bytes | None = None


def as_json(value: Any, *, status: int = 200, **headers: str) -> Reply:
    """An answer in JSON; of a header ``_`` stands for ``-``."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status=status, body=json.dumps(value).encode(), headers=named)


Answer = Callable[[Arrived], Reply]


class Loopback:
    """A server that runs from its making to :meth:`stop`, or for a ``with`` block: its base URL, and the requests that arrived."""

    def __init__(self, answer: Answer = lambda arrived: Reply()) -> None:
        self.arrived: list[Arrived] = []
        self.stopping = threading.Event()
        self.answer = answer
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def only(self) -> Arrived:
        (one,) = self.arrived
        return one

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # with the default of 5, calls that are made at once are refused
    daemon_threads = True

    def __init__(self, owner: Loopback) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _serve(self) -> None:
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Arrived(self.command, self.path, {name.lower(): text for name, text in self.headers.items()}, body)
        owner.arrived.append(request)
        reply = owner.answer(request)
        if reply.hang:
            owner.stopping.wait()
            self.close_connection = True
            return
        try:
            self._send(reply, owner.stopping)
        except OSError:  # the client has left
            self.close_connection = True

    def _send(self, reply: Reply, stopping: threading.Event) -> None:
        if reply.raw is None:
            self._send_head(reply)
        else:
            self.wfile.write(reply.raw)
        if self.command == "HEAD":
            return
        for byte in reply.body if reply.dribble_s else ():
            if stopping.wait(reply.dribble_s):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
        if not reply.dribble_s:
            self.wfile.write(reply.body)
        while reply.endless is not None and not stopping.wait(reply.endless):
            self.wfile.write(reply.body)

    def _send_head(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.media_type)
        if reply.endless is None:
            self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve

    def log_message(self, *_: object) -> None:
        """Nothing on the error channel."""
