"""The graph in a prompt: whole where it fits, else its counts and the first of each label and type."""

from __future__ import annotations

from planners.kgot.run_state import graph_text
from planners.stores.graph_text import state_text
from planners.stores.property_graph import GraphEdge, GraphNode, GraphState

ORDERS = [GraphNode(id=f"n{n}", label="Order", properties={"no": n, "open": n % 2 == 0}) for n in range(1, 501)]
FILE = GraphNode(id="n501", label="File", properties={"name": "orders.csv"})
EDGES = [GraphEdge(type="GAVE", source=FILE.id, target=node.id, properties={}) for node in ORDERS]
LARGE = GraphState(nodes=(*ORDERS, FILE), edges=tuple(EDGES))


def test_a_small_graph_stands_whole() -> None:
    assert graph_text(LARGE, 100_000) == state_text(LARGE)


def test_of_a_large_one_counts_and_examples_stand() -> None:
    text = graph_text(LARGE, 3_000)
    assert len(text) <= 3_000
    assert "- 500 nodes Order: no (500 values), open (2 values)\n- 500 relationships (File)-[GAVE]->(Order)" in text
    assert '  n1 {"no": 1, "open": false}' in text and "(n501:File)->(n1:Order)" in text
    assert "n400" not in text


def test_a_graph_of_very_many_labels_is_cut_at_the_end_of_a_line() -> None:
    text = graph_text(
        GraphState(nodes=tuple(GraphNode(id=f"n{n}", label=f"L{n}", properties={}) for n in range(900))), 2_000
    )
    assert len(text) < 2_100 and text.endswith("more lines are left out)")
