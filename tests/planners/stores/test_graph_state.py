"""States: the order of equal graphs, texts of states, and nodes that stand there twice."""

import random

import pytest

from planners.stores.property_graph import (
    EdgeRow,
    GraphEdge,
    GraphNode,
    GraphState,
    NodeRow,
    PropertyRows,
    Value,
    merge_duplicates,
    state_text,
)


def test_twins_are_ordered_by_what_they_are_joined_to() -> None:
    nodes = {at: NodeRow("Twin", {}) for at in range(3)} | {3: NodeRow("Hub", {"n": 1}), 4: NodeRow("Hub", {"n": 2})}
    edges = [EdgeRow("R", 0, 3, {}), EdgeRow("R", 4, 1, {}), EdgeRow("Q", 2, 3, {}), EdgeRow("R", 0, 3, {"w": 2})]
    state = PropertyRows(nodes=nodes, edges=dict(enumerate(edges))).state()
    chance = random.Random(7)
    for _ in range(20):
        chance.shuffle(edges)
        shuffled = {key: nodes[key] for key in chance.sample(list(nodes), len(nodes))}
        assert PropertyRows(nodes=shuffled, edges=dict(enumerate(edges))).state() == state


STATE = GraphState(
    nodes=(
        GraphNode(id="n1", label="Author", properties={"born": 1965, "name": "Ann\n<Ott>"}),
        GraphNode(id="n2", label="Big Book", properties={"tags": ("a", "b")}),
    ),
    edges=(
        GraphEdge(type="WROTE", source="n1", target="n2", properties={"fast": True}),
        GraphEdge(type="WROTE", source="n1", target="n2", properties={}),
    ),
)


def test_the_text_of_a_state_has_a_line_for_each_node_and_edge() -> None:
    assert state_text(STATE).splitlines() == [
        "Nodes by label:",
        "Author:",
        '  n1 {"born": 1965, "name": "Ann\\n<Ott>"}',
        '"Big Book":',
        '  n2 {"tags": ["a", "b"]}',
        "Relationships by type:",
        "WROTE:",
        '  (n1:Author)->(n2:"Big Book") {"fast": true}',
        '  (n1:Author)->(n2:"Big Book")',
    ]
    assert state_text(GraphState()) == "The graph is empty."
    assert '"Ann… (9 characters)"' in state_text(STATE, longest=3)


QUOTE = "The report of 2021 counts 14 stations"
SAME: list[tuple[Value, Value]] = [
    ("Ann Ott", "ann  ott"),
    ("Ann Ott", "“Ann Ott.”"),
    (QUOTE, QUOTE + "."),
    (1965, 1965),
]
OTHER: list[tuple[Value, Value]] = [
    ("Ann Ott", "Anna Ott"),
    ("C", "C++"),
    ("-5", "5"),
    (1965, 1966),
    (1, True),
    (QUOTE, QUOTE.replace("14", "15")),
]


@pytest.mark.parametrize(("one", "other"), [*SAME, *OTHER])
def test_equal_nodes_become_one_with_the_edges_of_both(one: Value, other: Value) -> None:
    nodes = {1: NodeRow("Note", {"v": one}), 2: NodeRow("Note", {"v": other}), 3: NodeRow("Source", {"name": "paper"})}
    ends = [("CONTAINS", 3, 1), ("CONTAINS", 3, 2), ("NEXT", 1, 2)]
    state = PropertyRows(nodes=nodes, edges={at: EdgeRow(*each, {}) for at, each in enumerate(ends)}).state()
    removal = merge_duplicates(state)
    if (one, other) in OTHER:
        assert (removal.removed, removal.after) == ((), state)
        return
    assert [node.label for node in removal.removed] == ["Note"]
    assert [node.label for node in removal.after.nodes] == ["Note", "Source"]
    assert [(edge.type, edge.source, edge.target) for edge in removal.after.edges] == [
        ("NEXT", "n1", "n1"),
        ("CONTAINS", "n2", "n1"),
    ]
