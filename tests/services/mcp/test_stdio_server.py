"""The command over stdio, as a client starts it; and a snapshot that is swapped under its sessions."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S
from tests.services.mcp.test_http_server import HANDSHAKE, message

COMMAND = ["-m", "services.cli", "mcp"]


def test_raw_lines_of_no_json_are_survived_and_the_process_ends_with_its_client(served: str) -> None:
    handshake = {**HANDSHAKE, "protocolVersion": "2024-11-05"}
    lines = ["no JSON", "[]", json.dumps(message("initialize", handshake)), json.dumps(message("tools/list", {}, 2))]
    lines.insert(3, json.dumps(message("notifications/initialized", {}, None)))
    with subprocess.Popen(
        [sys.executable, *COMMAND, "--server", served],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env={**os.environ, "EGOTOOLS_STORE": ""},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers: dict[Any, Any] = {}
        while 2 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.wait(timeout=LIMIT_S) == 0
    assert answers[1]["result"]["protocolVersion"] == "2024-11-05"
    assert len(answers[2]["result"]["tools"]) == 4
