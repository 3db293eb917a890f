"""States: isomorphic graphs give equal states, others do not; texts and JSON of states."""

from __future__ import annotations

import random
from collections.abc import Iterable

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.stores.property_graph import (
    EdgeRow,
    GraphEdge,
    GraphNode,
    GraphState,
    NodeRow,
    canonical_state,
    state_text,
)

Nodes = dict[int, NodeRow]
PAPER_NODES = 522  # of the largest graph of the paper


def _node(label: str = "A", **properties: object) -> NodeRow:
    return NodeRow(label=label, properties=properties)  # type: ignore[arg-type]


def _edge(source: int, target: int, kind: str = "R", **properties: object) -> EdgeRow:
    return EdgeRow(type=kind, source=source, target=target, properties=properties)  # type: ignore[arg-type]


def _renamed(nodes: Nodes, edges: Iterable[EdgeRow], seed: int) -> GraphState:
    """The state of the same graph, other keys and another order."""
    chance = random.Random(seed)
    keys = list(nodes)
    others = chance.sample(range(10_000), len(keys))
    renamed = dict(zip(keys, others, strict=True))
    items, moved = (
        list(nodes.items()),
        [_edge(renamed[e.source], renamed[e.target], e.type, **e.properties) for e in edges],
    )
    chance.shuffle(items)
    chance.shuffle(moved)
    return canonical_state({renamed[key]: row for key, row in items}, moved)


SHAPES: dict[str, tuple[int, list[tuple[int, int]]]] = {
    "alone": (PAPER_NODES, []),
    "circle": (PAPER_NODES, [(at, (at + 1) % PAPER_NODES) for at in range(PAPER_NODES)]),
    "triangles": (PAPER_NODES, [(at, at // 3 * 3 + (at + 1) % 3) for at in range(PAPER_NODES)]),
    "star": (PAPER_NODES, [(0, at) for at in range(1, PAPER_NODES)]),
    "rays": (PAPER_NODES - 1, [(0, at) for at in range(1, 261)] + [(at, at + 260) for at in range(1, 261)]),
    "tree": (PAPER_NODES, [((at - 1) // 2, at) for at in range(1, PAPER_NODES)]),
    "torus": (
        400,
        [(a * 20 + b, (a + 1) % 20 * 20 + b) for a in range(20) for b in range(20)]
        + [(a * 20 + b, a * 20 + (b + 1) % 20) for a in range(20) for b in range(20)],
    ),
    "all with all": (60, [(a, b) for a in range(60) for b in range(60) if a != b]),
    "petersen": (
        10,
        [(a, (a + 1) % 5) for a in range(5)]
        + [(5 + a, 5 + (a + 2) % 5) for a in range(5)]
        + [(a, a + 5) for a in range(5)],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_equal_nodes_are_ordered_by_what_surrounds_them_in_bounded_time(shape: str) -> None:
    count, pairs = SHAPES[shape]
    nodes, edges = {at: _node() for at in range(count)}, [_edge(*pair) for pair in pairs]
    state = canonical_state(nodes, edges)
    assert _renamed(nodes, edges, seed=1) == state == _renamed(nodes, edges, seed=2)


_EDGES = st.dictionaries(
    st.sampled_from([(a, b) for a in range(4) for b in range(4) if a != b]), st.sampled_from("RRQ"), max_size=8
)


@settings(max_examples=60, deadline=None)
@given(kinds=st.text("AAB", min_size=4, max_size=4), one=_EDGES, other=_EDGES, seed=st.integers(0, 99))
def test_states_of_small_graphs_are_equal_just_where_these_are_isomorphic(
    kinds: str, one: dict[tuple[int, int], str], other: dict[tuple[int, int], str], seed: int
) -> None:
    nodes = {at: _node(kind) for at, kind in enumerate(kinds)}
    edges, more = ([_edge(*ends, kind) for ends, kind in found.items()] for found in (one, other))
    assert _renamed(nodes, edges, seed) == canonical_state(nodes, edges)
    equal = nx.is_isomorphic(
        _drawn(nodes, edges), _drawn(nodes, more), lambda a, b: a == b, lambda a, b: _kinds(a) == _kinds(b)
    )
    assert (canonical_state(nodes, edges) == canonical_state(nodes, more)) == equal


def _drawn(nodes: Nodes, edges: list[EdgeRow]) -> nx.MultiDiGraph[int]:
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for key, row in nodes.items():
        graph.add_node(key, label=row.label)
    for edge in edges:
        graph.add_edge(edge.source, edge.target, type=edge.type)
    return graph


def _kinds(parallel: dict[int, dict[str, str]]) -> list[str]:
    return sorted(edge["type"] for edge in parallel.values())


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
