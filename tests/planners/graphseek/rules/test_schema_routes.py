"""Ways between types: as cheap as the shortest paths of NetworkX."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.graphs.graph_schema import GraphSchema, NodeType, RelationshipEnds, RelationshipType, TypeMark
from planners.graphseek.rules.schema_routes import routes_between

_NAMES = "ABCDE"
_COSTS = {3: 1.0, 2: 1.25, 1: 2.0, 0: 3.0}


def _schema(pairs: Sequence[tuple[str, str]]) -> GraphSchema:
    nodes = tuple(NodeType(name=name, mark=TypeMark(label=name)) for name in _NAMES)
    relationships = tuple(
        RelationshipType(name=f"R{at}", ends=(RelationshipEnds(source=source, target=target),))
        for at, (source, target) in enumerate(pairs)
    )
    return GraphSchema(nodes=nodes, relationships=relationships)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES)), max_size=7),
    st.dictionaries(st.sampled_from([f"R{at}" for at in range(7)]), st.integers(0, 3)),
)
def test_the_cheapest_way_is_found(pairs: list[tuple[str, str]], said: dict[str, int]) -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(_NAMES)
    for at, (source, target) in enumerate(pairs):
        cost = min(_COSTS[said.get(f"R{at}", 0)], graph.get_edge_data(source, target, {"cost": 9.0})["cost"])
        graph.add_edge(source, target, cost=cost)
    routes = routes_between(_schema(pairs), "A", "E", said)
    if not nx.has_path(graph, "A", "E"):
        assert not routes
        return
    assert {each.cost for each in routes} == {nx.shortest_path_length(graph, "A", "E", weight="cost")}


def test_a_relationship_that_leads_on_is_followed_on() -> None:
    nodes = tuple(NodeType(name=name, mark=TypeMark(label=name)) for name in ("City", "County", "State"))
    ends = tuple(
        RelationshipEnds(source=a, target=b) for a, b in (("City", "County"), ("City", "State"), ("County", "State"))
    )
    schema = GraphSchema(nodes=nodes, relationships=(RelationshipType(name="IN", ends=ends),))
    (route,) = routes_between(schema, "City", "State", {})
    assert [(hop.target, hop.chained) for hop in route.hops] == [("State", True)]
    (back,) = routes_between(schema, "State", "City", {})
    assert (back.hops[0].direction, back.hops[0].chained) == ("in", True)
    (short,) = routes_between(schema, "City", "County", {})
    assert not short.hops[0].chained
