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
_OF_PYTHON = b"from multiprocessing."  # its trackers and servers of forks end with this process


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
        while (found := _marked(mark.encode())) and time.monotonic() < end:  # some are ending now
            time.sleep(0.1)
        left += found.values()
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _marked(mark: bytes) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0") and folder.name != str(os.getpid()):
                command = (folder / "cmdline").read_bytes()
                if command and _OF_PYTHON not in command:
                    found[int(folder.name)] = command.replace(b"\0", b" ").decode(errors="replace")[:200]
    return found
