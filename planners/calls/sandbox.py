"""Python of a model in a process of its own: no network, no secrets, a read-only root, a folder that vanishes, limits of time and memory.

The process stands under ``bwrap`` (bubblewrap). It sees the interpreter, its libraries, and the files that it is given; it can start
threads but no process, and what it wrote ends with it. What the machine does not let us isolate is refused.

Not bounded is the number of files in its folder: ``bwrap`` bounds the bytes of a tmpfs, not its inodes. An empty file takes kernel
memory, about 1 KiB, until the run ends; so its seconds bound it, and a memory limit of a container around the service counts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ontology.errors import InvalidArgumentError, IsolationError, TooLargeError
from ontology.files import open_regular
from planners.calls.bounded_process import Ending, RunningProcess
from planners.calls.sandbox_command import SandboxLimits, find_bwrap, sandbox_command
from planners.calls.syscall_filter import syscall_filter

__all__ = ["Sandbox", "SandboxLimits", "SandboxResult"]

_CHUNK = 2**16
_MAX_NAME_BYTES = 255
_TOLD_CHARS = 500
_SIGNALLED = 128  # a process that a signal ended has this status, and the number of the signal
_PROBE = """
import os, socket
for attempt in (os.fork, socket.socket, lambda: open("/outside", "w"), lambda: open("/etc/passwd"), lambda: os.listdir("/home")):
    try:
        attempt()
        print("allowed")
    except OSError:
        pass
print("end")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """How a run ended.

    :param ended: ``ok``; ``error``: the code raised or exited otherwise; or the limit that stopped it.
    :param stdout: cut at the limit.
    """

    ended: Ending
    stdout: str
    stderr: str


class Sandbox:
    """Runs code under ``bwrap``; what cannot be isolated is refused, never run bare.

    :param limits: of each run.
    """

    def __init__(self, limits: SandboxLimits = SandboxLimits()) -> None:  # noqa: B008  # frozen
        self.limits = limits
        self._bwrap = ""
        self._fault: IsolationError | None = None
        self._checking = asyncio.Lock()

    async def check(self) -> None:
        """Find out whether code can be isolated here, by a run that tries to leave. The outcome is kept.

        :raises IsolationError: when it cannot; the problem says what is missing.
        """
        async with self._checking:
            if not self._bwrap and self._fault is None:
                try:
                    await self._probe()
                except IsolationError as error:
                    self._fault = error
        if self._fault is not None:
            raise self._fault.with_traceback(None)

    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        """Run Python. The working folder is empty but for the files, under these names, read-only.

        :param files: name → regular file. Links are not followed.
        :raises IsolationError: when it cannot be isolated; nothing was run.
        :raises InvalidArgumentError: for a name that is none of a file in one folder, and for what is no regular file.
        :raises TooLargeError: when the files have more bytes than the limit.
        """
        await self.check()
        return await self._run(self._bwrap, code, stdin, files or {})

    async def run_later(self, code: str, stdin: Awaitable[bytes]) -> SandboxResult:
        """Start Python without files, and run it when its input is there: its seconds begin then.

        :raises IsolationError: when it cannot be isolated; nothing was run.
        """
        await self.check()
        return await self._run(self._bwrap, code, stdin, {})

    async def _probe(self) -> None:
        if sys.platform != "linux":
            raise IsolationError(
                "code is isolated by bubblewrap, which only Linux has", subject=sys.platform, remedy="Run it on Linux"
            )
        bwrap = find_bwrap()
        # A busy machine must not look like one that cannot isolate: the probe has as long as a run without a limit of its own.
        patient = Sandbox(replace(self.limits, seconds=max(self.limits.seconds, SandboxLimits().seconds)))
        result = await patient._run(bwrap, _PROBE, b"", {})
        if (result.ended, result.stdout) != ("ok", "end\n"):
            raise _not_isolated(result.stderr or f"the probe ended with {result.ended}, {result.stdout!r}")
        self._bwrap = bwrap

    async def _run(
        self, bwrap: str, code: str, stdin: bytes | Awaitable[bytes], files: Mapping[str, Path]
    ) -> SandboxResult:
        with contextlib.ExitStack() as opened:
            file_fds = _opened_files(files, self.limits.input_bytes, opened)
            code_fd = _in_memory(code.encode("utf-8", "replace"), opened)
            filter_fd = _in_memory(syscall_filter(platform.machine()), opened)
            lifeline, held = os.pipe()
            opened.callback(os.close, lifeline)
            let_go = opened.enter_context(os.fdopen(held, "wb", buffering=0)).close
            told, status_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            opened.callback(os.close, told)
            with contextlib.closing(os.fdopen(status_fd, "wb", buffering=0)):
                command = sandbox_command(
                    bwrap,
                    self.limits,
                    code_fd=code_fd,
                    filter_fd=filter_fd,
                    status_fd=status_fd,
                    lifeline_fd=lifeline,
                    file_fds=file_fds,
                )
                fds = (code_fd, filter_fd, status_fd, lifeline, *file_fds.values())
                running = await _started(command, fds, self.limits.output_bytes, let_go)
            try:
                given = stdin if isinstance(stdin, bytes) else await stdin
            except BaseException:
                await running.finish(b"", 0)
                raise
            limit = await running.finish(given, self.limits.seconds)
            return _result(running, limit, _exit_code(told))


async def _started(
    command: Sequence[str], fds: Sequence[int], max_output: int, before_kill: Callable[[], object]
) -> RunningProcess:
    """Start the process. Who is cancelled meanwhile ends its whole group: the event loop would end its first process only."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={}, cwd="/", start_new_session=True, pass_fds=fds
        )
    )
    try:
        return RunningProcess(await asyncio.shield(starting), max_output, before_kill)
    except asyncio.CancelledError:
        await RunningProcess(await starting, max_output, before_kill).finish(b"", 0)
        raise


def _result(running: RunningProcess, limit: Ending | None, status: int | None) -> SandboxResult:
    """Return how a run ended.

    :param limit: that stopped it.
    :param status: of the interpreter; None where none was started, or it was stopped.
    :raises IsolationError: when none was started.
    """
    stdout, stderr = (bytes(each).decode("utf-8", "replace") for each in (running.stdout, running.stderr))
    if limit is None and status is None and (running.status or 0) > 0:
        raise _not_isolated(stderr)
    if limit is None:
        limit = _ending(status)
    return SandboxResult(ended=limit, stdout=stdout, stderr=stderr)


def _ending(status: int | None) -> Ending:
    if status is None or status > _SIGNALLED:
        return "timeout" if status == _SIGNALLED + signal.SIGXCPU else "killed"
    return "ok" if status == 0 else "error"


def _not_isolated(told: str) -> IsolationError:
    return IsolationError(
        f"code cannot be isolated here: {told.strip()[-_TOLD_CHARS:]}",
        subject="sandbox",
        remedy="It needs bubblewrap 0.8 or newer, and the right to make namespaces (user namespaces, or root with CAP_SYS_ADMIN)",
    )


def _exit_code(told: int) -> int | None:
    """Read the status of the interpreter from what ``bwrap`` told; None where it told none, as when its own work failed."""
    with contextlib.suppress(BlockingIOError):
        for line in os.read(told, _CHUNK).splitlines():
            with contextlib.suppress(ValueError):
                if isinstance(status := json.loads(line).get("exit-code"), int):
                    return status
    return None


def _in_memory(content: bytes, opened: contextlib.ExitStack) -> int:
    fd = os.memfd_create("sandbox")
    opened.callback(os.close, fd)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _opened_files(files: Mapping[str, Path], max_bytes: int, opened: contextlib.ExitStack) -> dict[str, int]:
    found, total = {}, 0
    for name, path in files.items():
        if not _is_name(name):
            raise InvalidArgumentError("not the name of a file", subject=name, remedy="Give a name without a folder")
        fd = open_regular(path, name)
        opened.callback(os.close, fd)
        total += os.fstat(fd).st_size
        found[name] = fd
    if total > max_bytes:
        raise TooLargeError(f"the files have {total:,} bytes; {max_bytes:,} are the most", subject=", ".join(files))
    return found


def _is_name(name: str) -> bool:
    is_plain = name not in {"", ".", ".."} and not {"/", "\0"} & set(name)
    return is_plain and len(name.encode("utf-8", "replace")) <= _MAX_NAME_BYTES
