"""Replicas of a server in processes of their own, which rows stop, kill and start again on the same port."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from examples.company.shipped_documents import ENTERPRISE
from ontology.reporting import no_progress
from services.jobs.build import build
from services.jobs.plans import BuildPlan

__all__ = ["Replica", "free_port", "replicas", "row_store"]

_PREFIX = "EGOTOOLS_"
_START_S = 120.0


def row_store(folder: Path) -> Path:
    """The store that rows serve: that of ``EGOTOOLS_BENCH_STORE``, or the shipped catalogue, built in ``folder``."""
    given = os.environ.get("EGOTOOLS_BENCH_STORE", "")
    if given:
        return Path(given)
    build(BuildPlan(addresses=(str(ENTERPRISE / "catalog"),), store=folder / "store"), no_progress)
    return folder / "store"


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Replica:
    """One server process.

    :param store: what it serves.
    :param folder: for its ready file and its log.
    :param settings: environment variables without their prefix: ``GRACE_S``.
    """

    def __init__(self, store: Path, folder: Path, settings: Mapping[str, str]) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._store = store
        self._ready = folder / f"ready-{self.port}.json"
        self._log = folder / f"log-{self.port}"
        self._settings = {f"{_PREFIX}{name}": value for name, value in settings.items()}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Id of the process."""
        return json.loads(self._ready.read_text(encoding="utf-8"))["pid"]  # type: ignore[no-any-return]

    async def start(self) -> None:
        """Start the process, and return when it serves."""
        self._ready.unlink(missing_ok=True)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}
        command = [sys.executable, "-m", "services.cli", "serve", "--store", str(self._store)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port), "--ready-file", str(self._ready)],
                env=environ | self._settings,
                stdout=log,
                stderr=log,
            )
        async with asyncio.timeout(_START_S):
            while not self._ready.exists():
                if self._process.poll() is not None:
                    raise RuntimeError(f"the server ended: {self._log.read_text(encoding='utf-8')[-2_000:]}")
                await asyncio.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    async def ended(self) -> int:
        """Wait for the end of the process, and return its exit code; -1 where none was started."""
        return -1 if self._process is None else await asyncio.to_thread(self._process.wait)

    def logged(self, text: str) -> int:
        """Number of lines of its log that have ``text``."""
        return sum(text in line for line in self._log.read_text(encoding="utf-8").splitlines())

    async def stop(self) -> None:
        """Kill the process where it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            await self.ended()


@asynccontextmanager
async def replicas(folder: Path, count: int, **settings: str) -> AsyncIterator[list[Replica]]:
    """Start so many replicas over one store; kill them at the end."""
    store = await asyncio.to_thread(row_store, folder)
    started = [Replica(store, folder, settings) for _ in range(count)]
    try:
        for replica in started:
            await replica.start()
        yield started
    finally:
        for replica in started:
            await replica.stop()
