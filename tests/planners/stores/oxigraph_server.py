"""A real SPARQL endpoint for tests: ``oxigraph serve`` on a free loopback port, in memory."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def running_oxigraph() -> Iterator[str]:
    """Start it, and give its address; the test skips where the package oxigraph is not installed."""
    program = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")
    if program is None:
        pytest.skip("the package `oxigraph` is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [program, "serve", "--bind", f"127.0.0.1:{port}", "--timeout-s", "3"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


class OwnOxigraph:
    """Base of test classes whose queries are stopped: Oxigraph goes on with a query that nobody waits for any more.

    On the server that all tests share it would take a processor until the last of them has ended.
    """

    @pytest.fixture
    def oxigraph_address(self) -> Iterator[str]:
        with running_oxigraph() as address:
            yield address


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError("oxigraph did not start")
