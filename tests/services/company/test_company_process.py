"""The command: it says where it listens, answers, ends at SIGTERM; the same seed gives the same bytes in every process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT
from tests.harness.company import CATALOG
from tests.harness.waiting import wait_until

READS = [
    "procurement/suppliers?q=",
    "hr/employees?query=&pageSize=200",
    "finance/supplier-invoices",
    "sales/sales-orders",
    "warehouse/stock/SP-10432",
    "travel/trips",
    "facilities/rooms?from=2026-12-01T08:00:00Z&to=2026-12-01T09:00:00Z",
    "travel/hotels?city=Lisbon&checkIn=2026-12-01&checkOut=2026-12-03",
]


def served(folder: Path, *, seed: int, hash_seed: str) -> tuple[list[bytes], dict[str, Any], int]:
    """Answers of a process, what it wrote when it was ready, and its exit code after SIGTERM."""
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "services.cli", "demo", "company", "--port", "0", "--catalog", str(CATALOG)]
    options = ["--data", str(folder / "data"), "--seed", str(seed), "--ready-file", str(ready)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            wait_until(ready.exists, process=process)
            said = json.loads(ready.read_text(encoding="utf-8"))
            with httpx.Client(timeout=60) as client:
                made = client.post(f"{said['url']}/travel/trips", json=TRIP).content
                answers = [made, *(client.get(f"{said['url']}/{path}").content for path in READS)]
            process.send_signal(signal.SIGTERM)
            assert process.stdout is not None
            output = process.stdout.read()
        finally:
            process.terminate()
    assert "165 operations at http://127.0.0.1:" in output
    return answers, said, process.returncode


TRIP = {
    "employeeId": "E10483",
    "destination": "Oslo",
    "purpose": "audit",
    "startDate": "2026-12-01",
    "endDate": "2026-12-02",
}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    runs = {}
    for name, seed, hash_seed in (("a", 1, "1"), ("b", 1, "2"), ("c", 2, "1")):
        (tmp_path / name).mkdir()
        runs[name] = served(tmp_path / name, seed=seed, hash_seed=hash_seed)
    assert runs["a"][0] == runs["b"][0]
    assert runs["a"][0] != runs["c"][0]
    assert {code for _, _, code in runs.values()} <= {0, -signal.SIGTERM}
    assert set(runs["a"][1]["systems"]) == {
        "facilities",
        "finance",
        "hr",
        "procurement",
        "sales",
        "travel",
        "warehouse",
    }


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--catalog", "nowhere"], "no OpenAPI document"),
        (["--host", "nowhere.invalid"], "cannot listen"),
    ],
)
def test_a_wrong_option_is_a_named_error(tmp_path: Path, options: list[str], problem: str) -> None:
    command = [
        sys.executable,
        "-m",
        "services.cli",
        "demo",
        "company",
        "--data",
        str(tmp_path),
        "--port",
        "0",
        *options,
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2
    assert problem in " ".join(ended.stderr.split())
