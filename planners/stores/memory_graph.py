"""The store in memory: typed operations on rows; a query is Python over a NetworkX graph in the sandbox, in an interpreter of its own, as code of
a model may leave one in any state."""

from __future__ import annotations

import json
import re
from typing import Any

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox
from planners.stores import property_graph as graphs
from planners.stores.property_graph import GraphState, QueryLimits, QueryRows

_LIMITS = QueryLimits()
_ERROR_CHARACTERS = 1_000  # of a traceback that a model is told: its last lines say what failed and where
# Reads a request from stdin and writes one JSON object. The time of the code begins here, when the interpreter stands;
# code that disarms its timer, or catches what it raises, ends at the sandbox's own limit.
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
    space = {"G": G, "nx": nx, "networkx": nx, "__name__": "__main__"}
    exec(compile(request["code"], "code", "exec"), space)
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
    text = json.dumps({"result": result}, default=plain)
except BaseException:
    signal.setitimer(signal.ITIMER_REAL, 0)
    text = json.dumps({"fault": traceback.format_exc(limit=-3)})
signal.setitimer(signal.ITIMER_REAL, 0)
out.write(text)
out.flush()
os._exit(0)  # taking the interpreter down would take longer than most code
"""


class MemoryGraph(graphs.RowsGraph):
    """A graph in this process, which begins with ``state``. Code of a model runs in the sandbox, on a copy. The code finds the graph as ``G``, a ``networkx.MultiDiGraph``: nodes with the
    attribute ``label`` and their properties, edges with ``type`` and theirs (a property named ``label`` of a node, or
    ``type`` of an edge, has ``_`` appended). It sets ``result``."""

    language: graphs.Language = "python"

    def __init__(self, sandbox: Sandbox | None = None, state: GraphState | None = None) -> None:
        super().__init__(state)
        self._sandbox = sandbox or Sandbox()

    async def query(self, text: str, limits: QueryLimits = _LIMITS) -> QueryRows:
        """Run Python that sets ``result``: a value, a list of values, of rows or of dictionaries with equal keys.
        Dictionaries with equal keys have these as columns, lists of one length numbers."""
        graphs.check_characters(text, "the code")
        names = {key: f"n{at}" for at, key in enumerate(self.rows.nodes, 1)}
        request = {
            "code": text,
            "most": limits.rows,
            "seconds": limits.seconds,
            "nodes": [[names[key], _attributes("label", *row)] for key, row in self.rows.nodes.items()],
            "edges": [
                [names[source], names[target], _attributes("type", kind, properties)]
                for kind, source, target, properties in self.rows.edges.values()
            ],
        }
        ended = await self._sandbox.run(_PROGRAM, stdin=json.dumps(request).encode())
        if ended.ended != "ok":
            raise _fault(f"the code ended by {ended.ended}: {ended.stderr.strip()[-_ERROR_CHARACTERS:]}".rstrip(": "))
        try:
            reply = json.loads(ended.stdout, parse_constant=lambda name: str(float(name)))
        except (ValueError, RecursionError):  # code can write there what it likes
            reply = None
        if not isinstance(reply, dict):
            raise _fault("the code wrote over the answer of its own run")
        if "fault" in reply:
            raise _fault(str(reply["fault"])[-_ERROR_CHARACTERS:])
        result = reply.get("result")
        items: list[Any] = result if isinstance(result, list) else [result]
        first, cut, items = items[0] if items else None, len(items) > limits.rows, items[: limits.rows]
        columns: tuple[str, ...] = ("result",)
        rows = [(item,) for item in items]
        if isinstance(first, dict) and all(isinstance(item, dict) and list(item) == list(first) for item in items):
            columns, rows = tuple(first), [tuple(item.values()) for item in items]
        elif isinstance(first, list) and all(isinstance(item, list) and len(item) == len(first) for item in items):
            columns, rows = tuple(f"result{at}" for at in range(1, len(first) + 1)), [tuple(item) for item in items]
        return QueryRows(columns=columns, rows=tuple(rows), cut=cut)


def _attributes(own: str, name: str, properties: graphs.Properties) -> dict[str, object]:
    renamed = {f"{key}_" if re.fullmatch(f"{own}_*", key) else key: value for key, value in properties.items()}
    return {own: name, **renamed}


def _fault(problem: str) -> StatementError:
    remedy = "Correct the code; G is a networkx.MultiDiGraph"
    return StatementError(problem.rstrip("."), subject="Python", remedy=remedy)
