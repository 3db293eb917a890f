"""The command ``egotools rest`` in its own process, and the clients in other languages against it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from services.server.server import Server
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.servers import free_port
from tests.harness.waiting import LIMIT_S, wait_until

CLIENT = ROOT / "clients" / "typescript"
GO = ROOT / "examples" / "go" / "ask.go"


@pytest.fixture(scope="module")
def url(hr_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway in a process of its own."""
    folder = tmp_path_factory.mktemp("rest")
    ready = folder / "ready.json"
    with (folder / "log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-m", "services.cli", "rest", "--server", hr_server.address, "--port", "0"]
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
            text=True,
        )
        try:
            wait_until(ready.exists, process=process)
            yield json.loads(ready.read_text(encoding="utf-8"))["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(LIMIT_S)
    said = (folder / "log").read_text(encoding="utf-8")
    assert code == 0, said
    assert "Warning" not in said


def test_it_answers_and_takes_outcomes(url: str) -> None:
    with httpx.Client(base_url=url, trust_env=False, timeout=LIMIT_S) as client:
        assert client.get("/readyz").status_code == 200
        answer = client.post("/v1/retrieve", json={"query": "create an employee", "k": 3, "explain": True})
        assert answer.status_code == 200 and len(answer.json()["tools"]) == 3
        used = {"request_id": answer.json()["request_id"], "used": [answer.json()["tools"][0]["id"]]}
        reported = client.post("/v1/outcomes", json=used)
        assert (reported.status_code, reported.json()) == (200, {})


def test_a_service_that_does_not_answer_is_warned_of(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "services.cli", "rest", "--server", f"127.0.0.1:{free_port()}", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--ready-file", str(ready)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(ready.exists, process=process)  # it serves all the same
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0 and "REST is at" in out
    assert len(err.splitlines()) == 1
    assert f"the service at {command[5]} does not answer yet: UNAVAILABLE, " in err


def _npm(*words: str, folder: Path, url: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "EGOTOOLS_URL": url}
    return subprocess.run(
        ["npm", *words], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.slow
def test_the_typescript_client_compiles_and_asks(url: str, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("no npm here")
    folder = tmp_path / "client"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "schema.d.ts"))
    installed = _npm("ci", "--prefer-offline", "--no-audit", "--no-fund", folder=folder)
    if installed.returncode:
        assert not re.search(r"EINTEGRITY|EUSAGE|ERESOLVE", installed.stderr), installed.stderr
        pytest.skip(f"npm cannot install here: {installed.stderr.strip().splitlines()[-1:]}")
    built = _npm("run", "build", folder=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    tested = _npm("test", folder=folder, url=url)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert re.search(r"pass [1-9]\d*\n.*fail 0", tested.stdout)


@pytest.mark.slow
def test_the_go_example_compiles_and_asks(url: str, tmp_path: Path) -> None:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        pytest.skip("no Go here")
    environ = {
        **os.environ,
        "GOFLAGS": "-mod=mod",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }  # its own cache stays: else net/http is compiled each time
    program = tmp_path / "ask"
    # Where the cache is empty, the standard library without optimisations and C takes less than half of the time.
    swiftly = ["-gcflags=all=-N -l", "-ldflags=-s -w"]
    built = subprocess.run(
        [go, "build", *swiftly, "-o", str(program), str(GO)], env=environ, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    asked = subprocess.run([str(program), url, "create an employee"], capture_output=True, text=True, check=False)
    assert asked.returncode == 0 and len(asked.stdout.splitlines()) >= 5, asked.stderr
    refused = subprocess.run([str(program), url, "…"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and refused.stderr.startswith("400 query")


def test_an_open_address_is_refused(run: Run) -> None:
    code, _, err = run("rest", "--server", "127.0.0.1:1", "--host", "0.0.0.0", "--port", "0")
    assert code == 2 and "--insecure" in err
