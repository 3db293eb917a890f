"""Ratios of whole runs, with simulated latency of models and tools: own time, calls at once, workers of a batch."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from egotools import Tool
from egotools.calling.invoker import ToolAnswer
from inference.chat import GREEDY, Completion, Message, Sample
from planners.calls.sandbox import Sandbox
from planners.calls.tool_finder import FoundTool, FoundTools
from planners.kgot.batch import BatchTask, TaskResult, run_batch
from planners.kgot.kgot_controller import KgotRun, solve_task
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask
from planners.kgot.steps import LlmSteps
from planners.stores import open_graph
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import PropertyGraph
from scripts.account.ratio import Ratio
from scripts.kgot.graph_speed import NODES, task_operations

__all__ = ["run_ratios"]

MODEL_S, TOOL_S = 0.5, 0.2
_CALLS = 10
_TASKS = 16
_WORKERS = 8
_TOOL = Tool(id="shop/price", name="price", title="price", description="Tells the price of an item.", namespace="shop")
_CYPHER = (
    "MATCH (p:Price) RETURN p.amount AS amount",
    {"nodes": [{"label": "Price", "key": {"number": 1}, "properties": {"amount": 5}}], "edges": []},
)
_PYTHON = (
    "result = [each['amount'] for _, each in G.nodes(data=True) if each['label'] == 'Price']",
    {"nodes": [{"label": "Price", "key": {"number": 1}, "properties": {"amount": 5}}], "edges": []},
)
"""A query of the graph, and the writes before it."""


class _Busy:
    """Counts the time in which at least one call is under way."""

    def __init__(self) -> None:
        self._under_way = 0
        self._since = 0.0
        self.seconds = 0.0

    def begin(self) -> None:
        self._since = time.perf_counter() if not self._under_way else self._since
        self._under_way += 1

    def end(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self.seconds += time.perf_counter() - self._since


class _SlowModel:
    """Implements :class:`inference.chat.ChatModel`: enlarges the graph once by some calls, then asks it."""

    name = "slow.v1"

    def __init__(self, calls: int, busy: _Busy, latency_s: float, loop: asyncio.AbstractEventLoop) -> None:
        self._calls = calls
        self._busy = busy
        self._latency_s = latency_s
        self._loop = loop

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        self._loop.call_soon_threadsafe(self._busy.begin)
        time.sleep(self._latency_s)
        text = json.dumps(self._answer(schema_name, messages))
        self._loop.call_soon_threadsafe(self._busy.end)
        return Completion(text=text, prompt_tokens=1, completion_tokens=1)

    def _answer(self, name: str, messages: Sequence[Message]) -> dict[str, Any]:
        done = "shop/price {" in messages[1].content
        calls = [{"tool": _TOOL.id, "arguments": {"number": number}} for number in range(self._calls)]
        query, writes = _PYTHON if "Cypher" not in messages[0].content else _CYPHER
        answers: dict[str, dict[str, Any]] = {
            "next_step": {"query_type": "RETRIEVE", "content": query}
            if done
            else {"query_type": "INSERT", "content": "the price"},
            "merge_reasons": {"missing": "the price"},
            "tool_calls": {"calls": calls},
            "write_graph": writes,
            "maths_needed": {"needed": False},
            "final_answer": {"answer": "5"},
        }
        return answers[name]


class _Finder:
    async def find(self, request: str) -> FoundTools:
        tool = FoundTool(rank=1, score=1.0, explanation="", tool=_TOOL)
        return FoundTools(request=request, tools=(tool,), snapshot_id="simulated")


class _SlowTool:
    """Implements :class:`egotools.calling.invoker.ToolInvoker`.

    :ivar calling_s: from the begin of the first call to the end of the last.
    """

    def __init__(self, busy: _Busy) -> None:
        self._busy = busy
        self._began = 0.0
        self.calling_s = 0.0

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self._began = self._began or time.perf_counter()
        self._busy.begin()
        await asyncio.sleep(TOOL_S)
        self._busy.end()
        self.calling_s = time.perf_counter() - self._began
        return ToolAnswer(ok=True, status="ok", body={"amount": 5})


async def _run(graph: PropertyGraph, sandbox: Sandbox, busy: _Busy, calls: int) -> tuple[KgotRun, _SlowTool]:
    settings = KgotSettings(max_calls_per_step=_CALLS)
    model = _SlowModel(calls, busy, MODEL_S, asyncio.get_running_loop())
    tool = _SlowTool(busy)
    steps = LlmSteps(model, model, settings=settings, language=graph.language)
    task = KgotTask(question="What does item 1 cost?")
    run = await solve_task(task, graph, steps, _Finder(), tool, sandbox, settings=settings)
    if run.answer != "5":
        raise RuntimeError(f"the simulated run ended with {run.outcome}: {run.answer!r} {run.missing}")
    return run, tool


async def run_ratios() -> list[Ratio]:
    """Measure the three ratios."""
    sandbox = Sandbox()
    await sandbox.check()
    await _run(MemoryGraph(sandbox), sandbox, _Busy(), calls=1)  # imports
    busy = _Busy()
    async with open_graph("memory", sandbox) as graph:
        await graph.apply(task_operations(0, NODES))
        started = time.perf_counter()
        await _run(graph, sandbox, busy, calls=1)
        own = (
            time.perf_counter() - started - busy.seconds
        )  # the isolated Python of a query is no child whose processor time is told
    one = (await _run(MemoryGraph(sandbox), sandbox, _Busy(), calls=1))[1].calling_s
    ten = (await _run(MemoryGraph(sandbox), sandbox, _Busy(), calls=_CALLS))[1].calling_s
    alone, together = [await _batch(sandbox, workers) for workers in (1, _WORKERS)]
    latency = f"simulated: {MODEL_S:g} s a model call, {TOOL_S:g} s a tool call"
    return [
        Ratio(
            name="time beside models and tools, the store's included / model and tool time",
            above=own,
            below=busy.seconds,
            most=0.05,
            note=latency,
        ),
        Ratio(name=f"{_CALLS} calls of a step / one", above=ten, below=one, most=1.5, note=latency),
        Ratio(
            name=f"a batch of {_TASKS} tasks: one worker / {_WORKERS} workers",
            above=alone,
            below=together,
            most=5.0,
            at_least=True,
            note=latency,
        ),
    ]


async def _batch(sandbox: Sandbox, workers: int) -> float:
    async def solve(task: BatchTask) -> TaskResult:
        run, _ = await _run(MemoryGraph(sandbox), sandbox, _Busy(), calls=1)
        return TaskResult(id=task.id, answer=run.answer, outcome=run.outcome)

    tasks = [BatchTask(id=f"task-{number}", question="What does item 1 cost?") for number in range(_TASKS)]
    started = time.perf_counter()
    await run_batch(tasks, solve, workers=workers)
    return time.perf_counter() - started
