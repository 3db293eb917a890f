"""The store in memory: typed operations on rows; statements and queries are Python over a NetworkX graph in the sandbox.

Starting an interpreter with NetworkX takes most of the time of a query. So a graph that :func:`planners.stores.open_graph` opened keeps
one started, in the sandbox, which waits for the next code; each code has an interpreter of its own, as code of a model may leave one in
any state.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ontology.errors import EgotoolsError, StatementError
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.stores.property_graph import (
    GraphState,
    Language,
    Operation,
    Properties,
    PropertyRows,
    QueryLimits,
    QueryRows,
    Statement,
    Value,
    apply_typed,
    check_characters,
    check_effect,
    checked_properties,
    state_of_rows,
    state_rows,
)

__all__ = ["MemoryGraph"]

_LIMITS = QueryLimits()
_WRITE = QueryLimits(seconds=20.0)
"""Of one statement: the limit that the sandbox sets on tools too."""
_ERROR_CHARACTERS = 1_000
"""Of a traceback that a model is told: its last lines say what failed and where."""
_PROGRAM = """\
import json, os, signal, sys, traceback
import networkx as nx
request = json.load(sys.stdin)
def late(*_):
    raise TimeoutError("it takes longer than %g s" % request["seconds"])
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, request["seconds"], 0.2)
out, sys.stdout = sys.stdout, sys.stderr
def plain(value):
    return sorted(value, key=repr) if isinstance(value, (set, frozenset)) else str(value)
try:
    G = nx.MultiDiGraph()
    for name, attributes in request["nodes"]:
        G.add_node(name, **attributes)
    for source, target, attributes in request["edges"]:
        G.add_edge(source, target, **attributes)
    space = {"G": G, "nx": nx, "networkx": nx, "parameters": request["parameters"], "__name__": "__main__"}
    exec(compile(request["code"], "code", "exec"), space)
    if request["is_query"]:
        if "result" not in space:
            raise NameError("the code sets no variable named result")
        result = space["result"]
        views = (set, frozenset, type({}.keys()), type({}.values()), type({}.items()))
        if isinstance(result, views) or hasattr(result, "__next__"):
            result = sorted(result, key=repr) if isinstance(result, (set, frozenset)) else list(result)
        if hasattr(result, "data") and not isinstance(result, (str, dict, list, tuple)):
            result = list(result)
        if isinstance(result, (list, tuple)):
            result = list(result)[: request["most"] + 1]
        reply = {"result": result}
    else:
        G = space["G"]
        number = {name: at for at, name in enumerate(G.nodes)}
        reply = {
            "nodes": [[str(name), dict(attributes)] for name, attributes in G.nodes(data=True)],
            "edges": [[number[s], number[t], dict(attributes)] for s, t, attributes in G.edges(data=True)],
        }
    text = json.dumps(reply, default=plain)
except BaseException:
    signal.setitimer(signal.ITIMER_REAL, 0)
    text = json.dumps({"fault": traceback.format_exc(limit=-3)})
signal.setitimer(signal.ITIMER_REAL, 0)
out.write(text)
out.flush()
os._exit(0)  # taking the interpreter down would take longer than most code
"""
"""Reads a request from stdin and writes one JSON object. The time of the code begins here, when the interpreter stands; code that disarms
its timer, or catches what it raises, ends at the sandbox's own limit."""


class MemoryGraph:
    """A graph in this process. Code of a model runs in the sandbox, on a copy; what comes back is checked.

    The code finds the graph as ``G``, a ``networkx.MultiDiGraph``: nodes with the attribute ``label`` and their properties,
    edges with ``type`` and theirs (a property named ``label`` of a node, or ``type`` of an edge, has ``_`` appended), and the
    parameters as ``parameters``. A query sets ``result``; a statement changes ``G``.

    :param sandbox: what runs code; without one, statements and queries are refused.
    :param state: what it holds at the beginning; nothing where None.
    :param keep_warm: whether an interpreter is kept started for the next code; the graph must then be closed.
    """

    def __init__(
        self, sandbox: Sandbox | None = None, state: GraphState | None = None, *, keep_warm: bool = False
    ) -> None:
        self._rows = PropertyRows() if state is None else state_rows(state)
        self._sandbox = sandbox
        self._keep_warm = keep_warm
        self._waiting: tuple[asyncio.Future[bytes], asyncio.Future[SandboxResult]] | None = None
        self._lock = asyncio.Lock()

    @property
    def language(self) -> Language:
        """Python."""
        return "python"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails."""
        self._warm()
        async with self._lock:
            rows = self._rows.copy()
            for operation in operations:
                if isinstance(operation, Statement):
                    after = _rows_of_reply(await self._reply(rows, operation.text, operation.parameters, _WRITE))
                    check_effect(rows, after)
                    rows = after
                else:
                    apply_typed(rows, operation)
            self._rows = rows

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Run Python that sets ``result``: a value, a list of values, of rows or of dictionaries with equal keys."""
        reply = await self._reply(self._rows, text, parameters or {}, limits, is_query=True)
        return _result_rows(reply.get("result"), limits.rows)

    async def state(self) -> GraphState:
        """Return the whole graph."""
        return state_of_rows(self._rows)

    async def close(self) -> None:
        """End the interpreter that waits; the graph can still be asked."""
        waiting, self._waiting, self._keep_warm = self._waiting, None, False
        if waiting is not None:
            waiting[1].cancel()
            with contextlib.suppress(asyncio.CancelledError, EgotoolsError):
                await waiting[1]

    def _warm(self) -> None:
        if self._keep_warm and self._waiting is None and self._sandbox is not None:
            request: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            self._waiting = request, asyncio.ensure_future(self._sandbox.run_later(_PROGRAM, request))

    async def _reply(
        self,
        rows: PropertyRows,
        code: str,
        parameters: Mapping[str, Value],
        limits: QueryLimits,
        is_query: bool = False,
    ) -> dict[str, Any]:
        if self._sandbox is None:
            raise StatementError("no sandbox runs Python for this graph", remedy="Open the graph with a sandbox")
        check_characters(code, "the code")
        rows.ids = names = {key: f"n{at + 1}" for at, key in enumerate(rows.nodes)}
        request = {
            "code": code,
            "is_query": is_query,
            "most": limits.rows,
            "seconds": limits.seconds,
            "parameters": checked_properties(parameters),
            "nodes": [[names[key], _attributes("label", *row)] for key, row in rows.nodes.items()],
            "edges": [
                [names[source], names[target], _attributes("type", kind, properties)]
                for kind, source, target, properties in rows.edges.values()
            ],
        }
        text, waiting = json.dumps(request).encode(), self._waiting
        if waiting is None:
            ended = await self._sandbox.run(_PROGRAM, stdin=text)
        else:
            self._waiting = None
            waiting[0].set_result(text)
            ended = await waiting[1]
        self._warm()
        return _checked_reply(ended, lambda name: str(float(name)) if is_query else float(name))


def _attributes(own: str, name: str, properties: Properties) -> dict[str, object]:
    return {own: name} | {
        f"{key}_" if re.fullmatch(f"{own}_*", key) else key: value for key, value in properties.items()
    }


def _checked_reply(ended: SandboxResult, constant: Callable[[str], object]) -> dict[str, Any]:
    if ended.ended != "ok":
        raise _fault(f"the code ended by {ended.ended}: {ended.stderr.strip()[-_ERROR_CHARACTERS:]}".rstrip(": "))
    try:
        reply = json.loads(ended.stdout, parse_constant=constant)
    except (ValueError, RecursionError):  # code can write there what it likes
        reply = None
    if not isinstance(reply, dict):
        raise _fault("the code wrote over the answer of its own run")
    if "fault" in reply:
        raise _fault(str(reply["fault"])[-_ERROR_CHARACTERS:])
    return reply


def _rows_of_reply(reply: Mapping[str, Any]) -> PropertyRows:
    """Return the graph that a statement left.

    :raises StatementError: when it is none, holds what stores do not keep, or is too large.
    """
    rows = PropertyRows()
    try:
        keys = []
        for name, attributes in reply["nodes"]:
            if not isinstance(name, str):
                raise TypeError("the name of a node is no text")
            keys.append(rows.add_node(*_taken_apart("label", attributes, f"the node {name[:40]!r}")))
            rows.ids[keys[-1]] = name
        for source, target, attributes in reply["edges"]:
            kind, properties = _taken_apart("type", attributes, "an edge")
            rows.add_edge(kind, keys[source], keys[target], properties)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise StatementError(f"the code leaves no graph: {error!r}", remedy="Change G, and leave it a graph") from error
    return rows


def _taken_apart(own: str, attributes: Mapping[str, object], what: str) -> tuple[object, dict[str, object]]:
    if own not in attributes:
        remedy = f"Set {own} on all that is added to G"
        raise StatementError(f"{what} has no attribute {own}", subject=own, remedy=remedy)
    others = {
        key[:-1] if re.fullmatch(f"{own}_+", key) else key: each for key, each in attributes.items() if key != own
    }
    return attributes[own], others


def _result_rows(result: object, most: int) -> QueryRows:
    """Return the result of a query as rows: dictionaries with equal keys have these as columns, lists of one length numbers."""
    items: list[Any] = result if isinstance(result, list) else [result]
    first, cut = items[0] if items else None, len(items) > most
    items = items[:most]
    columns: tuple[str, ...] = ("result",)
    rows = [(item,) for item in items]
    if isinstance(first, dict) and all(isinstance(item, dict) and list(item) == list(first) for item in items):
        columns, rows = tuple(first), [tuple(item.values()) for item in items]
    elif isinstance(first, list) and all(isinstance(item, list) and len(item) == len(first) for item in items):
        columns, rows = tuple(f"result{at + 1}" for at in range(len(first))), [tuple(item) for item in items]
    return QueryRows(columns=columns, rows=tuple(rows), cut=cut)


def _fault(problem: str) -> StatementError:
    remedy = "Correct the code; G is a networkx.MultiDiGraph"
    return StatementError(problem.rstrip("."), subject="Python", remedy=remedy)
