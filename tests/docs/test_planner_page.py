"""The page on planning is true: its commands run in their order and print what is shown.

The accuracy of the parser on it is compared where it is measured: ``tests/planners/dfs/parsing/test_accuracy.py``.
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

from planners.dfs.domain import read_domain
from planners.runs.run_journal import RunRecord
from tests.conftest import ROOT
from tests.harness.commands import Run

PAGE = (ROOT / "docs" / "planner.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(COMMANDS,) = (body.splitlines() for kind, body in BLOCKS if kind == "bash")
(SHOWN,) = (body.splitlines() for kind, body in BLOCKS if kind == "text")

_TABLE = PAGE[PAGE.index("| kind | what happened |") : PAGE.index("## The eight requests")]
_SOLVING = (ROOT / "docs" / "solve.md").read_text(encoding="utf-8")
_KINDS_OF_SOLVING = _SOLVING[_SOLVING.index("| kind |") : _SOLVING.index("The journal does not stay")]
KINDS = {
    name for row in _TABLE.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
}


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
    assert {"run_begun", "found", "call_ended", "event", "run_ended"} <= written <= KINDS


def test_every_kind_of_record_is_told() -> None:
    """Those of ``egotools solve`` stand on its own page."""
    solving = {
        name
        for row in re.findall(r"^\| (`.*?) \|", _KINDS_OF_SOLVING, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    said = (RunRecord.__doc__ or "").partition(":param kind:")[2].partition(":param at:")[0]
    assert set(re.findall(r"``([a-z]+_?[a-z]+)``", said)) - {"what"} == KINDS | solving


def test_the_commands_of_the_readme_are_those_of_the_page() -> None:
    section = README[README.index("## From a request to an answer") : README.index("## What goes in")]
    block, _ = re.findall(r"^```bash\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)  # the other is of egotools solve
    made, built, asked = block.splitlines()
    assert [made, built] == COMMANDS[:2]
    assert set(shlex.split(asked)) <= set(shlex.split(COMMANDS[2]))


def test_the_options_exist(run: Run) -> None:
    _, out, _ = run("plan", "--help")
    scripts = {
        "--messages",
        "--seed",
        "--out",
        "--split",
        "--domain",
        "--sample",
        "--endpoint",
        "--model",
        "--tests",
        "--graphs",
    }
    known = {*re.findall(r"--[a-z][a-z-]+", out), *scripts}
    assert sorted({*re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)} - known) == []


def test_what_is_counted_is_so() -> None:
    domain = read_domain("personal")
    assert (len(domain.types), len(domain.edges), len(list(domain.signatures()))) == (9, 11, 14)
    assert sum(len(kind.fields) for kind in domain.types.values()) == 12
