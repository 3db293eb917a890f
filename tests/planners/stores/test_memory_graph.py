"""Graphs in memory: Python of a model over NetworkX, in the sandbox."""

from __future__ import annotations

import pytest

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import InsertEdge, InsertNode, NodeRef, Statement

pytestmark = pytest.mark.usefixtures("needs_sandbox")

ANN = NodeRef(label="Author", key={"name": "Ann Ott"})


@pytest.fixture
async def graph() -> MemoryGraph:
    made = MemoryGraph(Sandbox())
    await made.apply(
        [
            InsertNode(label="Author", properties={"name": "Ann Ott", "label": "own", "tags": ("a", "b")}),
            InsertNode(label="Book", properties={"title": "One"}),
            InsertEdge(type="WROTE", source=ANN, target=NodeRef(label="Book", key={}), properties={"type": "own"}),
        ]
    )
    return made


async def test_a_statement_changes_the_graph(graph: MemoryGraph) -> None:
    code = "for n, d in list(G.nodes(data=True)):\n    if d['label'] == 'Author':\n        d['born'] = parameters['born']; del d['tags']"
    await graph.apply([Statement(text=code, parameters={"born": 1965})])
    state = await graph.state()
    assert dict(state.nodes[0].properties) == {"born": 1965, "label": "own", "name": "Ann Ott"}
    assert dict(state.edges[0].properties) == {"type": "own"}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("G.add_node('x')", "label"),
        ("G.add_edge('n1', 'x', type='R')", "label"),
        ("G.add_edge('n1', 'n2')", "type"),
        ("G.add_node('x', label='A', v={'a': 1})", "dict"),
        ("G.add_node('x', label='A', v=float('nan'))", "not finite"),
        ("G = 5", "no attribute"),
        ("1 / 0", "ZeroDivisionError"),
        ("import os; os._exit(0)", "wrote over"),
        ("import socket; socket.create_connection(('127.0.0.1', 80))", "Error"),
        ("G.remove_nodes_from(list(G))", "deletes all"),
    ],
    ids=["node", "end", "edge", "value", "nan", "type", "raises", "exits", "network", "empties"],
)
async def test_a_statement_that_leaves_no_graph_changes_nothing(graph: MemoryGraph, code: str, told: str) -> None:
    before = await graph.state()
    with pytest.raises(StatementError, match=told):
        await graph.apply([InsertNode(label="Gone"), Statement(text=code)])
    assert await graph.state() == before


async def test_without_a_sandbox_code_is_refused() -> None:
    with pytest.raises(StatementError, match="no sandbox"):
        await MemoryGraph().query("result = 1")


_OVERWRITE = "import sys, os\nos.write(1, %s)\nos._exit(0)"


@pytest.mark.parametrize(
    "reply",
    [
        '{"nodes": 5}',
        "{}",
        '{"nodes": [1], "edges": []}',
        '{"nodes": [[1, {}]], "edges": []}',
        '{"nodes": [["a", 5]], "edges": []}',
        '{"nodes": [["a", []]], "edges": []}',
        '{"nodes": [["a", ["label"]]], "edges": []}',
        '{"nodes": [["a", {"label": {}}]], "edges": []}',
        '{"nodes": [[{}, {"label": "A"}]], "edges": []}',
        '{"nodes": [[["a"], {"label": "A"}]], "edges": []}',
        '{"nodes": [], "edges": [[0, 0, {"type": "T"}]]}',
        '{"nodes": [["a", {"label": "A"}]], "edges": [["a", null, {"type": "T"}]]}',
        '{"nodes": [["a", {"label": "A"}]], "edges": [[0, 0, "type"]]}',
    ],
)
async def test_a_reply_that_is_no_graph_is_a_fault(graph: MemoryGraph, reply: str) -> None:
    before = await graph.state()
    with pytest.raises(StatementError):
        await graph.apply([Statement(text=_OVERWRITE % repr(reply.encode()))])
    assert await graph.state() == before
