"""Replicas that are restarted, killed, stopped and added under callers with the shipped client."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from scripts.reliability.callers import calling
from scripts.reliability.replica import Replica, replicas
from scripts.reliability.row import Figure, Row

__all__ = ["ROWS"]

_STOPPED_S, _MOST_STALL_S = 8.0, 3.0
_AGE_S = 10.0


def _row(measure: Callable[[Path], Awaitable[Figure]]) -> Callable[[Path], Figure]:
    return lambda folder: asyncio.run(measure(folder))  # type: ignore[arg-type]


async def _restarts(folder: Path, count: int) -> Figure:
    async with replicas(folder, 2, GRACE_S="30") as started, calling([each.address for each in started], 32) as met:
        codes, slowest = Counter[int](), 0.0
        for number in range(count):
            replica = started[number % 2]
            replica.send(signal.SIGTERM)
            begun = time.monotonic()
            codes[await replica.ended()] += 1
            slowest = max(slowest, time.monotonic() - begun)
            await replica.start()
            await asyncio.sleep(1.0)
    text = f"{codes[0]} of {count} restarts ended with exit code 0, in {slowest:.1f} s at most; {met.text}"
    return Figure(text=text, held=codes[0] == count and slowest <= 30 and not met.errors)


async def _kills(folder: Path, count: int) -> Figure:
    async with replicas(folder, 2) as started, calling([each.address for each in started], 8) as met:
        for number in range(count):
            replica = started[number % 2]
            replica.send(signal.SIGKILL)
            await replica.ended()
            await asyncio.sleep(0.5)
            await replica.start()
            await asyncio.sleep(1.0)
    return Figure(text=f"{count} kills: {met.text}", held=not met.errors)


async def _stopped(folder: Path) -> Figure:
    async with replicas(folder, 2) as started, calling([each.address for each in started], 6) as met:
        met.seconds.clear()
        started[0].send(signal.SIGSTOP)
        await asyncio.sleep(_STOPPED_S)
        started[0].send(signal.SIGCONT)
    worst = max(met.seconds)
    return Figure(text=f"stopped for {_STOPPED_S:.0f} s: {met.text}", held=not met.errors and worst <= _MOST_STALL_S)


async def _scaled(folder: Path) -> Figure:
    """Callers know three addresses, of which one listens only later."""
    async with replicas(folder, 3, MAX_CONNECTION_AGE_S=str(_AGE_S)) as started:
        late = started[2]
        late.send(signal.SIGTERM)
        await late.ended()
        async with calling([each.address for each in started], 8) as met:
            await late.start()
            await asyncio.sleep(_AGE_S)
            before = [_answered(each) for each in started]
            await asyncio.sleep(_AGE_S)
            counts = [_answered(each) - count for each, count in zip(started, before, strict=True)]
    shares = [count / max(1, sum(counts)) for count in counts]
    text = (
        f"shares {', '.join(f'{share:.0%}' for share in shares)} after one connection age of {_AGE_S:.0f} s; {met.text}"
    )
    return Figure(text=text, held=all(0.23 <= share <= 0.43 for share in shares) and not met.errors)


def _answered(replica: Replica) -> int:
    """How many calls a replica has logged."""
    return replica.logged('"message": "call"')


ROWS = [
    Row(
        key="restarts",
        item="SIGTERM to one of two replicas in turn, 32 busy callers with the shipped client",
        bar="0 client errors, exit code 0 within 30 s, 50 restarts",
        measure=_row(partial(_restarts, count=50)),
        fast=False,
    ),
    Row(
        key="kill-replica",
        item="SIGKILL to one of two replicas in turn, 8 callers with the shipped client",
        bar="0 client errors, 10 kills",
        measure=_row(partial(_kills, count=10)),
        fast=False,
    ),
    Row(
        key="stopped-replica",
        item="One of two replicas is stopped (SIGSTOP) for 8 s",
        bar="0 client errors, no call longer than 3 s",
        measure=_row(_stopped),
    ),
    Row(
        key="third-replica",
        item="A third replica beside two, connections of 10 s at most",
        bar="each has 33 % ± 10 of the calls within one connection age",
        measure=_row(_scaled),
        fast=False,
    ),
]
