"""The commands of the README's "Your own tools" work in their order, on documents that are there, after ``make demo``."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from services.cli.build import DIFFERENT
from services.jobs.improve import NOT_BETTER
from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S, wait_until

README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVING = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
SECTION = README[README.index("## Your own tools") : README.index("## Ten lines of client")]


def _commands() -> list[list[str]]:
    """The words of every command line of the section, in order."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()]


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
    """Serve until Ctrl-C, and run the examples of docs/serving.md meanwhile; on a free port, as another may be taken."""
    ready = folder / "ready.json"
    at = command.index("--port") + 1
    server = subprocess.Popen(
        [*command[:at], "0", *command[at + 1 :], "--ready-file", str(ready), "--admin-port", "0"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    wait_until(ready.exists, process=server)
    said = json.loads(ready.read_text(encoding="utf-8"))
    address = said["address"]
    needs, auto_k, next_step, plan, not_older, admin = re.findall(
        r"^```python\n(.*?)^```$", SERVING, re.DOTALL | re.MULTILINE
    )
    assert all("→ hr/" in line for line in _printed(needs, address))
    assert _printed(auto_k, address) == re.findall(r"^    # (.+)$", auto_k, re.MULTILINE)
    lines = _printed(next_step, address)
    assert len(lines) == 5 and not any(line.startswith("purchasing/ReleasePurchaseOrder ") for line in lines)
    assert ["warehouse/reserveDockSlot", "goal"] in [line.split()[1:3] for line in _printed(plan, address)]
    assert _printed(not_older, address) == ["True"]
    catalog, snapshot = _printed(admin.replace("127.0.0.1:50052", said["admin_address"]), address)
    assert catalog.split() == [said["snapshot_id"], "312"] and snapshot.split() == [said["snapshot_id"], "True"]
    server.send_signal(signal.SIGINT)
    assert server.wait(LIMIT_S) in (0, 130)


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
