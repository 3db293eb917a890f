"""The server as a process: it starts on a free port, drains on SIGTERM, and exits with code 0."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, UnavailableError

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from services.threads import pin_threads
pin_threads()
from services.server.server import run
from services.server.settings import ServerSettings
from tests.services.server.memory_engine import MemoryEngine

engine = MemoryEngine()
settings = ServerSettings.from_env()
def load():
    if settings.warm_query == "fail to load":
        from ontology.errors import SnapshotCorruptError
        raise SnapshotCorruptError("it is torn", subject="vectors.npy")
    return engine
class Later(dict):
    def get(self, stage, default):  # slow only for what comes after the warm query
        return float(sys.argv[1]) if engine.stages[2:] else default
engine.delays_s = Later()
run(load, settings)
"""


@asynccontextmanager
async def process(tmp_path: Path, delay_s: float = 0.0, **variables: str) -> AsyncIterator[tuple[Process, Path]]:
    ready = tmp_path / "ready.json"
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("EGOTOOLS_")},
        "EGOTOOLS_PORT": "0",
        "EGOTOOLS_READY_FILE": str(ready),
        "EGOTOOLS_WORKERS": "2",
        "EGOTOOLS_GRACE_S": "8",
        **variables,
    }
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(delay_s), cwd=ROOT, env=environ, stderr=PIPE, stdout=PIPE
    )
    try:
        yield started, ready
    finally:
        if started.returncode is None:
            started.kill()
            await started.communicate()


async def ready_address(started: Process, ready: Path) -> str:
    end = time.monotonic() + 20
    while not ready.exists():
        assert started.returncode is None and time.monotonic() < end, "the server never became ready"
        await asyncio.sleep(0.02)
    said = json.loads(ready.read_text(encoding="utf-8"))
    assert said["pid"] == started.pid and said["address"] == f"{said['host']}:{said['port']}" and said["port"] > 0
    return str(said["address"])


def lines(stderr: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.decode().splitlines()]


async def test_sigterm_drains_calls_in_flight_and_exits_0(tmp_path: Path) -> None:
    async with process(tmp_path, delay_s=0.4) as (started, ready):
        address = await ready_address(started, ready)
        async with AsyncClient(address) as client:
            calls = [asyncio.ensure_future(client.retrieve("planted words of a customer")) for _ in range(4)]
            await asyncio.sleep(0.2)
            started.send_signal(signal.SIGTERM)
            answers = await asyncio.gather(*calls)
            assert [len(answer.tools) for answer in answers] == [3] * 4
            _, stderr = await asyncio.wait_for(started.communicate(), 10)
            assert started.returncode == 0
            with pytest.raises(UnavailableError):
                await client.retrieve("customer", timeout_s=5)
    assert not ready.exists()
    told = lines(stderr)
    messages = [line["message"] for line in told]
    assert messages == ["threads", "listening", "serving", "stopping", *["call"] * 4, "stopped"]
    assert told[0]["OMP_NUM_THREADS"] == "1"
    assert told[1]["address"] == address
    assert b"planted" not in stderr


async def test_a_second_signal_ends_the_waiting(tmp_path: Path) -> None:
    async with process(tmp_path, delay_s=3.0, EGOTOOLS_GRACE_S="60") as (started, ready):
        async with AsyncClient(await ready_address(started, ready)) as client:
            call = asyncio.ensure_future(client.retrieve("customer", timeout_s=60))
            await asyncio.sleep(0.2)
            started.send_signal(signal.SIGINT)
            await asyncio.sleep(0.2)
            assert started.returncode is None
            started.send_signal(signal.SIGTERM)
            with pytest.raises(UnavailableError):
                await call
            await asyncio.wait_for(started.communicate(), 15)
            assert started.returncode == 0


async def test_a_snapshot_that_cannot_be_loaded_ends_the_process_with_its_error(tmp_path: Path) -> None:
    async with process(tmp_path, EGOTOOLS_WARM_QUERY="fail to load") as (started, ready):
        _, stderr = await asyncio.wait_for(started.communicate(), 20)
        assert started.returncode == 1  # a traceback here: the command maps errors to its own exit codes
        assert b"SnapshotCorruptError: vectors.npy: it is torn." in stderr
        assert not ready.exists()
