"""The tool graph: nodes, edges, evidence, order."""

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.graph import build_graph
from ingest.linking.edges import DerivedEdge
from ontology import Dependency, Tool
from ontology.tool_graph import MAX_PROVENANCE
from tests.harness.graphs import as_networkx
from tests.ingest import triple


def test_every_tool_is_a_node_even_without_a_triple() -> None:
    graph = as_networkx(build_graph([Tool(id="b", name="B"), Tool(id="a", name="A", metadata={"title": "First"})], []))
    assert list(graph) == ["tool:b", "tool:a"]
    assert graph.nodes["tool:a"] == {
        "type": "tool",
        "id": "a",
        "name": "First",
        "text": "First",
        "surface_forms": (),
        "degree": 0,
    }


def test_evidence_of_one_assertion_is_gathered_on_one_edge() -> None:
    triples = [
        triple("a", "has_entity", "order", confidence=0.1 * number, field=f"f{number:02}", phrase="is about")
        for number in range(1, 11)
    ]
    graph = as_networkx(build_graph([Tool(id="a", name="A")], triples))
    edge = graph.edges["tool:a", "business_object:order", "has_entity"]
    assert graph.number_of_edges() == 1
    assert edge["confidence"] == pytest.approx(1.0)
    assert edge["evidence_count"] == 10
    assert len(edge["provenance"]) == MAX_PROVENANCE
    assert list(edge["provenance"]) == sorted(edge["provenance"])
    assert edge["phrases"] == ("is about",)


def test_derived_edges_are_kept_apart_by_parameter() -> None:
    edges = [
        DerivedEdge(
            source="a",
            predicate="supplies",
            target="b",
            parameter=parameter,
            output="id",
            entity="order",
            field="id",
            confidence=0.5,
        )
        for parameter in ("order_id", "parent_order_id")
    ]
    graph = as_networkx(build_graph([Tool(id="a", name="A"), Tool(id="b", name="B")], [], derived=edges))
    assert sorted(graph["tool:a"]["tool:b"]) == ["supplies:order_id", "supplies:parent_order_id"]
    edge = graph.edges["tool:a", "tool:b", "supplies:order_id"]
    assert (edge["predicate"], edge["parameter"], edge["output"], edge["entity"]) == (
        "supplies",
        "order_id",
        "id",
        "order",
    )
    assert {provenance.tool_id for provenance in edge["provenance"]} == {"a", "b"}


def test_a_declared_dependency_says_which_output_fills_which_input() -> None:
    tools = [
        Tool(id="a", name="A", depends_on=(Dependency(tool="b", parameter="order_id", output="id"),)),
        Tool(id="b", name="B"),
    ]
    graph = as_networkx(build_graph(tools, [triple("a", "depends_on", "b", types=("tool", "tool"))]))
    edge = graph.edges["tool:a", "tool:b", "depends_on"]
    assert (edge["parameter"], edge["output"]) == ("order_id", "id")


def test_a_triple_about_a_tool_outside_the_catalogue_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    graph = as_networkx(
        build_graph([Tool(id="a", name="A")], [triple("a", "depends_on", "gone", types=("tool", "tool"))])
    )
    assert list(graph) == ["tool:a"]
    assert "1 triple(s)" in caplog.text


NAMES = st.sampled_from(["order", "supplier", "invoice", "user", "a:b", "é"])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["has_entity", "related_to"]), NAMES), max_size=30))
def test_the_graph_is_that_of_networkx_whatever_the_order(assertions: list[tuple[str, str, str]]) -> None:
    tools = [Tool(id=name, name=name.upper()) for name in "cab"]
    triples = [triple(*assertion) for assertion in assertions]
    graph = as_networkx(build_graph(tools, triples))
    expected: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    expected.add_nodes_from(f"tool:{tool.id}" for tool in tools)
    for head, predicate, tail in assertions:
        expected.add_edge(f"tool:{head}", f"business_object:{tail}", key=predicate)
    assert set(graph.edges(keys=True)) == set(expected.edges(keys=True))
    assert {node: data["degree"] for node, data in graph.nodes(data=True)} == dict(expected.degree())
    random.Random(7).shuffle(triples)
    again = as_networkx(build_graph(tools, triples))
    assert list(again.nodes(data=True)) == list(graph.nodes(data=True))
    assert list(again.edges(keys=True, data=True)) == list(graph.edges(keys=True, data=True))
