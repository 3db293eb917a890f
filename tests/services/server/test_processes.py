"""Several processes on one port: all answer, a killed one comes back, signals reach all, nothing is left behind."""

from __future__ import annotations

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

from egotools import AsyncClient
from tests.harness.waiting import LIMIT_S, until

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from services.threads import pin_threads
pin_threads()
from services.cli.console import show_error
from services.server.processes import serve_in_processes
from services.server.process import run
from services.server.settings import ServerSettings
from ontology.errors import EgotoolsError, SnapshotCorruptError
from tests.services.server.memory_engine import MemoryEngine

settings = ServerSettings.from_env()
engine = MemoryEngine()
def load():
    if sys.argv[1] == "fail":
        raise SnapshotCorruptError("it cannot be loaded")
    return engine
try:
    serve_in_processes(lambda own, beat: run(load, own, beat), settings)
except EgotoolsError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@asynccontextmanager
async def group(
    tmp_path: Path, how: str = "serve", *, program: str = PROGRAM, **variables: str
) -> AsyncIterator[tuple[Process, Path]]:
    ready = tmp_path / "ready.json"
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("EGOTOOLS_")},
        "EGOTOOLS_PORT": "0",
        "EGOTOOLS_READY_FILE": str(ready),
        "EGOTOOLS_PROCESSES": "2",
        "EGOTOOLS_DRAIN_S": "0.1",
        **variables,
    }
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, how, cwd=ROOT, env=environ, stderr=PIPE, stdout=PIPE
    )
    try:
        yield started, ready
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


async def ready_group(started: Process, ready: Path) -> dict[str, Any]:
    await until(lambda: ready.exists() or started.returncode is not None)
    said: dict[str, Any] = json.loads(ready.read_text(encoding="utf-8"))
    assert said["pid"] == started.pid and len(set(said["processes"]) - {started.pid}) == 2
    return said


def alive(pid: int) -> bool:
    try:
        return f"{pid} (" in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def connections(address: str) -> list[AsyncClient]:
    """Clients with a connection each: the kernel spreads connections, not calls."""
    return [AsyncClient(address, options=[("grpc.use_local_subchannel_pool", 1)]) for _ in range(16)]


async def test_both_processes_answer_and_a_signal_ends_both(tmp_path: Path) -> None:
    async with group(tmp_path) as (started, ready):
        said = await ready_group(started, ready)
        for client in connections(said["address"]):
            async with client:
                assert (await client.retrieve("order paper", timeout_s=LIMIT_S)).tools
        started.send_signal(signal.SIGTERM)
        _, log = await asyncio.wait_for(started.communicate(), LIMIT_S)
        assert started.returncode == 0
        answered = [json.loads(line).get("pid") for line in log.splitlines() if b'"threads"' in line]
        assert sorted(answered) == sorted(said["processes"])
        assert not ready.exists() and not any(map(alive, said["processes"]))


async def test_a_killed_process_is_started_again_and_no_call_fails(tmp_path: Path) -> None:
    async with group(tmp_path) as (started, ready):
        said = await ready_group(started, ready)
        clients = connections(said["address"])
        for client in clients:
            await client.retrieve("order paper", timeout_s=LIMIT_S)
        os.kill(said["processes"][0], signal.SIGKILL)
        for _ in range(5):
            for client in clients:
                assert (await client.retrieve("order paper", timeout_s=LIMIT_S)).tools
        assert started.returncode is None
        for client in clients:
            await client.close()


async def test_a_process_that_cannot_start_ends_the_server_with_a_reason(tmp_path: Path) -> None:
    async with group(tmp_path, "fail") as (started, ready):
        _, log = await asyncio.wait_for(started.communicate(), LIMIT_S)
        assert started.returncode == 14 and not ready.exists()
        assert b"a process of the server did not start" in log and b"it cannot be loaded" in log
