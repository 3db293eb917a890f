"""``egotools mcp`` in front of a server."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S


def test_a_server_that_does_not_answer_is_said_at_the_start() -> None:
    command = [sys.executable, "-m", "services.cli", "mcp", "--server", "127.0.0.1:9", "--http", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = [process.stderr.readline() for _ in range(2)]
        finally:
            process.terminate()
            process.wait(LIMIT_S)
    assert said[0].startswith("The server 127.0.0.1:9 does not answer yet: ")
    assert said[1].startswith("MCP is at http://127.0.0.1:")
