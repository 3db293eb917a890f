"""A fleet of three nodes of Ray under callers: its actors, a node, a link and the head are lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which

from egotools import AsyncClient, ClientError
from scripts.reliability.callers import QUERY, calling
from scripts.reliability.ray_nodes import RayNode, namespaces, ray_nodes
from scripts.reliability.replica import row_store
from scripts.reliability.row import Figure, Row

__all__ = ["ROWS", "Fleet", "fleet"]

_PORT = 50_061
_CALLERS = 4
_WAIT_S = 240.0
_CUT_S, _HEADLESS_S = 30.0, 75.0
_SETTLED_S = 15.0
_MOST_STALL_S = 5.0  # a client leaves a connection that answers no ping for 2.5 s, and may wait for two of them


@dataclass
class Fleet:
    """Three nodes, and the command that serves on them.

    :param ready: its ready file.
    """

    nodes: list[RayNode]
    ready: Path

    @property
    def addresses(self) -> list[str]:
        """``host:port`` of the server of each node."""
        return [f"{node.address}:{_PORT}" for node in self.nodes]

    def pids(self) -> dict[str, int]:
        """Address → process of the servers that the command names."""
        with suppress(OSError):
            return {
                each["address"]: each["pid"] for each in json.loads(self.ready.read_text(encoding="utf-8"))["nodes"]
            }
        return {}

    async def answers(self, number: int) -> bool:
        """Whether the server of one node answers, asked alone and without a second attempt."""
        options = [("grpc.enable_retries", 0)]
        async with AsyncClient(f"ipv4:{self.addresses[number]}", options=options) as client:
            try:
                await client.retrieve(QUERY, k=5, timeout_s=3.0)
            except ClientError:
                return False
            return True

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> float:
        """Wait until something holds; return the seconds.

        :raises TimeoutError: when it does not.
        """
        started = time.monotonic()
        async with asyncio.timeout(_WAIT_S):
            while not await holds():
                await asyncio.sleep(0.2)
        return time.monotonic() - started

    async def until_named(self, addresses: Sequence[str]) -> float:
        """Wait until the command names exactly these servers; return the seconds."""

        async def named() -> bool:
            return sorted(self.pids()) == sorted(addresses)

        return await self.until(named)


@asynccontextmanager
async def fleet(folder: Path, names: Sequence[str]) -> AsyncIterator[Fleet]:
    """Serve the rows' store on three nodes.

    :param names: of their network namespaces; none for loopback addresses.
    """
    store = await asyncio.to_thread(row_store, folder)
    ready = folder / "ready.json"
    addresses = [f"10.77.0.{number}" if names else f"127.0.0.{number + 1}" for number in (1, 2, 3)]
    options = ["--store", str(store), "--port", str(_PORT), "--ready-file", str(ready), "--insecure"]
    with ray_nodes(addresses, names) as nodes, (folder / "log").open("wb") as log:
        command = [*nodes[0].prefix, sys.executable, "-m", "services.cli", "serve", "--on", "ray", *options]
        serving = subprocess.Popen(command, env=nodes[0].environ, stdout=log, stderr=log)
        started = Fleet(nodes, ready)
        try:
            await started.until_named(started.addresses)
            yield started
        finally:
            serving.send_signal(signal.SIGTERM)
            try:
                await asyncio.to_thread(serving.wait, 60)
            except subprocess.TimeoutExpired:
                serving.kill()


async def _actors_killed(started: Fleet, count: int) -> Figure:
    slowest = 0.0
    async with calling(started.addresses, _CALLERS) as met:
        for number in range(count):
            address = started.addresses[number % 3]
            before = started.pids()[address]
            os.kill(_parent(before), signal.SIGKILL)

            async def replaced(address: str = address, before: int = before) -> bool:
                return started.pids().get(address, before) != before

            slowest = max(slowest, await started.until(replaced))
    text = f"{count} kills, each followed by another server on the same address, in {slowest:.1f} s at most; {met.text}"
    return Figure(text=text, held=not met.errors)


def _parent(pid: int) -> int:
    """The process that started another: the actor of a server."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


async def _node_killed(started: Fleet) -> Figure:
    async with calling(started.addresses, _CALLERS) as met:
        lost = started.nodes[2]
        lost.kill()
        gone_s = await started.until_named(started.addresses[:2])
        answered = await started.answers(2)
        await asyncio.to_thread(lost.start)
        back_s = await started.until_named(started.addresses)
        again = await started.answers(2)
    text = (
        f"dropped after {gone_s:.0f} s, {'STILL ANSWERED' if answered else 'did not answer'}; started again, "
        f"{'served' if again else 'DID NOT SERVE'} {back_s:.0f} s later; {met.text}"
    )
    return Figure(text=text, held=again and not answered and not met.errors)


async def _link_cut(started: Fleet) -> Figure:
    link = f"egov{len(started.nodes)}"
    async with calling(started.addresses, _CALLERS) as met:
        cut = time.monotonic()
        _set_link(link, "down")
        reached = [await started.answers(2)]
        before = len(met.seconds)
        await asyncio.sleep(_CUT_S - 6)
        reached.append(await started.answers(2))
        others = len(met.seconds) - before
        await asyncio.sleep(max(0.0, cut + _CUT_S - time.monotonic()))
        _set_link(link, "up")
        cut_s = time.monotonic() - cut
        back_s = await started.until(partial(started.answers, 2))
        await asyncio.sleep(_SETTLED_S)
        stayed = await started.answers(2) and started.addresses[2] in started.pids()
        if not stayed:  # Ray had given the node up, and ended it; whoever runs its nodes starts it again
            await asyncio.to_thread(started.nodes[2].start)
            await started.until(partial(started.answers, 2))
            await started.until_named(started.addresses)
    text = (
        f"cut for {cut_s:.0f} s: asked alone it answered {sum(reached)} of {len(reached)} times, the other two {others:,} calls; "
        f"it answered {back_s:.1f} s after the link was back, and {_SETTLED_S:.0f} s later {'still' if stayed else 'when it was started again'}; "
        f"{met.text}"
    )
    held = not any(reached) and others > 0 and not met.errors and max(met.seconds) <= _MOST_STALL_S
    return Figure(text=text, held=held)


def _set_link(link: str, state: str) -> None:
    subprocess.run(["ip", "link", "set", link, state], check=True)


async def _head_killed(started: Fleet) -> Figure:
    head = started.nodes[0]
    async with calling(started.addresses, _CALLERS) as met:
        killed = time.monotonic()
        head.kill_head()
        await asyncio.sleep(_HEADLESS_S)
        os.kill(started.pids()[started.addresses[1]], signal.SIGKILL)  # its actor needs no head to start it again
        again_s = await started.until(partial(started.answers, 1))
        answering = [await started.answers(number) for number in range(3)]
        headless_s = time.monotonic() - killed
        heads = len(head.head_processes())
    text = (
        f"{headless_s:.0f} s with {heads} heads: {sum(answering)} of 3 nodes answer, a server that was killed after "
        f"{_HEADLESS_S:.0f} s answered again {again_s:.1f} s later; {met.text}"
    )
    return Figure(text=text, held=all(answering) and not heads and headless_s > 70 and not met.errors)


def _row(measure: Callable[[Fleet], Awaitable[Figure]], *, needs_link: bool = False) -> Callable[[Path], Figure]:
    async def measured(folder: Path, names: Sequence[str]) -> Figure:
        async with fleet(folder, names) as started:
            figure = await measure(started)
        place = "" if names else " (three loopback addresses, no network namespaces)"
        return Figure(text=figure.text + place, held=figure.held)

    def run(folder: Path) -> Figure:
        if os.geteuid() == 0 and which("ip"):
            with namespaces(3) as names:
                return asyncio.run(measured(folder, names))
        if needs_link:
            return Figure(text="not measured: a link is cut only as root and with iproute2", held=False)
        return asyncio.run(measured(folder, ()))

    return run


ROWS = [
    Row(
        key="ray-actors",
        item="SIGKILL to the actors of a fleet of three nodes in turn, 4 callers with the shipped client",
        bar="0 client errors, another server on the same address each time, 10 kills",
        measure=_row(partial(_actors_killed, count=10)),
        fast=False,
    ),
    Row(
        key="ray-node",
        item="All processes of one of three nodes are killed; later it is started again",
        bar="0 client errors, the node is named no more, and serves again",
        measure=_row(_node_killed),
        fast=False,
    ),
    Row(
        key="ray-link",
        item="The link of one of three nodes is cut for 30 s",
        bar="0 client errors, no call longer than 5 s; while it is cut the node answers nobody, the others do",
        measure=_row(_link_cut, needs_link=True),
        fast=False,
    ),
    Row(
        key="ray-head",
        item="The head of three nodes is killed for more than 70 s, and then a server too",
        bar="0 client errors, all three nodes answer without a head",
        measure=_row(_head_killed),
        fast=False,
    ),
]
