"""The page on planning is true: its commands run in their order and print what is shown, and its domain makes the answers that it says."""

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
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PERSONAL, COURSES = (body.splitlines() for kind, body in BLOCKS if kind == "bash")
FILES = {"python": "courses.py", "yaml": "courses.yaml", "json": "graph.json"}
(SHOWN,) = (body.splitlines() for kind, body in BLOCKS if kind == "text")


def _printed(run: Run, commands: list[str]) -> list[str]:
    printed = []
    for command in commands:
        program, *words = shlex.split(command)
        assert program == ".venv/bin/egotools"
        code, out, err = run(*words)
        assert code == 0, f"{command}\n{out}\n{err}"
        printed.append(out)
    return printed


@pytest.mark.slow
def test_the_commands_run_in_their_order_and_print_what_is_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *generate = shlex.split(PERSONAL[0])
    assert program == ".venv/bin/python"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *generate], cwd=tmp_path, env=environment, check=True)
    _, answered, dry, recorded, replayed = _printed(run, PERSONAL[1:])
    assert answered.splitlines()[: len(SHOWN)] == SHOWN
    assert "Answer: 6" in answered and "files/Documents/Taxes/2024" in answered
    assert "Nothing was called" in dry
    assert "lease-13.txt" in recorded and "lease-13.txt" in replayed
    written = {json.loads(line)["kind"] for line in (tmp_path / "out/run.jsonl").read_text("utf-8").splitlines()}
    assert {"run_begun", "find_ended", "call_ended", "event", "run_ended"} <= written


@pytest.mark.slow
def test_the_files_of_a_domain_make_the_answers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for kind, body in BLOCKS:
        if kind in FILES:
            Path(FILES[kind]).write_text(body, encoding="utf-8")
    _, last, teacher = _printed(run, COURSES)
    sys.modules.pop("courses", None)
    assert "c3" in last and "Italian wines" in last and "Answer: 1" in last
    assert "Ines Moreau" in teacher and "Answer: 1" in teacher
    assert "missing" not in last + teacher
