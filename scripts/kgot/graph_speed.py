"""Ratios of the task graph's parts at the paper's largest graph, 522 nodes: stores, bookkeeping, journal, sandbox, equal calls."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path
from statistics import median

from planners.calls.sandbox import Sandbox
from planners.journal.recorded import request_key
from planners.journal.run_journal import open_run_journal
from planners.kgot.kgot_task import GraphChanged
from planners.stores import open_graph
from planners.stores.property_graph import (
    MergeEdge,
    MergeNode,
    NodeRef,
    Operation,
    PropertyGraph,
    ReplaceGraph,
    state_text,
)
from scripts.account.ratio import Ratio, seconds_of

__all__ = ["NODES", "graph_ratios", "journal_ratio", "sandbox_ratio", "task_operations"]

NODES = 522
"""Of the paper's largest task graph."""
_STEP = 75
"""Nodes that a step adds: 522 in seven iterations."""
_ROUNDS = 7
_STEPS = 10_000


def task_operations(first: int, count: int) -> list[Operation]:
    """Return writes of so many nodes and edges, as a step of a run makes them."""
    found: list[Operation] = []
    for number in range(first, first + count):
        node = NodeRef(label="Item", key={"number": number})
        name = f'item {number}, with "quotes" and a \\ backslash'
        found.append(MergeNode(node=node, properties={"name": name, "price": number / 4, "open": number % 2 == 0}))
        if number:
            before = NodeRef(label="Item", key={"number": number - 1})
            found.append(MergeEdge(type="NEXT", source=before, target=node))
    return found


async def graph_ratios(folder: Path) -> list[Ratio]:
    """Measure the bookkeeping of a step at 522 nodes beside its writes, in the store in memory."""
    sandbox = Sandbox()
    await sandbox.check()
    async with open_graph("memory", sandbox) as graph:
        await graph.apply(task_operations(0, NODES - _STEP))
        begun, writes = ReplaceGraph(state=await graph.state()), []
        for _ in range(_ROUNDS):
            await graph.apply([begun])
            writes.append(await seconds_of(partial(graph.apply, task_operations(NODES - _STEP, _STEP))))
        kept = await _bookkeeping(graph, folder / "memory.jsonl")
    return [Ratio(name="bookkeeping of a step / writes of the store", above=kept, below=median(writes), most=1.0)]


async def _bookkeeping(graph: PropertyGraph, path: Path) -> float:
    times = []
    with open_run_journal(path) as journal:
        for nth in range(_ROUNDS):
            started = time.perf_counter()
            state = await graph.state()
            state_text(state)
            body = GraphChanged(iteration=nth, state=state).to_json()
            body["state"] = request_key(body["state"])
            journal.append("event", nth=nth, what=body)
            times.append(time.perf_counter() - started)
    return median(times)


async def sandbox_ratio() -> Ratio:
    """Compare the start of the sandbox with that of bare Python."""
    sandbox = Sandbox()
    await sandbox.check()
    inside, bare = [], []
    for _ in range(_ROUNDS):
        inside.append(await seconds_of(lambda: sandbox.run("print(1)")))
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "print(1)"], check=True, capture_output=True)
        bare.append(time.perf_counter() - started)
    return Ratio(name="start of the sandbox / bare Python", above=median(inside), below=median(bare), most=5.0)


def journal_ratio(folder: Path) -> Ratio:
    """Compare the memory that a journal holds after 10,000 steps with that after 1,000."""
    held: dict[int, int] = {}
    tracemalloc.start()
    try:
        with open_run_journal(folder / "long.jsonl") as journal:
            for step in range(1, _STEPS + 1):
                journal.append(
                    "event", nth=step, what={"event": "Missing", "iteration": step, "text": "what is missing"}
                )
                if step in (_STEPS // 10, _STEPS):
                    held[step] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    note = "bytes of Python objects, 1,000 and 10,000 records"
    return Ratio(
        name="journal of 10,000 steps / of 1,000, memory",
        above=held[_STEPS],
        below=held[_STEPS // 10],
        most=1.1,
        note=note,
    )
