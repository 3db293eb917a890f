"""The processes that read changed tools end with their server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

_PATIENCE_S = 20.0


def _is_alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def test_a_busy_worker_ends_when_its_server_is_killed() -> None:
    command = [sys.executable, "-m", "tests.services.jobs.worker_parent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        worker = int(server.stdout.readline())
        assert _is_alive(worker)
        server.kill()
    until = time.monotonic() + _PATIENCE_S
    while _is_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    if _is_alive(worker):
        os.kill(worker, signal.SIGKILL)
        raise AssertionError("the worker outlived its server")
