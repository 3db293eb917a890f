"""The server as a process: it starts on a free port, drains on SIGTERM, and exits with code 0."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, UnavailableError
from tests.harness.waiting import LIMIT_S, until

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from pathlib import Path
from services.threads import pin_threads
pin_threads()
from services.server.process import run
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.harness.engines import small_engine
from tests.harness.waiting import wait_until

folder = Path(sys.argv[1])
engine = small_engine()
settings = ServerSettings.from_env()
def hook(request):  # what comes after the warm query lasts until it is released
    if engine.answered:
        with open(folder / "running", "a") as running:
            running.write("x")
        wait_until((folder / "released").exists)
engine.hook = hook
run(lambda: Server(settings), lambda server: server.load(lambda: engine), settings)
"""


@asynccontextmanager
async def process(tmp_path: Path, **variables: str) -> AsyncIterator[tuple[Process, Path]]:
    ready = tmp_path / "ready.json"
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("EGOTOOLS_")},
        "EGOTOOLS_PORT": "0",
        "EGOTOOLS_READY_FILE": str(ready),
        "EGOTOOLS_WORKERS": "4",
        "EGOTOOLS_GRACE_S": "600",
        **variables,
    }
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(tmp_path), cwd=ROOT, env=environ, stderr=PIPE, stdout=PIPE
    )
    try:
        yield started, ready
    finally:
        if started.returncode is None:
            started.kill()
            await started.communicate()


async def logged(started: Process, message: str) -> list[dict[str, Any]]:
    """The lines of the log up to the one with this message."""
    assert started.stderr is not None
    found: list[dict[str, Any]] = []
    while not found or found[-1]["message"] != message:
        found.append(json.loads(await asyncio.wait_for(started.stderr.readline(), LIMIT_S)))
    return found


async def test_sigterm_drains_calls_in_flight_and_exits_0(tmp_path: Path) -> None:
    async with process(tmp_path) as (started, ready):
        await until(lambda: ready.exists() or started.returncode is not None)
        said = json.loads(ready.read_text(encoding="utf-8"))
        address = said["address"]
        assert said["pid"] == started.pid and address == f"{said['host']}:{said['port']}" and said["port"] > 0
        started.send_signal(signal.SIGHUP)
        told = await logged(started, "reloading")
        async with AsyncClient(address) as client:
            calls = [
                asyncio.ensure_future(client.retrieve("planted words of a customer", timeout_s=LIMIT_S))
                for _ in range(4)
            ]
            marks = tmp_path / "running"  # of the calls that are in the engine
            await until(lambda: marks.exists() and len(marks.read_text(encoding="utf-8")) == 4)
            started.send_signal(signal.SIGTERM)
            told += await logged(started, "stopping")
            assert not any(call.done() for call in calls)
            (tmp_path / "released").touch()
            answers = await asyncio.gather(*calls)
            assert [len(answer.tools) for answer in answers] == [3] * 4
            _, stderr = await asyncio.wait_for(started.communicate(), LIMIT_S)
            assert started.returncode == 0
            with pytest.raises(UnavailableError):
                await client.retrieve("customer", timeout_s=5)
    assert not ready.exists()
    told += map(json.loads, stderr.decode().splitlines())
    messages = [line["message"] for line in told]
    assert messages == ["threads", "listening", "loaded", "serving", "reloading", "stopping", *["call"] * 4, "stopped"]
    assert told[0]["OMP_NUM_THREADS"] == "1"
    assert told[1]["address"] == address
    assert "planted" not in json.dumps(told)
