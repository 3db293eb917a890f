"""The page on planning is true: its commands run in their order and print what is shown.

The accuracy of the parser on it is compared where it is measured: ``tests/planners/query/parsing/test_accuracy.py``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.harness.commands import Run

PAGE = (ROOT / "docs" / "planner.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(COMMANDS,) = (body.splitlines() for kind, body in BLOCKS if kind == "bash")
(SHOWN,) = (body.splitlines() for kind, body in BLOCKS if kind == "text")


@pytest.mark.slow
def test_the_commands_run_in_their_order_and_print_what_is_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *generate = shlex.split(COMMANDS[0])
    assert program == ".venv/bin/python"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *generate], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "out" / "home" / "truth.json").exists()
    printed = []
    for command in COMMANDS[1:]:
        program, *words = shlex.split(command)
        assert program == ".venv/bin/egotools"
        code, out, err = run(*words)
        assert code == 0, f"{command}\n{out}\n{err}"
        printed.append(out)
    _, answered, dry, recorded, replayed = printed
    assert answered.splitlines()[: len(SHOWN)] == SHOWN
    assert "Answer: 6" in answered and "files/Documents/Taxes/2024" in answered
    assert "Nothing was called" in dry
    assert "lease-13.txt" in recorded and "lease-13.txt" in replayed
    written = {json.loads(line)["kind"] for line in (tmp_path / "out/run.jsonl").read_text("utf-8").splitlines()}
    assert {"run_begun", "find_ended", "call_ended", "event", "run_ended"} <= written
