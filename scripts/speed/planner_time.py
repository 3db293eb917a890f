"""What the planner itself takes beside the tools that it calls, over the eight requests of the paper on generated data.

    python -m scripts.speed.planner_time --messages 25000 --seed 11

The tools are found over gRPC and called as ``egotools plan`` does. Each request is executed four times: the first one finds the tools, of
the others the quickest counts. Times are those of the processor, so that other programs do not count: "tools" while a call of a
tool is under way, "executor" while nothing is that the executor asked for, "reading" the rest: the choice of tools, their arguments, and the rows
of their answers.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from egotools import Tool
from egotools.calling.invoker import ToolAnswer, ToolInvoker
from planners.dfs.resolver import Entity, Resolver, Step
from planners.query.query_graph import FilterConstraint, request_set
from scripts.execution_accuracy import opened_mailbox

__all__ = ["Shares", "lines_of", "measured"]

_TIMES = 3
_HEAD = "| request | rows | tools, s | reading, s | executor, s | executor / tools |"


class BusyTime:
    """The time in which at least one of some calls is under way, however many overlap.

    :param clock: seconds, of the wall or of the processor.
    :param busy_s: seconds so far; calls that are under way count when the last of them ends.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._under_way, self._since = 0, 0.0
        self.busy_s = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call is under way in the block."""
        if not self._under_way:
            self._since = self._clock()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self.busy_s += self._clock() - self._since


class _WatchedInvoker(BusyTime):
    """Implements :class:`egotools.calling.invoker.ToolInvoker`."""

    def __init__(self, invoker: ToolInvoker) -> None:
        super().__init__(time.process_time)
        self._invoker = invoker

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        with self.call():
            return await self._invoker.invoke(tool, arguments)


class _WatchedResolver(BusyTime):
    """Implements :class:`planners.dfs.resolver.Resolver`."""

    def __init__(self, resolver: Resolver) -> None:
        super().__init__(time.process_time)
        self._resolver = resolver

    async def count(self, kind: str, filters: Sequence[FilterConstraint]) -> int | None:
        with self.call():
            return await self._resolver.count(kind, filters)

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        with self.call():
            return await self._resolver.find(kind, filters)

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        with self.call():
            return await self._resolver.follow(step, sources)


@dataclass(frozen=True, slots=True)
class Shares:
    """Processor seconds of one execution."""

    request: str
    rows: int
    tools_s: float
    reading_s: float
    executor_s: float

    @property
    def all_s(self) -> float:
        """All of them."""
        return self.tools_s + self.reading_s + self.executor_s


async def measured(folder: Path, *, messages: int, seed: int) -> list[Shares]:
    """Execute the eight requests over a new mailbox."""
    invokers: list[_WatchedInvoker] = []

    def watched(invoker: ToolInvoker) -> ToolInvoker:
        invokers.append(_WatchedInvoker(invoker))
        return invokers[0]

    found = []
    async with opened_mailbox(folder, messages=messages, seed=seed, around=watched) as mailbox:
        tools, resolver = invokers[0], _WatchedResolver(mailbox.resolver)
        gc.freeze()  # the collector of garbage does not go through the truth, which no planner holds
        for gold in (each for each in request_set("personal") if each.paper):
            runs = []
            for _ in range(1 + _TIMES):
                start, tools.busy_s, resolver.busy_s = time.process_time(), 0.0, 0.0
                execution = await replace(mailbox, resolver=resolver).execute(gold.graph)
                own_s = time.process_time() - start - resolver.busy_s
                reading_s = resolver.busy_s - tools.busy_s
                runs.append(Shares(gold.request, execution.totals.rows, tools.busy_s, reading_s, own_s))
            found.append(min(runs[1:], key=lambda each: each.all_s))
    return found


def lines_of(rows: Sequence[Shares]) -> list[str]:
    """The table, with a last row of sums."""
    sums = Shares(
        "all", *(sum(getattr(each, name) for each in rows) for name in ("rows", "tools_s", "reading_s", "executor_s"))
    )
    return [
        _HEAD,
        "|---" * _HEAD.count(" | ") + "|---|",
        *(
            f"| {each.request} | {each.rows:,} | {each.tools_s:.3f} | {each.reading_s:.3f} | {each.executor_s:.3f} | {each.executor_s / each.tools_s:.1%} |"
            for each in (*rows, sums)
        ),
    ]


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=11)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measured(Path(folder), messages=chosen.messages, seed=chosen.seed))
    print(*lines_of(rows), sep="\n")


if __name__ == "__main__":
    main()
