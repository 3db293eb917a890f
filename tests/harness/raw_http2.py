"""HTTP/2 by hand, for what no gRPC client does: windows of 0, streams that are opened and reset, thousands of calls at once."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _DATA, _RESET, _SETTINGS = 1, 0, 3, 4
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_INITIAL_WINDOW, _CANCEL = 4, 8


def _frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def _header(name: str, value: str) -> bytes:
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def call_frames(number: int, path: str, message: bytes) -> bytes:
    """The frames of call ``number``, from 0, of a connection.

    :param path: ``/service/method``.
    :param message: serialised, below 16 KiB.
    """
    stream = 2 * number + 1
    named = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers"}
    head = b"".join(_header(*each) for each in {**named, "content-type": "application/grpc"}.items())
    body = b"\0" + struct.pack(">I", len(message)) + message
    return _frame(_HEADERS, _END_HEADERS, stream, head) + _frame(_DATA, _END_STREAM, stream, body)


def reset_frame(number: int) -> bytes:
    """The frame that gives up call ``number``."""
    return _frame(_RESET, 0, 2 * number + 1, struct.pack(">I", _CANCEL))


@asynccontextmanager
async def connection(
    address: str, *, window: int | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection after the preface.

    :param window: bytes of each answer that the server may send; None for the default of 65,535.
    """
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    settings = b"" if window is None else struct.pack(">HI", _INITIAL_WINDOW, window)
    writer.write(_PREFACE + _frame(_SETTINGS, 0, 0, settings) + _frame(_SETTINGS, _ACK, 0))
    try:
        yield reader, writer
    finally:
        writer.close()
