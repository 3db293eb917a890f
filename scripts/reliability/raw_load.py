"""A load of calls that costs its client little: frames made beforehand, answers of which only the kind of frame is read.

A client of gRPC in Python spends as much of the processors as the server does; beside it, on the same machine, a figure is one of
the client. This one takes about 50 µs a call, in a process of its own.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import struct
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from scripts.reliability.raw_http2 import call_frames, connection, ping_answer, window_update

__all__ = ["RawLoad", "closed_loop", "open_loop"]

_CONNECTIONS = 4
_DATA, _HEADERS, _RESET, _SETTINGS, _PING = 0, 1, 3, 4, 6
_END_STREAM = _ACK = 1
_MAX_STREAMS = 3
_WINDOW = 2**30
_UNBOUNDED = 2**31
_TICK_S, _LAST_S = 0.002, 20.0


@dataclass(slots=True)
class RawLoad:
    """How the calls of a load ended.

    :param answered: seconds from the moment a call was due to the end of its answer.
    :param refused: the same of calls that ended with an error, without a message.
    :param reset: number of calls whose stream was reset, or that had no answer at the end.
    """

    answered: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    reset: int = 0


async def open_loop(address: str, message: bytes, rate_per_s: float, seconds: float, method: str) -> RawLoad:
    """Ask at a fixed rate, whether or not earlier calls were answered, from another process.

    :param message: serialised, below 16 KiB.
    :param method: ``/service/method``.
    """
    return await _elsewhere(_open, address, message, rate_per_s, seconds, method)


async def closed_loop(address: str, message: bytes, in_flight: int, seconds: float, method: str) -> RawLoad:
    """Keep so many calls in flight, from another process."""
    return await _elsewhere(_closed, address, message, in_flight, seconds, method)


async def _elsewhere(load: Callable[..., RawLoad], *args: object) -> RawLoad:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return await asyncio.get_running_loop().run_in_executor(process, load, *args)


def _open(address: str, message: bytes, rate_per_s: float, seconds: float, method: str) -> RawLoad:
    async def run() -> RawLoad:
        async with _Calls(address, message, method) as calls:
            started, asked, due = time.monotonic(), 0, round(seconds * rate_per_s)
            while asked < due:  # not while there is time: a client that was late still asks all
                while asked < min(due, (time.monotonic() - started) * rate_per_s):
                    calls.ask(started + asked / rate_per_s)
                    asked += 1
                await asyncio.sleep(_TICK_S)
            return await calls.ended()

    return asyncio.run(run())


def _closed(address: str, message: bytes, in_flight: int, seconds: float, method: str) -> RawLoad:
    async def run() -> RawLoad:
        async with _Calls(address, message, method) as calls:
            ends = time.monotonic() + seconds
            while (now := time.monotonic()) < ends:
                for _ in range(in_flight - calls.open):
                    calls.ask(now)
                await asyncio.sleep(_TICK_S)
            return await calls.ended()

    return asyncio.run(run())


class _Calls:
    """Calls over several connections in turn, none of which has more streams than the server allows."""

    def __init__(self, address: str, message: bytes, method: str) -> None:
        self._address, self._message, self._method = address, message, method
        self._lines: list[_Line] = []
        self._next = 0
        self._stack = AsyncExitStack()
        self.load = RawLoad()

    async def __aenter__(self) -> _Calls:
        for _ in range(_CONNECTIONS):
            streams = await self._stack.enter_async_context(connection(self._address, window=_WINDOW))
            line = _Line(*streams, self.load, lambda number: call_frames(number, self._method, self._message))
            line.reading = asyncio.create_task(line.read())
            self._lines.append(line)
        return self

    async def __aexit__(self, *_: object) -> None:
        for line in self._lines:
            line.reading.cancel()
        await self._stack.aclose()

    @property
    def open(self) -> int:
        """Number of calls that were asked and have not ended."""
        return sum(len(line.sent) + len(line.waiting) for line in self._lines)

    def ask(self, due: float) -> None:
        """Make one call, which was due at that time of ``time.monotonic()``."""
        line = self._lines[self._next % len(self._lines)]
        self._next += 1
        line.waiting.append(due)
        line.send()

    async def ended(self) -> RawLoad:
        """Wait for the answers, for a while."""
        until = time.monotonic() + _LAST_S
        while self.open and time.monotonic() < until:
            await asyncio.sleep(_TICK_S)
        self.load.reset += self.open
        return self.load


class _Line:
    """One connection."""

    reading: asyncio.Task[None]

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        load: RawLoad,
        frames: Callable[[int], bytes],
    ) -> None:
        self._reader, self._writer, self._load, self._frames = reader, writer, load, frames
        self._number = 0
        self._most = 0  # until the server has said how many
        self._with_data: set[int] = set()
        self.sent: dict[int, float] = {}
        self.waiting: deque[float] = deque()

    def send(self) -> None:
        while self.waiting and len(self.sent) < self._most:
            self._writer.write(self._frames(self._number))
            self.sent[2 * self._number + 1] = self.waiting.popleft()
            self._number += 1

    async def read(self) -> None:
        while True:
            head = await self._reader.readexactly(9)
            size, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
            stream = int.from_bytes(head[5:]) & 0x7FFFFFFF
            body = await self._reader.readexactly(size)
            if kind == _DATA and size:
                self._with_data.add(stream)
                self._writer.write(window_update(size))
            elif kind == _PING and not flags & _ACK:
                self._writer.write(ping_answer(body))
            elif kind == _SETTINGS and not flags & _ACK:
                self._most = dict(struct.iter_unpack(">HI", body)).get(_MAX_STREAMS, _UNBOUNDED)
                self.send()
            if kind == _RESET or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
                self._end(stream, kind)

    def _end(self, stream: int, kind: int) -> None:
        due = self.sent.pop(stream, None)
        if due is None:  # a reset after the answer
            return
        answered = stream in self._with_data
        self._with_data.discard(stream)
        if kind == _RESET:
            self._load.reset += 1
        else:
            (self._load.answered if answered else self._load.refused).append(time.monotonic() - due)
        self.send()
