"""Graphs as RDF: statements and queries in SPARQL, the layout, and what goes wrong. What all stores do alike is in the conformance suite."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import pytest

from ontology.errors import StatementError
from planners.stores.property_graph import (
    InsertEdge,
    InsertNode,
    MergeNode,
    NodeRef,
    QueryLimits,
    Statement,
)
from planners.stores.rdf import OxigraphProcess, RdfGraph, open_rdf_graph

pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")

_ANN = NodeRef(label="Author", key={"name": "Ann"})
_BOOK = NodeRef(label="Book", key={})
_ENDLESS = (
    "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n2 ?o . ?p ?q ?r . ?s ?t ?u }"
)


@pytest.fixture
async def graph() -> AsyncIterator[RdfGraph]:
    async with open_rdf_graph() as opened:
        yield opened


async def _filled(graph: RdfGraph) -> RdfGraph:
    await graph.apply(
        [
            MergeNode(node=_ANN, properties={"born": 1965, "height": 1.5, "tags": ("b", "a", "a")}),
            InsertNode(label="Book", properties={"title": "One"}),
            InsertEdge(type="WROTE", source=_ANN, target=_BOOK),
        ]
    )
    return graph


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("LOAD <file:///etc/passwd>", "cannot start with 'LOAD'"),
        ("INSERT { ?s a :X } WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "SERVICE is not allowed"),
        ("DELETE WHERE { ?s ?p ?o }", "deletes all 3 nodes"),
        ("DELETE { ?s ?p ?o } INSERT { :new a :X } WHERE { ?s ?p ?o }", "deletes all 3 nodes"),
        ("INSERT DATA { :x :name 'no type' }", "no type"),
        ("INSERT DATA { :x a :A, :B }", "exactly one"),
        ("INSERT DATA { :x a :A ; :KNOWS :nobody }", "no node"),
        ("INSERT DATA { :x a <http://schema.org/Book> }", "no name of this graph"),
        ("INSERT DATA { :x a :A ; <http://schema.org/name> 'y' }", "no name of this graph"),
        ("INSERT DATA { :x a :A ; :n 'y', 2 }", "several types"),
        ("INSERT DATA { :x a :A ; :n 123456789012345678901234567890 }", "64 bits"),
        ("INSERT DATA { :x edge:source :y }", "not one source"),
        ("INSERT DATA { :x a :A :B }", "this is no SPARQL"),
        ("INSERT DATA { ?x a :A }", "SPARQL"),
    ],
)
async def test_statements_that_leave_no_property_graph_change_nothing(graph: RdfGraph, text: str, match: str) -> None:
    before = await (await _filled(graph)).state()
    with pytest.raises(StatementError, match=match):
        await graph.apply([InsertNode(label="Kept"), Statement(text=text)])
    assert await graph.state() == before


@pytest.mark.slow
async def test_a_query_that_takes_all_memory_is_stopped() -> None:
    async with open_rdf_graph() as graph:
        await graph.apply([InsertNode(label="N", properties={"n": n, "text": "x" * 100}) for n in range(200)])
        with pytest.raises(StatementError, match="memory"):
            await graph.query(
                "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i ?f ?c", limits=QueryLimits(seconds=60)
            )
        assert len((await graph.query("SELECT ?x WHERE { ?x a :N }")).rows) == 200


async def test_the_engine_has_no_network() -> None:
    """A second guard: what the allow-list would miss is no request."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        process = OxigraphProcess()
        try:
            for do, text in (
                ("query", f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"),
                ("update", f"LOAD <{address}>"),
            ):
                with pytest.raises(StatementError, match="SPARQL"):
                    await process.ask(do, set(), text, 30)
                with pytest.raises(BlockingIOError):  # nobody has called
                    server.accept()
        finally:
            await process.close()
