"""Views of a run for tests, made of answers that were written by the shape writer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planners.graphs.graph_text import state_text
from planners.graphs.memory_graph import MemoryGraph
from planners.graphs.property_graph import GraphState, Operation
from planners.kgot.kgot_task import KgotTask, MadeCall, TaskView
from planners.kgot.rules.shape_writer import ShapeWriter

__all__ = ["answer", "state_of", "view_of", "written"]

_EMPTY = GraphState()


def answer(body: Any, tool_id: str = "shop/list", **arguments: Any) -> MadeCall:
    """A call that was answered."""
    return MadeCall(tool_id=tool_id, arguments=arguments, ok=True, status="ok", body=body)


def written(
    *answers: MadeCall,
    state: GraphState = _EMPTY,
    most_nodes: int = 10_000,
) -> tuple[Operation, ...]:
    """What the writer makes of answers."""
    view = TaskView(task=KgotTask(question="?"), iteration=1, graph=state, graph_text="")
    return asyncio.run(ShapeWriter(most_nodes=most_nodes).write(view, "", answers))


def state_of(operations: Sequence[Operation]) -> GraphState:
    """The state of a graph in memory after writes."""

    async def applied() -> GraphState:
        graph = MemoryGraph()
        await graph.apply(operations)
        return await graph.state()

    return asyncio.run(applied())


def view_of(question: str, *calls: MadeCall, files: Sequence[str] = (), state: GraphState | None = None) -> TaskView:
    """A view after calls."""
    held = state_of(written(*calls)) if state is None else state
    task = KgotTask(question=question, files=tuple(map(Path, files)))
    return TaskView(task=task, iteration=1, graph=held, graph_text=state_text(held), calls=calls)
