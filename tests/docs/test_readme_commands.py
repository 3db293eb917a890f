"""The commands of the README's "Your own tools" work in their order, on documents that are there, after ``make demo``."""

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from services.cli.build import DIFFERENT
from services.jobs.improve import NOT_BETTER
from tests.conftest import ROOT
from tests.docs.pages import blocks, page, served

SECTION = page("README.md", after="## Your own tools", before="## Ten lines of client")


def _commands() -> list[list[str]]:
    """The words of every command line of the section, in order."""
    lines = (line for body in blocks(SECTION, "bash") for line in body.splitlines() if line.strip())
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a fresh clone after ``make demo``, with the environment that runs this test."""
    for name in ("examples", "requirements"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("egotools", "python"):
        (tmp_path / ".venv" / "bin" / name).symlink_to(Path(sys.executable).parent / name)
    return tmp_path


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _serve(command: list[str], folder: Path) -> None:
    """Serve until Ctrl-C, and run the examples of docs/serving.md meanwhile."""
    with served(command[1:], folder, "--admin-port", "0") as said:
        address = said["address"]
        needs, auto_k, next_step, plan, not_older, admin = blocks(page("docs/serving.md"), "python")
        assert all("→ hr/" in line for line in _printed(needs, address))
        assert _printed(auto_k, address) == re.findall(r"^    # (.+)$", auto_k, re.MULTILINE)
        lines = _printed(next_step, address)
        assert len(lines) == 5 and not any(line.startswith("purchasing/ReleasePurchaseOrder ") for line in lines)
        assert ["warehouse/reserveDockSlot", "goal"] in [line.split()[1:3] for line in _printed(plan, address)]
        assert _printed(not_older, address) == ["True"]
        catalog, snapshot = _printed(admin.replace("127.0.0.1:50052", said["admin_address"]), address)
        assert catalog.split() == [said["snapshot_id"], "312"] and snapshot.split() == [said["snapshot_id"], "True"]


def _printed(example: str, address: str) -> list[str]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(example.replace("127.0.0.1:50051", address), {})
    return printed.getvalue().splitlines()


@pytest.mark.slow
def test_the_commands_run_in_their_order(checkout: Path) -> None:
    printed = {}
    for command in _commands():
        if command[1] == "serve":
            _serve(command, checkout)
            continue
        done = _run(command, checkout)
        allowed = {0, {"tune": NOT_BETTER, "diff": DIFFERENT}.get(command[1], 0)}
        assert done.returncode in allowed, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
        printed[shlex.join(command[1:3])] = done.stdout
    assert "searchSupplierInvoices" in printed["search 'overdue invoices of supplier Acme'"]
    assert "312 tools" in printed["build examples/enterprise/catalog"]
    assert "| default | 10 |" in printed["eval compare"]
    for name in ("report/report.html", "report-2/failures.html", "requests/queries.jsonl"):
        assert (checkout / name).stat().st_size > 0, name
