"""Relationships without a direction, and questions that name none, against NetworkX."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from planners.graphs.open_readable import open_readable
from tests.planners.graphseek.rules.rule_runs import answer_all

TWO_STEPS = "How many nodes are within two steps of Gavroche?"
MOST = "Which node has the most nodes?"


@pytest.mark.parametrize("directed", [False, True])
async def test_all_neighbours_are_found_whichever_end_is_the_source(directed: bool, tmp_path: Path) -> None:
    graph = nx.les_miserables_graph()
    nx.set_node_attributes(graph, {node: node for node in graph}, "name")
    path = tmp_path / "lesmis.graphml"
    nx.write_graphml(nx.DiGraph(graph.edges) if directed else graph, path)
    address = f"graphml:{path}"
    async with open_readable(address, tmp_path / "cache") as opened:
        assert [each.undirected for each in (await opened.schema()).relationships] == [not directed]
    asked = [TWO_STEPS] if directed else [TWO_STEPS, MOST]
    answered = await answer_all(address, tmp_path / "cache", [[each] for each in asked])
    near = nx.single_source_shortest_path_length(graph, "Gavroche", 2)
    assert answered[TWO_STEPS].text == f"There are {len(near) - 1}."
    assert answered[TWO_STEPS].operators == ["find", "traverse"]
    if not directed:
        name, degree = max(graph.degree, key=lambda each: each[1])
        assert answered[MOST].text == f"{name}: {degree}."
