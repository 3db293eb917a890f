"""Faults of a disk, and deaths of a process, at every step that a piece of work takes on files."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import _exit
from threading import get_ident
from typing import Any

STEPS = "fsync open write pwrite ftruncate mkdir rename replace unlink rmdir scandir listdir".split()
"""The functions of :mod:`os` whose calls are steps; a file that is opened for writing is one, too."""


class Steps:
    """Counts the steps of the thread that makes it, and does something at one of them: what runs the tests writes in other threads.

    :param at: which step, from 1; 0 for none.
    """

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at = at
        self.act = act
        self.count = 0
        self.thread = get_ident()

    def step(self) -> None:
        """Called before each step."""
        if get_ident() != self.thread:
            return
        self.count += 1
        if self.count == self.at:
            self.act()


@contextmanager
def acting_at(step: int, act: Callable[[], None]) -> Iterator[Steps]:
    """Do something before one step of the block."""
    steps = Steps(step, act)
    before = {name: getattr(os, name) for name in STEPS}
    opened = io.open

    def counted_open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if mode[0] in "wax" and not isinstance(file, int):
            steps.step()
        return opened(file, mode, *args, **kwargs)

    try:
        for name, function in before.items():
            setattr(os, name, _counted(function, steps))
        io.open = counted_open
        yield steps
    finally:
        for name, function in before.items():
            setattr(os, name, function)
        io.open = opened


def _counted(original: Any, steps: Steps) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        steps.step()
        return original(*args, **kwargs)

    return run


def failing(code: int) -> Callable[[], None]:
    """The act that is an error of the disk."""

    def fail() -> None:
        raise OSError(code, os.strerror(code))

    return fail


def die() -> None:
    """The act that is a death without a farewell."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do some work in a child that dies before this step; return whether it did."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    code = 1
    try:
        with acting_at(step, die):
            work()
        code = 0
    finally:
        _exit(code)
