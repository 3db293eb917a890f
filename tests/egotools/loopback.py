"""A server on loopback that keeps every request as it arrives, and answers what it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True)
class Arrived:
    """One request; ``target`` is the path with the query, as it was on the wire."""

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


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered; ``dribble_s`` is a pause before each byte."""

    status: int = 200
    body: bytes = b"{}"
    media_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    dribble_s: float = 0.0


Answer = Callable[[Arrived], Reply]


@dataclass(slots=True)
class Loopback:
    """A running server: its base URL, and the requests that arrived."""

    url: str
    arrived: list[Arrived]
    stopping: threading.Event

    @property
    def only(self) -> Arrived:
        (one,) = self.arrived
        return one


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # with the default of 5, calls that are made at once are refused


@contextmanager
def loopback(answer: Answer = lambda arrived: Reply()) -> Iterator[Loopback]:
    """Run a server while the block runs."""
    arrived: list[Arrived] = []
    stopping = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            arrived.append(Arrived(self.command, self.path, headers, body))
            reply = answer(arrived[-1])
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.media_type)
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            try:
                for byte in range(len(reply.body)) if reply.dribble_s else ():
                    if stopping.wait(reply.dribble_s):
                        return
                    self.wfile.write(reply.body[byte : byte + 1])
                    self.wfile.flush()
                if not reply.dribble_s:
                    self.wfile.write(reply.body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve

        def log_message(self, *_: object) -> None:
            """Nothing on the error channel."""

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Loopback(f"http://127.0.0.1:{server.server_address[1]}", arrived, stopping)
    finally:
        stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
