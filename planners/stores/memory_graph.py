"""The store in memory: typed operations on rows; statements and queries are Python over a NetworkX graph in the sandbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.stores.graph_state import state_of_rows, state_rows
from planners.stores.networkx_code import graph_request, networkx_program, node_names, rows_of_reply
from planners.stores.property_graph import GraphState, Language, Operation, QueryLimits, QueryRows, Statement, Value
from planners.stores.property_rows import PropertyRows, apply_typed
from planners.stores.property_values import check_characters, checked_properties
from planners.stores.result_rows import python_rows
from planners.stores.statement_effect import check_effect

__all__ = ["MemoryGraph"]

_LIMITS = QueryLimits()
_WRITE_S = 20.0
"""Seconds for one statement: the limit that the sandbox sets on tools too."""
_ERROR_CHARACTERS = 1_000
"""Of a traceback that a model is told: its last lines say what failed and where."""


class MemoryGraph:
    """A graph in this process. Code of a model runs in the sandbox, on a copy; what comes back is checked.

    The code finds the graph as ``G``, a ``networkx.MultiDiGraph``: nodes with the attribute ``label`` and their properties,
    edges with ``type`` and theirs (a property named ``label`` of a node, or ``type`` of an edge, has ``_`` appended), and the
    parameters as ``parameters``. A query sets ``result``; a statement changes ``G``.

    :param sandbox: what runs code; without one, statements and queries are refused.
    :param state: what it holds at the beginning; nothing where None.
    """

    def __init__(self, sandbox: Sandbox | None = None, state: GraphState | None = None) -> None:
        self._rows = PropertyRows() if state is None else state_rows(state)
        self._sandbox = sandbox
        self._lock = asyncio.Lock()

    @property
    def language(self) -> Language:
        """Python."""
        return "python"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails."""
        async with self._lock:
            rows = self._rows.copy()
            for operation in operations:
                if isinstance(operation, Statement):
                    reply = await self._run(rows, operation.text, operation.parameters, "write", _LIMITS.rows, _WRITE_S)
                    found = rows_of_reply(reply)
                    check_effect(node_names(rows), [name for name, _ in reply["nodes"]])
                    rows = found
                else:
                    apply_typed(rows, operation)
            self._rows = rows

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Run Python that sets ``result``: a value, a list of values, of rows or of dictionaries with equal keys."""
        reply = await self._run(self._rows, text, parameters or {}, "read", limits.rows, limits.seconds)
        try:
            return python_rows(reply.get("result"), limits.rows)
        except RecursionError:
            raise _fault("the result holds too many lists in one another") from None

    async def state(self) -> GraphState:
        """Return the whole graph."""
        return state_of_rows(self._rows)

    async def _run(
        self, rows: PropertyRows, code: str, parameters: Mapping[str, Value], mode: str, most: int, seconds: float
    ) -> dict[str, Any]:
        if self._sandbox is None:
            raise StatementError("no sandbox runs Python for this graph", remedy="Open the graph with a sandbox")
        check_characters(code, "the code")
        request = graph_request(rows, code, checked_properties(parameters), mode, most)
        try:
            async with asyncio.timeout(seconds):
                ended = await self._sandbox.run(networkx_program(), stdin=json.dumps(request).encode())
        except TimeoutError:
            raise _fault(f"the code takes longer than {seconds:g} s") from None
        return _reply(ended)


def _reply(ended: SandboxResult) -> dict[str, Any]:
    if ended.ended != "ok":
        detail = ended.stderr.strip()[-_ERROR_CHARACTERS:]
        raise _fault(f"the code ended by {ended.ended}: {detail}" if detail else f"the code ended by {ended.ended}")
    try:
        reply = json.loads(ended.stdout)
    except (ValueError, RecursionError):  # code can write there what it likes
        reply = None
    if not isinstance(reply, dict):
        raise _fault("the code wrote over the answer of its own run")
    if "fault" in reply:
        raise _fault(str(reply["fault"])[-_ERROR_CHARACTERS:])
    return reply


def _fault(problem: str) -> StatementError:
    return StatementError(
        problem.rstrip("."), subject="Python", remedy="Correct the code; G is a networkx.MultiDiGraph"
    )
