"""Blueprints: equal flows are merged, different ones are not."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from planners.graphseek.catalog.semantic_catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.graphseek.operators.flow_merging import MERGED, flows_into, merged_flows
from planners.graphseek.results.result import GraphPart, ResultEdge, ResultNode
from tests.planners.graphseek.operators.operator_runs import ladybug_runs
from tests.planners.graphseek.operators.random_graph import Edge, RandomGraph


def _part(nodes: dict[str, str], edges: list[tuple[str, str, float]]) -> GraphPart:
    """A graph of nodes with names, and edges with costs."""
    return GraphPart(
        nodes=tuple(ResultNode(id=id_, type="Part", properties={"name": name}) for id_, name in nodes.items()),
        edges=tuple(
            ResultEdge(type="IN", source=a, target=b, properties={"cost": cost, "month": a}) for a, b, cost in edges
        ),
    )


def _merged(part: GraphPart, start: str) -> GraphPart:
    return merged_flows(part, [start], lambda node: str(node.properties["name"]), lambda type_: frozenset({"cost"}))


def test_flows_of_two_months_are_one() -> None:
    nodes = {"m": "Model", "jan": "weld", "feb": "weld", "p": "pack"}
    merged = _merged(_part(nodes, [("p", "jan", 1.5), ("p", "feb", 2.0), ("jan", "m", 4.0), ("feb", "m", 8.0)]), "m")
    assert {(n.properties["name"], n.properties[MERGED]) for n in merged.nodes} == {
        ("Model", 1),
        ("weld", 2),
        ("pack", 1),
    }
    assert {(e.source, e.target, e.properties["cost"], e.properties[MERGED]) for e in merged.edges} == {
        ("p", "jan", 3.5, 2),
        ("jan", "m", 12.0, 2),
    }
    assert ["month" in e.properties for e in merged.edges] == [True, False], "what differs is left out"


def test_variants_that_differ_far_away_stay_two() -> None:
    nodes = {"m": "Model", "a": "weld", "b": "weld", "x": "press", "y": "press", "steel": "steel", "iron": "iron"}
    edges = [("a", "m"), ("b", "m"), ("x", "a"), ("y", "b"), ("steel", "x"), ("iron", "y")]
    merged = _merged(_part(nodes, [(source, target, 1.0) for source, target in edges]), "m")
    assert len(merged.nodes) == 7


def test_cycles_and_self_loops_end() -> None:
    part = _part(
        {"m": "Model", "a": "weld", "b": "weld"}, [("a", "a", 1.0), ("b", "b", 1.0), ("a", "m", 1.0), ("b", "m", 1.0)]
    )
    merged = _merged(part, "m")
    assert [node.properties[MERGED] for node in merged.nodes] == [1, 2]
    flows = flows_into(part, ["m"], 1, along=True)
    assert {(edge.source, edge.target) for edge in flows.edges} == {("a", "m"), ("b", "m")}


_CATALOG = SemanticCatalog(
    nodes={"Person": NodeDescriptor(properties={"name": PropertyDescriptor(role="name")})},
    relationships={
        "KNOWS": RelationshipDescriptor(
            properties={"weight": PropertyDescriptor(role="amount"), "plan": PropertyDescriptor(role="plan or actual")}
        )
    },
)


def test_the_operator_merges_parallel_relationships_of_the_graph() -> None:
    names = {"P1": "Model", "P2": "weld", "P3": "weld", "P4": "pack"}
    edges = [
        Edge("KNOWS", "P2", "P1", {"weight": 1.0, "plan": "Plan", "year": 2022}),
        Edge("KNOWS", "P2", "P1", {"weight": 2.0, "plan": "Plan", "year": 2023}),
        Edge("KNOWS", "P3", "P1", {"weight": 4.0, "plan": "Plan"}),
        Edge("KNOWS", "P4", "P2", {"weight": 1.5, "plan": "Plan"}),
        Edge("KNOWS", "P4", "P3", {"weight": 1.5, "plan": "Plan"}),
        Edge("KNOWS", "P4", "P1", {"weight": 9.0, "plan": "Actuals"}),
    ]
    properties = {key: {"key": key, "name": name} for key, name in names.items()}
    graph = RandomGraph(dict.fromkeys(names, "Person"), properties, tuple(edges))
    start = {"type": "Person", "filters": [{"key": "name", "operator": "=", "value": "Model"}]}

    async def merged(folder: Path, **arguments: Any) -> set[tuple[str, str, Any, Any]]:
        async with ladybug_runs(graph, folder, _CATALOG) as runs:
            part = await runs.part("blueprints", start=start, **arguments)
        of = {node.id: str(node.properties["name"]) for node in part.nodes}
        return {(of[e.source], of[e.target], e.properties["weight"], e.properties[MERGED]) for e in part.edges}

    for arguments, more in ({}, {("pack", "Model", 9.0, 1)}), ({"plan_or_actual": "planned"}, set()):
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(merged(Path(folder), **arguments))
        assert found == {("weld", "Model", 7.0, 3), ("pack", "weld", 3.0, 2)} | more
