"""What a command says where something that it needs is missing: the next command to type; and it writes nothing by then."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ontology.errors import NotFoundError
from tests.conftest import ROOT
from tests.services.conftest import Run
from tests.services.conftest import run as run
from tests.waiting import LIMIT_S

WITH_STORE = (
    "search x --store STORE",
    "show x --store STORE",
    "plan-tools x --store STORE",
    "call a/b --store STORE",
    "mcp --store STORE",
    "rest --store STORE",
    "learn --store STORE",
    "learn --forget --store STORE",
    "tune STORE --rollback",
    "eval STORE --queries examples/enterprise/requests.jsonl --out OUT",
    "datagen STORE --out OUT",
    "graph export OUT.ttl --store STORE",
    "snapshots --store STORE",
    "rollback --store STORE",
    "findings list --store STORE",
    "findings approve x --reason r --store STORE",
    "validate --store STORE",
)


@pytest.mark.parametrize("command", WITH_STORE)
def test_a_folder_that_is_no_store_is_left_as_it_is(run: Run, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "notes.md").write_text("notes", encoding="utf-8")
    words = command.replace("STORE", str(folder)).replace("OUT", str(tmp_path / "out")).split()
    code, out, err = run(*words)
    assert (code, out) == (NotFoundError.exit_code, "")
    assert f"egotools build {folder} --out egotools-store" in err and len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["documents", "notes.md"]


def test_serving_a_folder_that_is_no_store_writes_nothing_and_logs_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("notes", encoding="utf-8")
    command = [sys.executable, "-m", "services.cli", "serve", "--store", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, done.stdout) == (NotFoundError.exit_code, "")
    assert re.fullmatch(r"Error: \S+: this folder is no store: .* egotools build .*\n", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


@pytest.mark.parametrize(
    "command",
    [
        "call a/b --arguments @/dev/zero",
        "call a/b --credential k=@/dev/zero",
        "call a/b --file f=/dev/zero",
        "mcp --server 127.0.0.1:1 --ca-file /dev/zero",
        "solve --tasks /dev/zero --out OUT",
        "eval STORE --queries /dev/zero --out OUT",
        "datagen STORE --mix /dev/zero --out OUT",
    ],
)
def test_a_file_without_end_is_refused(run: Run, tmp_path: Path, command: str) -> None:
    words = command.replace("OUT", str(tmp_path / "out")).replace("STORE", str(tmp_path)).split()
    code, _, err = run(*words)
    assert code and ("/dev/zero" in err or "file" in err) and len(err.splitlines()) == 1
