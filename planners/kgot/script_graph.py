"""Asking any graph by Python: a copy of its state in the sandbox, as the store in memory has it."""

from __future__ import annotations

from planners.calls.sandbox import Sandbox
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import GraphState, QueryLimits, QueryRows

__all__ = ["script_rows"]


async def script_rows(code: str, state: GraphState, sandbox: Sandbox, limits: QueryLimits) -> QueryRows:
    """Run Python on a state and return its ``result`` as rows; see :class:`planners.stores.memory_graph.MemoryGraph`.

    :raises StatementError: when the code fails.
    :raises IsolationError: when it cannot be isolated here.
    """
    return await MemoryGraph(sandbox, state).query(code, limits=limits)
