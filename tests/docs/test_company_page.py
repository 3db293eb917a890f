"""The page of the shipped company is true: its commands run in their order against the mock company, over HTTP."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.waiting import LIMIT_S, wait_until

PAGE = (ROOT / "examples" / "enterprise" / "README.md").read_text(encoding="utf-8")
SERVE, ASK = (body.splitlines() for body in re.findall(r"^```bash\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
(BUILD,) = re.findall(r"^    (\.venv/bin/egotools build .+)$", PAGE, re.MULTILINE)
ADDRESS = "http://127.0.0.1:8010"


def _words(command: str) -> list[str]:
    program, *words = shlex.split(command)
    assert program == ".venv/bin/egotools"
    return words


@pytest.mark.slow
def test_the_commands_run_in_their_order(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ready = tmp_path / "ready.json"
    (serve,) = SERVE
    words = _words(serve)
    at = words.index("--port") + 1
    assert words[at] == ADDRESS.rpartition(":")[2]
    company = subprocess.Popen(
        [sys.executable, "-m", "services.cli", *words[:at], "0", *words[at + 1 :], "--ready-file", str(ready)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_until(ready.exists, process=company)
        url = json.loads(ready.read_text(encoding="utf-8"))["url"]
        printed = []
        for command in (BUILD, *ASK):
            code, out, err = run(*_words(command.replace(ADDRESS, url)))
            assert code == 0, f"{command}\n{out}\n{err}"
            printed.append(out)
    finally:
        company.send_signal(signal.SIGTERM)
        company.wait(LIMIT_S)
    _, planned, written, called = printed
    assert "Answer: " in planned and "finance/searchSupplierInvoices" in planned
    assert "201 Created" in written and '"status": "pending"' in written
    assert "Acme Pumps GmbH" in called
