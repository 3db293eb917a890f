"""Noise: which nodes are duplicates, what joins to nothing that is asked, and that all of it can be taken back."""

from __future__ import annotations

import pytest

from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import (
    EdgeRow,
    GraphState,
    NodeRow,
    ReplaceGraph,
    Value,
    canonical_state,
    merge_duplicates,
    remove_irrelevant,
)

QUOTE = "We read the books of the dead as though they had been written to us alone"
SAME: list[tuple[Value, Value]] = [
    ("Ann Ott", "ann  ott"),
    ("Ann Ott", "Ann Ott."),
    ("petrichor", "Petrichor"),
    (QUOTE, QUOTE.replace("though", "if")),
    (QUOTE, QUOTE + "."),
    (QUOTE, QUOTE.replace("written to", "written for")),
    ("The report of 2021 counts 14 stations", "The report of 2021 counts 14 station"),
    (1965, 1965),
]
OTHER: list[tuple[Value, Value]] = [
    ("Ann Ott", "Anna Ott"),
    ("B1", "B2"),
    ("C", "C++"),
    (1965, 1966),
    (1, True),
    ("The report of 2021 counts 14 stations", "The report of 2021 counts 15 stations"),
    ("The temperature at the station was -5 degrees", "The temperature at the station was 5 degrees"),
    (QUOTE, "We read the letters of the living as if nobody had ever written them"),
]


def _pair(one: Value, other: Value) -> GraphState:
    nodes = {
        1: NodeRow(label="Note", properties={"v": one}),
        2: NodeRow(label="Note", properties={"v": other}),
        3: NodeRow(label="Source", properties={"name": "paper"}),
    }
    edges = [EdgeRow(type="CONTAINS", source=3, target=at, properties={}) for at in (1, 2)]
    return canonical_state(nodes, [*edges, EdgeRow(type="NEXT", source=1, target=2, properties={})])


@pytest.mark.parametrize(("one", "other"), SAME)
def test_nearly_equal_nodes_become_one_with_the_edges_of_both(one: Value, other: Value) -> None:
    removal = merge_duplicates(_pair(one, other))
    assert [node.label for node in removal.removed] == ["Note"]
    assert [node.label for node in removal.after.nodes] == ["Note", "Source"]
    assert [(edge.type, edge.source, edge.target) for edge in removal.after.edges] == [
        ("NEXT", "n1", "n1"),
        ("CONTAINS", "n2", "n1"),
    ]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_nodes_that_differ_stay(one: Value, other: Value) -> None:
    removal = merge_duplicates(_pair(one, other))
    assert (removal.removed, removal.operations, removal.after) == ((), (), removal.before)


def _study() -> GraphState:
    nodes = {
        1: NodeRow(label="Funding", properties={"award_number": "F-7"}),
        2: NodeRow(label="Researcher", properties={"name": "Ann Ott"}),
        3: NodeRow(label="Paper", properties={"title": "Rain"}),
        4: NodeRow(label="Article", properties={"title": "News"}),
        5: NodeRow(label="Article", properties={"title": "Elsewhere"}),
        6: NodeRow(label="Grant", properties={"title": "between"}),
    }
    pairs = [(2, 6), (6, 1), (3, 2), (4, 3), (5, 5)]
    return canonical_state(nodes, [EdgeRow(type="R", source=a, target=b, properties={}) for a, b in pairs])


async def test_what_joins_nothing_that_is_asked_goes_and_comes_back() -> None:
    removal = remove_irrelevant(_study(), ["award number", "Ann Ott"])
    assert [node.label for node in removal.after.nodes] == ["Funding", "Grant", "Researcher"]
    assert [node.label for node in removal.removed] == ["Article", "Article", "Paper"]
    graph = MemoryGraph()
    await graph.apply([ReplaceGraph(state=removal.before)])
    await graph.apply(removal.operations)
    assert await graph.state() == removal.after
