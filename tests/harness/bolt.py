"""A tiny Neo4j for tests: enough of Bolt 5.1 on a loopback port to take a graph and count it.

It knows the statements of the store by their shape, keeps nodes and edges in dicts, and can be told to fail.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_HELLO, _LOGON, _GOODBYE, _RESET, _RUN, _PULL = 0x01, 0x6A, 0x02, 0x0F, 0x10, 0x3F
_SUCCESS, _RECORD, _IGNORED, _FAILURE = 0x70, 0x71, 0x7E, 0x7F


@dataclass
class Bolt:
    """The server's state: what it was told, and what it holds."""

    password: str = "secret"
    port: int = 0
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str, str], dict[str, Any]] = field(default_factory=dict)

    def run(self, statement: str, parameters: dict[str, Any]) -> list[list[Any]]:
        """Do a statement; the rows of its answer."""
        rows = parameters.get("rows", [])
        if statement.startswith("MATCH (n:EgotoolsNode) CALL { WITH n DETACH DELETE n }"):
            self.nodes.clear()
            self.edges.clear()
        elif "CREATE (n:EgotoolsNode)" in statement:
            self.nodes |= {row["key"]: row for row in rows}
        elif relation := re.search(r"CREATE \(head\)-\[e:`?(\w+)", statement):
            for row in rows:
                key = (row["head"], row["tail"], relation[1], row["properties"]["key"])
                self.edges[key] = row["properties"]
        elif not statement.startswith("CREATE CONSTRAINT egotools_node_key IF NOT EXISTS"):
            raise ValueError(f"an unknown statement: {statement}")
        return []


@contextlib.contextmanager
def serving(bolt: Bolt) -> Iterator[Bolt]:
    """Serve on a free loopback port until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bolt.port = listener.getsockname()[1]
        threads: list[threading.Thread] = []
        stopped = threading.Event()

        def accept() -> None:
            listener.settimeout(0.1)
            while not stopped.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = listener.accept()
                    thread = threading.Thread(target=_serve, args=(connection, bolt))
                    thread.start()
                    threads.append(thread)

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield bolt
        finally:
            stopped.set()
            acceptor.join()
            for thread in threads:
                thread.join(5)


def _serve(connection: socket.socket, bolt: Bolt) -> None:
    connection.settimeout(5)
    with connection, contextlib.suppress(OSError, EOFError):
        _exactly(connection, 20)  # the magic and four proposals
        connection.sendall(b"\x00\x00\x01\x05")
        answer: list[list[Any]] = []
        failed = False
        while True:
            tag, fields = _message(connection)
            if tag == _GOODBYE:
                return
            if failed and tag != _RESET:
                _send(connection, _IGNORED)
            elif tag == _LOGON and fields[0].get("credentials") != bolt.password:
                failed = True
                code = "Neo.ClientError.Security.Unauthorized"
                _send(connection, _FAILURE, {"code": code, "message": f"wrong password {fields[0].get('credentials')}"})
            elif tag == _HELLO:
                _send(connection, _SUCCESS, {"server": "Neo4j/5.26.0", "connection_id": "bolt-1"})
            elif tag == _RUN:
                try:
                    answer = bolt.run(fields[0], fields[1])
                    _send(connection, _SUCCESS, {"fields": ["value"], "t_first": 0})
                except (ValueError, KeyError) as error:
                    failed = True
                    code = "Neo.ClientError.Statement.SyntaxError"
                    _send(connection, _FAILURE, {"code": code, "message": str(error)})
            elif tag == _PULL:
                for row in answer:
                    _send(connection, _RECORD, row)
                _send(connection, _SUCCESS, {"type": "rw", "db": "neo4j"})
            else:  # LOGON, BEGIN, COMMIT, ROLLBACK, RESET
                failed = False
                _send(connection, _SUCCESS, {})


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _message(connection: socket.socket) -> tuple[int, list[Any]]:
    data = b""
    while True:
        size = struct.unpack(">H", _exactly(connection, 2))[0]
        if size:
            data += _exactly(connection, size)
        elif data:
            break
    reader = _Unpacker(data[2:])
    return data[1], [reader.value() for _ in range(data[0] & 0x0F)]


def _send(connection: socket.socket, tag: int, *fields: Any) -> None:
    data = bytes((0xB0 + len(fields), tag)) + b"".join(map(_pack, fields))
    parts = [data[start : start + 0xFFFF] for start in range(0, len(data), 0xFFFF)]
    connection.sendall(b"".join(struct.pack(">H", len(part)) + part for part in parts) + b"\x00\x00")


def _pack(value: Any) -> bytes:
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return b"\xcb" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xc1" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return b"\xd2" + struct.pack(">I", len(data)) + data
    if isinstance(value, list):
        return b"\xd6" + struct.pack(">I", len(value)) + b"".join(map(_pack, value))
    pairs = b"".join(_pack(key) + _pack(inner) for key, inner in value.items())
    return b"\xda" + struct.pack(">I", len(value)) + pairs


_INTEGERS = {0xC8: ">b", 0xC9: ">h", 0xCA: ">i", 0xCB: ">q"}
_SIZES = {0: ">B", 1: ">H", 2: ">I"}


class _Unpacker:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def value(self) -> Any:
        marker = self._take(">B")
        if marker < 0x80 or marker >= 0xF0:
            return marker if marker < 0x80 else marker - 0x100
        if marker in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[marker]
        if marker == 0xC1:
            return self._take(">d")
        if marker in _INTEGERS:
            return self._take(_INTEGERS[marker])
        small = {0x80: self._text, 0x90: self._list, 0xA0: self._map}.get(marker & 0xF0)
        if small is not None:
            return small(marker & 0x0F)
        large = {0xD0: self._text, 0xD4: self._list, 0xD8: self._map}[marker & 0xFC]
        return large(self._take(_SIZES[marker & 0x03]))

    def _take(self, format_: str) -> Any:
        (value,) = struct.unpack_from(format_, self.data, self.place)
        self.place += struct.calcsize(format_)
        return value

    def _text(self, size: int) -> str:
        self.place += size
        return self.data[self.place - size : self.place].decode()

    def _list(self, size: int) -> list[Any]:
        return [self.value() for _ in range(size)]

    def _map(self, size: int) -> dict[str, Any]:
        return {self.value(): self.value() for _ in range(size)}
