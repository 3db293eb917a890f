"""Graphs in memory: Python of a model over NetworkX, in the sandbox."""

import pytest

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import InsertNode, MergeEdge, NodeRef
from tests.harness.waiting import LIMIT_S

pytestmark = pytest.mark.usefixtures("needs_sandbox")

ANN = NodeRef(label="Author", key={"name": "Ann Ott"})


@pytest.fixture
async def graph() -> MemoryGraph:
    made = MemoryGraph(Sandbox(SandboxLimits(seconds=LIMIT_S)))
    await made.apply(
        [
            InsertNode(label="Author", properties={"name": "Ann Ott", "label": "own", "tags": ("a", "b")}),
            InsertNode(label="Book", properties={"title": "One"}),
            MergeEdge(type="WROTE", source=ANN, target=NodeRef(label="Book", key={}), properties={"type": "own"}),
        ]
    )
    return made


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "sets no variable named result"),
        ("import os; os._exit(0)", "wrote over"),
        ("import sys, os\nos.write(1, b'[5]')\nos._exit(0)", "wrote over"),
        ("import socket; socket.create_connection(('127.0.0.1', 80))", "Error"),
    ],
    ids=["raises", "no-result", "exits", "another-answer", "network"],
)
async def test_code_that_gives_nothing_is_a_fault(graph: MemoryGraph, code: str, told: str) -> None:
    with pytest.raises(StatementError, match=told):
        await graph.query(code)


async def test_code_works_on_a_copy_and_sees_properties_beside_label_and_type(graph: MemoryGraph) -> None:
    before = await graph.state()
    code = "result = [G.nodes['n1']['label_'], [d['type_'] for *_, d in G.edges(data=True)]]\nG.clear()"
    assert (await graph.query(code)).rows == (("own",), (["own"],))
    assert await graph.state() == before
