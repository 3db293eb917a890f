"""Processes that tests started and left: found by a mark in their environment, which every process hands on to those it starts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "TESTS_OF_PROCESS"
_ENDING_S = 20.0
_OF_PYTHON = "from multiprocessing."  # its trackers and servers of forks end with this process


@contextmanager
def marked_children() -> Iterator[list[str]]:
    """Mark what this process starts; at the end kill what is left and put its command lines into the list that was given.

    Where there is no ``/proc`` nothing is found.
    """
    mark, left = f"{_MARK}={os.getpid()}", list[str]()
    os.environ[_MARK] = str(os.getpid())
    try:
        yield left
    finally:
        del os.environ[_MARK]
        end = time.monotonic() + _ENDING_S
        while (found := dict(_marked(mark))) and time.monotonic() < end:  # some are ending now
            time.sleep(0.1)
        left += found.values()
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    for pid in processes_with(f"{mark} ", "environ"):
        with suppress(OSError):
            command = _words(pid, "cmdline")
            if command and _OF_PYTHON not in command and pid != os.getpid():
                yield pid, command[:200]


def processes_with(word: str, where: str = "cmdline") -> Iterator[int]:
    """The ids of the processes whose command line, or environment, has this word; in it each part ends with a blank."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word in _words(int(folder.name), where):
                yield int(folder.name)


def _words(pid: int, where: str) -> str:
    return Path(f"/proc/{pid}/{where}").read_bytes().replace(b"\0", b" ").decode(errors="replace")
