"""The programs of examples/ run as a newcomer runs them, and print what their first lines promise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"


def run(program: str, *arguments: str) -> str:
    """What the program prints; it must end with exit code 0 and write nothing to stderr."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / program), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_python_functions_become_tools_with_bindings() -> None:
    printed = run("own_tools_from_python.py")
    assert "has 4 tools" in printed
    assert "invoice_id: [].invoice_id of own_tools_from_python/list_open_invoices" in printed
    assert "customer_id: customer_id of own_tools_from_python/find_customer" in printed
    assert "name: not known" in printed


@pytest.mark.slow
def test_a_request_of_ones_own_is_built_and_searched() -> None:
    printed = run("build_and_search.py", "grant", "a spot award")
    assert "312 tools" in printed
    assert "\ngrant a spot award\n1  hr/grantSpotAward" in printed
    assert printed.count("entry nodes:") == printed.count("features:") == 5


def test_a_server_is_asked_for_tools_and_bindings(hr_store: Path) -> None:
    printed = run("ask_a_server.py", str(hr_store))
    assert "required: employeeId, awardProgramId, amount" in printed
    assert "employeeId: items[].employeeId of hr/searchEmployees" in printed
    assert "amount: not known" in printed
