"""States: the order of equal graphs, and texts of states."""

import random

from planners.stores.property_graph import (
    EdgeRow,
    GraphEdge,
    GraphNode,
    GraphState,
    NodeRow,
    PropertyRows,
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
