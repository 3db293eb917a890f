"""The processes that read changed tools end with their server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from ontology.errors import NotReadyError
from services.jobs.tools_worker import ToolsWorker

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


def test_a_call_that_finds_its_process_closed_says_to_send_the_change_again() -> None:
    worker = ToolsWorker()
    closed = ProcessPoolExecutor(max_workers=1)
    closed.shutdown()
    worker._pools[False] = closed  # as a close() between two lines of a call leaves it
    with pytest.raises(NotReadyError, match="Send the change again"):
        worker.read([])
    assert not worker._pools, "the next call starts a new one"
