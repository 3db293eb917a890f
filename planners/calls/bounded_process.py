"""A child process whose output and time are bounded; however it ends, nothing of it is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = ["Ending", "RunningProcess"]

Ending: TypeAlias = Literal["ok", "error", "timeout", "output", "killed"]

_CHUNK = 2**16


class RunningProcess:
    """A process that was started in a session of its own, with three pipes.

    :param max_output: bytes of stdout, and of stderr, that are kept; more end the process.
    :param before_kill: is called before the process is killed, once or more often.
    :ivar stdout: what it wrote until now.
    """

    def __init__(self, process: Process, max_output: int, before_kill: Callable[[], object]) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._process = process
        self._max_output = max_output
        self._before_kill = before_kill
        self._is_over = False

    @property
    def status(self) -> int | None:
        """Its status, negative for the number of a signal; None while it runs."""
        return self._process.returncode

    async def finish(self, stdin: bytes, seconds: float) -> Ending | None:
        """Give it its input and wait until it and all its children have ended; a cancelled wait ends them too.

        :returns: the limit that ended it, or None.
        """
        talk = asyncio.ensure_future(self._talk(stdin))
        is_late = False
        try:
            await asyncio.wait({talk}, timeout=seconds)
            is_late = not talk.done()
        finally:
            self._kill()
            await talk
        return "output" if self._is_over else "timeout" if is_late else None

    async def _talk(self, stdin: bytes) -> None:
        process = self._process
        await asyncio.gather(
            _feed(process.stdin, stdin),
            self._collect(process.stdout, self.stdout),
            self._collect(process.stderr, self.stderr),
        )
        await process.wait()

    async def _collect(self, stream: asyncio.StreamReader | None, kept: bytearray) -> None:
        """Read to the end: a stream that is not read would not let the process end."""
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            room = self._max_output - len(kept)
            kept += chunk[:room]
            if len(chunk) > room:
                self._is_over = True
                self._kill()

    def _kill(self) -> None:
        self._before_kill()
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


async def _feed(stream: asyncio.StreamWriter | None, content: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(ConnectionError):
        stream.write(content)
        await stream.drain()
    stream.close()
    with contextlib.suppress(ConnectionError):
        await stream.wait_closed()
