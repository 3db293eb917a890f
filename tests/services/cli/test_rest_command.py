"""The command ``egotools rest`` in its own process, and the clients in other languages against it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.server.server import Server
from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S, wait_until

CLIENT = ROOT / "clients" / "typescript"


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
