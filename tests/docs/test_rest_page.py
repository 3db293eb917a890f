"""What the page about serving says of REST: its commands run as printed, and its routes are those of the code."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S, wait_until

PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8").partition("## REST")[2].partition("## The page")[0]
(COMMANDS,) = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SERVE, *ASK = COMMANDS.splitlines()
ADDRESS = "http://127.0.0.1:8080"


@pytest.mark.slow
def test_the_quickstart_works(tmp_path: Path) -> None:
    build_snapshot([str(ROOT / "examples/enterprise/catalog/hr.yaml")], tmp_path / "store", encoder=HashingEncoder())
    program, *words = shlex.split(SERVE)
    assert program == ".venv/bin/egotools" and words[words.index("--port") + 1] == ADDRESS.rpartition(":")[2]
    words[words.index("--port") + 1] = "0"
    ready = tmp_path / "ready.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "services.cli", *words, "--ready-file", str(ready)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_until(ready.exists, process=process)
        url = json.loads(ready.read_text(encoding="utf-8"))["url"]
        answers = []
        for command in ASK:
            asked = shlex.split(command.replace(ADDRESS, url))
            printed = subprocess.run([*asked, "--noproxy", "*"], capture_output=True, text=True, check=True)
            answers.append(json.loads(printed.stdout))
        late = httpx.post(f"{url}/v1/outcomes", json={"request_id": "a"}, trust_env=False)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
    found, plan, catalog, document = answers
    assert len(found["tools"]) == 3 and all(tool["explanation"] for tool in found["tools"])
    assert len(catalog["tool_ids"]) == 5 and catalog["snapshot_id"] == found["snapshot_id"]
    routes = set(re.findall(r"`(?:GET|POST) (/[^`?]+)", PAGE))
    assert routes == set(document["paths"])
    assert plan["steps"][-1]["tool_id"] == "hr/grantSpotAward" and plan["snapshot_id"] == found["snapshot_id"]
    assert late.status_code == 409  # as the page says of --store
    assert not any("call" in route for route in routes)  # likewise
