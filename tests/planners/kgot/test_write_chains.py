"""Chains of writes: what can touch the same node keeps its order, and any order of the chains gives the graph of the serial one."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.graphs.memory_graph import MemoryGraph
from planners.graphs.property_graph import (
    DeleteEdge,
    DeleteNode,
    GraphState,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    NodeRef,
    Operation,
    Statement,
)
from planners.kgot.statement_touches import statement_touches
from planners.kgot.write_chains import write_chains


def ref(label: str, **key: str | int) -> NodeRef:
    return NodeRef(label=label, key=key)


def merge(label: str, name: str, renamed: str = "") -> MergeNode:
    return MergeNode(node=ref(label, name=name), properties={"name": renamed} if renamed else {})


ANN, BOB, BATH = ref("Person", name="Ann"), ref("Person", name="Bob"), ref("Town", name="Bath")

CHAINS: dict[str, tuple[list[Operation], list[list[int]]]] = {
    "none": ([], []),
    "different names": ([merge("Person", "Ann"), merge("Person", "Bob")], [[0], [1]]),
    "the same node": ([merge("Person", "Ann"), merge("Town", "Bath"), merge("Person", "Ann")], [[0, 2], [1]]),
    "an edge joins its ends": (
        [merge("Person", "Ann"), merge("Town", "Bath"), MergeEdge(type="IN", source=ANN, target=BATH)],
        [[0, 1, 2]],
    ),
    "what is renamed is also what it becomes": (
        [merge("Person", "Ann", renamed="Bob"), merge("Person", "Bob")],
        [[0, 1]],
    ),
    "a key that the other does not name": ([merge("Person", "Ann"), DeleteNode(node=ref("Person", age=3))], [[0, 1]]),
    "values of different types": ([DeleteNode(node=ref("P", id=1)), DeleteNode(node=ref("P", id="2"))], [[0, 1]]),
    "a statement that is not read joins all": (
        [merge("Person", "Ann"), Statement(text="…"), merge("Town", "Bath")],
        [[0, 1, 2]],
    ),
    "plain statements": (
        [
            Statement(text="MERGE (a:Person {name: 'Ann'}) MERGE (t:Town {name: 'Bath'}) MERGE (a)-[:LIVES_IN]->(t)"),
            Statement(text="MERGE (b:Person {name: 'Bob'}) SET b.age = 3;"),
            Statement(text='MATCH (p:Person {name: "Ann"}) SET p.age = 4'),
        ],
        [[0, 2], [1]],
    ),
    "a statement that renames": (
        [
            Statement(text="MATCH (p:Person {name: 'Ann'}) SET p.name = 'Bob'"),
            Statement(text="MERGE (p:Person {name: 'Bob'})"),
        ],
        [[0, 1]],
    ),
    "a statement whose new name is not known": (
        [
            Statement(text="MATCH (p:Person {name: 'Ann'}) SET p.name = toUpper('bob')"),
            Statement(text="MERGE (p:Person {name: 'BOB'})"),
        ],
        [[0, 1]],
    ),
    "one text in two spellings": (
        [Statement(text=r"MERGE (p:Person {name: 'A\nn'})"), Statement(text="MERGE (p:Person {name: 'Ann'})")],
        [[0, 1]],
    ),
    "labels that differ by case": ([merge("Person", "Ann"), merge("PERSON", "Ann")], [[0, 1]]),
}


@pytest.mark.parametrize("case", CHAINS)
def test_which_writes_are_joined(case: str) -> None:
    operations, chains = CHAINS[case]
    assert write_chains(operations) == chains


UNKNOWN = [
    "",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n) SET n.age = 1",
    "MATCH (a:A {k: 1})-[*1..3]->(b:B {k: 1}) SET a.x = 1",
    "MATCH (a:A {k: 1}) SET a = {k: 2}",
    "MATCH (a:A {k: 1}) SET a += {k: 2}",
    "MATCH (a:A {k: 1}) SET a:B",
    "MATCH (a:A {k: 1}) WITH a CREATE (b:B {k: 1})",
    "UNWIND [1, 2] AS x MERGE (a:A {k: x})",
    "OPTIONAL MATCH (a:A {k: 1}) SET a.x = 1",
    "MATCH (a:A {k: 1}) DELETE a",
    "MERGE (a:A {k: 1}) REMOVE a.k",
    "MATCH (a:A {k: 1})--(b) SET b.x = 1",
    "MERGE (a:A {k: 'x)",
    "INSERT DATA { :a a :B }",
    "MERGE (a:A {k: 1}) ON CREATE SET a.k = 2 ON MATCH SET a.k = 3",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_statement_that_could_touch_any_node_joins_all(text: str) -> None:
    assert statement_touches(Statement(text=text)) is None
    assert write_chains([merge("Person", "Ann"), merge("Town", "Bath"), Statement(text=text)]) == [[0, 1, 2]]


def test_the_nodes_of_a_plain_statement() -> None:
    text = "MERGE (a:`My Person` {name: 'Ann', age: 3, ok: true, x: 1.5, y: -1}) SET a.age = 4, a.x = a.age + 1"
    before = {"name": "Ann", "age": 3, "ok": True, "x": 1.5}
    after = {"name": "Ann", "age": 4, "ok": True}
    assert statement_touches(Statement(text=text)) == [("My Person", before), ("My Person", after)]


NAMES = st.sampled_from(["Ann", "Bob", "Cy"])
LABELS = st.sampled_from(["Person", "Town"])
KEYS = st.one_of(
    st.fixed_dictionaries({"name": NAMES}),
    st.fixed_dictionaries({"name": NAMES, "age": st.integers(1, 2)}),
    st.fixed_dictionaries({"age": st.integers(1, 2)}),
)
REFS = st.builds(NodeRef, label=LABELS, key=KEYS)
OPERATIONS = st.one_of(
    st.builds(InsertNode, label=LABELS, properties=KEYS),
    st.builds(MergeNode, node=REFS, properties=KEYS),
    st.builds(DeleteNode, node=REFS),
    st.builds(InsertEdge, type=st.just("KNOWS"), source=REFS, target=REFS),
    st.builds(MergeEdge, type=st.just("KNOWS"), source=REFS, target=REFS),
    st.builds(DeleteEdge, type=st.just("KNOWS"), source=REFS, target=REFS),
)
NAMED = st.one_of(
    st.builds(InsertNode, label=LABELS, properties=st.fixed_dictionaries({"name": NAMES})),
    st.builds(
        MergeNode, node=st.builds(NodeRef, label=LABELS, key=st.fixed_dictionaries({"name": NAMES})), properties=KEYS
    ),
    st.builds(
        MergeEdge,
        type=st.just("KNOWS"),
        source=st.builds(NodeRef, label=LABELS, key=st.fixed_dictionaries({"name": NAMES})),
        target=st.builds(NodeRef, label=LABELS, key=st.fixed_dictionaries({"name": NAMES})),
    ),
)


async def _applied(before: list[Operation], batches: list[list[Operation]]) -> GraphState:
    graph = MemoryGraph()
    for operation in (*before, *(each for batch in batches for each in batch)):
        await graph.apply([operation])
    return await graph.state()


@settings(max_examples=150, deadline=None)
@given(st.lists(OPERATIONS, max_size=4), st.lists(OPERATIONS, max_size=6) | st.lists(NAMED, max_size=6), st.randoms())
def test_any_order_of_the_chains_gives_the_serial_graph(
    before: list[Operation], operations: list[Operation], random: object
) -> None:
    chains = [[operations[at] for at in chain] for chain in write_chains(operations)]
    assert sorted(map(id, operations)) == sorted(id(each) for chain in chains for each in chain)

    async def check() -> None:
        serial = await _applied(before, [operations])
        for order in list(permutations(chains))[:12]:
            assert await _applied(before, list(order)) == serial

    asyncio.run(check())
