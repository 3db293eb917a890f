"""What the rows share: a row and its figure, servers in processes of their own, and callers with the shipped client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.command import ROOT
from egotools import AsyncClient, ClientError
from ontology.reporting import no_progress
from services.jobs.build import build
from services.jobs.plans import BuildPlan
from tests.harness.servers import free_port

QUERY = "overdue invoices of a supplier"
_TIMEOUT_S = 20.0
_PAUSE_S = 0.1
_OWN = (("grpc.use_local_subchannel_pool", 1),)  # each client has connections of its own
_PREFIX = "EGOTOOLS_"
_START_S = 120.0


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured: the figure with its unit and what was counted, and whether it is within the bar."""

    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One promise, measured.

    :param key: short name, unique: ``kill-publish``.
    :param item: what is promised, one sentence.
    :param bar: the figure to hold.
    :param measure: measures it in an empty folder of its own.
    :param fast: whether it takes less than about 30 s.
    """

    key: str
    item: str
    bar: str
    measure: Callable[[Path], Figure]
    fast: bool = False


def asked_for(measure: Callable[[Path], Coroutine[None, None, Figure]]) -> Callable[[Path], Figure]:
    """The measure of a row from a coroutine."""
    return lambda folder: asyncio.run(measure(folder))


def row_store(folder: Path) -> Path:
    """The store that rows serve: the shipped catalogue, built in ``folder``."""
    build(
        BuildPlan(addresses=(str(ROOT / "examples" / "enterprise" / "catalog"),), store=folder / "store"), no_progress
    )
    return folder / "store"


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


def rss_mb(pid: int) -> float:
    """Resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Callers:
    """What callers met: the seconds of each answer, and the kinds of errors."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    ended: bool = False

    async def ask(self, client: AsyncClient) -> None:
        """Ask again and again, until ``ended``."""
        while not self.ended:
            started = time.monotonic()
            try:
                await client.retrieve(QUERY, k=5, timeout_s=_TIMEOUT_S)
            except ClientError as error:
                self.errors[f"{error.code}: {error.message}"] += 1
            self.seconds.append(time.monotonic() - started)
            await asyncio.sleep(_PAUSE_S)

    @property
    def text(self) -> str:
        """The figure of a row."""
        worst = f", the slowest {max(self.seconds):.1f} s" if self.seconds else ""
        failed = "; ".join(f"{count} × {kind}" for kind, count in self.errors.items())
        return f"{sum(self.errors.values())} errors of {len(self.seconds):,} calls{worst}{f' ({failed})' if failed else ''}"


@asynccontextmanager
async def calling(addresses: Sequence[str], callers: int) -> AsyncIterator[Callers]:
    """So many callers of these addresses, while the block runs and a second before and after."""
    met = Callers()
    clients = [AsyncClient(f"ipv4:{','.join(addresses)}", options=_OWN) for _ in range(callers)]
    tasks = [asyncio.ensure_future(met.ask(client)) for client in clients]
    await asyncio.sleep(1.0)
    try:
        yield met
        await asyncio.sleep(1.0)
    finally:
        met.ended = True
        await asyncio.gather(*tasks)
        for client in clients:
            await client.close()
