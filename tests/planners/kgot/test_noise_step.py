"""Noise of a run: near-duplicates and what is not asked go by setting, are told, and can be taken back."""

from __future__ import annotations

from typing import Any

import pytest

from planners.kgot.kgot_events import GraphChanged, NoiseRemoved
from planners.kgot.kgot_settings import NoiseKind
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import InsertEdge, InsertNode, NodeRef, Operation, ReplaceGraph
from tests.planners.kgot.run_fakes import INSERT, FakeFinder, FakeInvoker, FakeTextGraph, StepServer, run_task, tool

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

ANN = NodeRef(label="Author", key={"name": "Ann Reed"})
NODES: list[Operation] = [
    InsertNode(label="Author", properties={"name": "Ann Reed"}),
    InsertNode(label="Author", properties={"name": "ann  reed"}),
    InsertNode(label="Book", properties={"title": "Tides"}),
    InsertNode(label="Weather", properties={"sky": "grey"}),
    InsertEdge(type="WROTE", source=ANN, target=NodeRef(label="Book", key={"title": "Tides"})),
]
STEPS: dict[str, Any] = {
    "next_step": [INSERT],
    "tool_calls": [{"calls": [{"tool": "library/list_books", "arguments": {}}]}],
    "write_graph": [{"statements": ["WRITE"]}],
    "forced_query": [{"query": "NOTHING"}],
    "forced_answer": [{"found": False, "answer": ""}],
}
LEFT: dict[NoiseKind, list[str]] = {
    "keep": ["Author", "Author", "Book", "Weather"],
    "duplicates": ["Author", "Book", "Weather"],
    "all": ["Author", "Book"],
}


async def noisy(graph: Any, noise: NoiseKind) -> Any:
    invoker = FakeInvoker(list_books={"books": []})
    with StepServer(**STEPS) as server:
        return await run_task(
            server, graph, finder=FakeFinder(tool("list_books")), invoker=invoker, noise=noise, max_iterations=1
        )


@pytest.mark.parametrize("noise", LEFT)
async def test_what_is_left(noise: NoiseKind) -> None:
    ran = await noisy(FakeTextGraph({"WRITE": NODES}, {"NOTHING": []}), noise)
    assert [node.label for node in ran.run.state.nodes] == LEFT[noise]
    assert sum(len(each.removed) for each in ran.of(NoiseRemoved)) == 4 - len(LEFT[noise])


async def test_what_was_told_takes_it_back() -> None:
    graph = FakeTextGraph({"WRITE": NODES}, {"NOTHING": []})
    ran = await noisy(graph, "all")
    states = [each.state for each in ran.of(GraphChanged)]
    assert [len(state.nodes) for state in states] == [0, 4, 3, 2]
    for state in states:
        again = MemoryGraph()
        await again.apply([ReplaceGraph(state=state)])
        assert await again.state() == state
