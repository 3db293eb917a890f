"""The command: it says where it listens, answers, and ends at SIGTERM; a wrong option is a named error."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT
from tests.harness.company import CATALOG
from tests.harness.waiting import wait_until

_COMMAND = [sys.executable, "-m", "services.cli", "demo", "company", "--port", "0"]


def test_the_command_says_where_it_listens_and_ends_at_sigterm(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    options = ["--catalog", str(CATALOG), "--data", str(tmp_path / "data"), "--ready-file", str(ready)]
    with subprocess.Popen([*_COMMAND, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_until(ready.exists, process=process)
            said = json.loads(ready.read_text(encoding="utf-8"))
            found = httpx.get(f"{said['systems']['hr']}/employees", params={"query": "Nora"}, timeout=60).json()
            process.send_signal(signal.SIGTERM)
            output = process.communicate()[0]
        finally:
            process.terminate()
    assert found["items"][0]["employeeId"] == "E10482"
    assert "165 operations at http://127.0.0.1:" in output
    assert process.returncode == 0
    assert sorted(said["systems"]) == ["facilities", "finance", "hr", "procurement", "sales", "travel", "warehouse"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [(["--catalog", "nowhere"], "no OpenAPI document"), (["--host", "nowhere.invalid"], "cannot listen")],
)
def test_a_wrong_option_is_a_named_error(tmp_path: Path, options: list[str], problem: str) -> None:
    command = [*_COMMAND, "--data", str(tmp_path), *options]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2
    assert problem in " ".join(ended.stderr.split())
