"""An engine of graphs in a process of its own: one that crashes, takes too long or too much memory ends alone.

A request is a line of JSON, and so is its answer; the process runs :mod:`planners.stores.engine_child`, as a script that imports nothing of
the project, without the environment. It takes a filter of system calls, which leaves it no network, and bounds its own memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import platform
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ontology.errors import IsolationError, StorageError
from planners.calls.syscall_filter import syscall_filter

__all__ = ["EngineEndedError", "EngineProcess"]

_SCRIPT = Path(__file__).with_name("engine_child.py")
_LINE_BYTES = 64 * 2**20
"""Of an answer: more than the script writes."""
_START_S = 60.0
_LOG = logging.getLogger(__name__)


class EngineEndedError(Exception):
    """The process has ended, or does not write answers any more; it is gone when this is raised.

    :param signal_name: of the signal that ended it: ``SIGSEGV``; empty: none did.
    """

    def __init__(self, signal_name: str) -> None:
        super().__init__(signal_name)
        self.signal_name = signal_name


class EngineProcess:
    """A process that runs an engine; start it with :meth:`start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, engine: str) -> EngineProcess:
        """Start one.

        :param engine: ``ladybug`` or ``oxigraph``.
        :raises StorageError: when no process can be started.
        """
        try:
            program = syscall_filter(platform.machine())
        except IsolationError:  # a processor whose calls are not known
            program = b""
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", str(_SCRIPT), engine, program.hex()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                limit=_LINE_BYTES,
            )
        except OSError as error:
            problem = f"no process can be started for {engine}: {error.strerror}"
            raise StorageError(problem, subject=engine, remedy="Free memory, or allow more processes") from None
        started = cls(process)
        answer = await started.ask({"do": "start"}, _START_S)
        if engine == "oxigraph" and not answer.get("filtered"):
            _LOG.warning(
                "This machine takes no filter of system calls: the RDF engine is kept from the network by checks alone"
            )
        return started

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended."""
        return self._process.returncode is not None

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request, and return its answer. One request at a time.

        :raises EngineEndedError: when the process ends before it has answered.
        :raises TimeoutError: when it takes longer; the process is then ended, and so it is where the caller is cancelled:
            an answer to nobody would be left in the pipe.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(request)
        except (EOFError, ValueError, ConnectionError):
            with contextlib.suppress(TimeoutError):  # what ended it is known a moment later
                async with asyncio.timeout(1):
                    await self._process.wait()
            await self.end()
            raise EngineEndedError(_signal_name(self._process.returncode)) from None
        except BaseException:
            await self.end()
            raise

    async def end(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._process.stdin is None or self._process.stdout is None:
            raise EOFError
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()
        answer = json.loads(await self._process.stdout.readline() or b"null")
        if not isinstance(answer, dict):
            raise EOFError
        return answer


def _signal_name(code: int | None) -> str:
    """Return the name of the signal that ended a process with this code."""
    try:
        return signal.Signals(-code).name if code is not None and code < 0 else ""
    except ValueError:  # a signal that has no name
        return str(code)
