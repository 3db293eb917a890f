"""Graphs as RDF: queries in SPARQL, the layout, and what goes wrong. What all stores do alike is in the conformance suite."""

import pytest

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.stores.property_graph import InsertNode, MergeEdge, MergeNode, NodeRef, Operation, QueryLimits
from planners.stores.rdf import RdfGraph
from tests.harness.http_server import Loopback
from tests.harness.waiting import LIMIT_S

pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")
pytestmark = pytest.mark.usefixtures("needs_sandbox")
SANDBOX = Sandbox(SandboxLimits(seconds=LIMIT_S))


@pytest.mark.slow
async def test_a_query_that_takes_all_memory_is_stopped() -> None:
    graph = RdfGraph(SANDBOX)
    await graph.apply([InsertNode(label="N", properties={"n": n, "text": "x" * 100}) for n in range(200)])
    with pytest.raises(StatementError, match="memory"):
        limits = QueryLimits(seconds=15)
        await graph.query("SELECT * WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i ?f ?c", limits=limits)
    assert len((await graph.query("SELECT ?x WHERE { ?x a :N }")).rows) == 200


async def test_a_query_reaches_neither_servers_nor_files_and_changes_nothing() -> None:
    graph = RdfGraph(SANDBOX)
    await graph.apply([InsertNode(label="N")])
    with Loopback() as server:
        address = f"{server.url}/"
        for text in (
            f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}",
            f"SELECT * FROM <{address}> WHERE {{ ?s ?p ?o }}",
            f"LOAD <{address}>",
            "SELECT * FROM <file:///etc/passwd> WHERE { ?s ?p ?o }",
            "INSERT DATA { :a a :B }",
            "SELECT * WHERE { ?s ?p ?o } ; DROP ALL",
            "CONSTRUCT WHERE { ?s ?p ?o }",
            "",
        ):
            try:
                assert (await graph.query(text)).rows == (), text
            except StatementError as fault:
                assert fault.subject == "SPARQL" and fault.remedy
        assert server.arrived == []
    assert len((await graph.state()).nodes) == 1


async def test_an_edge_has_a_resource_where_it_has_properties_or_a_twin() -> None:
    ann, book = NodeRef(label="Author", key={"name": "Ann"}), NodeRef(label="Book", key={})
    graph = RdfGraph(SANDBOX)
    nodes: list[Operation] = [MergeNode(node=ann, properties={"tags": ("b", "a")}), InsertNode(label="Book")]
    wrote = [MergeEdge(type="WROTE", source=ann, target=book, properties={"year": year}) for year in (1, 2)]
    await graph.apply([*nodes, MergeEdge(type="KNOWS", source=ann, target=ann), *wrote])
    edges = "SELECT ?y ?a { ?e edge:source ?a ; edge:type :WROTE ; edge:target ?b ; :year ?y } ORDER BY ?y"
    author = {"label": "Author", "properties": {"name": "Ann", "tags": ["b", "a"]}}
    assert (await graph.query(edges)).rows == ((1, author), (2, author))
    assert (await graph.query("SELECT ?p { ?a a :Author ; ?p ?b . ?b a :Author }")).rows == (("KNOWS",),)
    assert (await graph.query("SELECT (COUNT(?e) AS ?n) { ?e edge:type ?t }")).rows == ((2,),)
    assert (await graph.query("ASK { ?a :tags ?t }")).rows == ((True,),)
