"""Waiting for a state instead of for a time, and bounds that a busy machine cannot miss."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LIMIT_S = 600.0
"""Ends a test that would hang. No test depends on how long a state takes to come."""

_MOST_CPU_S = 8.0


def wait_until(reached: Callable[[], object], *, process: subprocess.Popen[Any] | None = None) -> None:
    """Return as soon as ``reached()`` is true.

    :param process: must go on running until then.
    """
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert process is None or process.poll() is None, "the process ended before the state came"
        assert time.monotonic() < end, "the state never came"
        time.sleep(0.005)


async def until(reached: Callable[[], object]) -> None:
    """As :func:`wait_until`, while other tasks of the event loop go on."""
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < end, "the state never came"
        await asyncio.sleep(0.005)


@contextmanager
def bounded_work(most_cpu_s: float = _MOST_CPU_S) -> Iterator[None]:
    """Fails when the block uses processor time out of all proportion: work that grows with the square of its input.

    The bound is in processor time of this process, which other programs do not use up. It is several times what the
    slowest block needs with its imports and with coverage (2 s), and less than a search with backtracking needs for
    100,000 characters (measured: 50,000 times ``a`` and a blank against ``(?:a )+x``, more than 10 s).
    """
    started = time.process_time()
    yield
    assert time.process_time() - started < most_cpu_s
