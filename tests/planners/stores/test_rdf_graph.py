"""Graphs as RDF, embedded and in a real endpoint: statements and queries in SPARQL, the layout, and what goes wrong.

What all stores do alike is in the conformance suite.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from ontology.errors import EgotoolsError, StatementError, StorageError
from planners.stores.property_graph import (
    InsertEdge,
    InsertNode,
    MergeNode,
    NodeRef,
    QueryLimits,
    Statement,
)
from planners.stores.rdf import OxigraphProcess, RdfGraph, open_rdf_graph
from tests.harness.http_server import Loopback, Reply
from tests.planners.stores.oxigraph_server import running_oxigraph

pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")

_ANN = NodeRef(label="Author", key={"name": "Ann"})
_BOOK = NodeRef(label="Book", key={})
_ENDLESS = (
    "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n2 ?o . ?p ?q ?r . ?s ?t ?u }"
)


@pytest.fixture(params=["embedded", "endpoint"])
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[RdfGraph]:
    url = request.getfixturevalue("oxigraph_address") if request.param == "endpoint" else None
    async with open_rdf_graph(url) as opened:
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


async def test_a_cancelled_query_leaves_the_graph_usable() -> None:
    async with open_rdf_graph() as graph:
        await graph.apply([InsertNode(label="N", properties={"n": n}) for n in range(60)])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await graph.query(_ENDLESS)
        assert len((await graph.query("SELECT ?x WHERE { ?x a :N }")).rows) == 60


async def test_a_dead_endpoint_is_told_without_the_password() -> None:
    with running_oxigraph() as address:
        url = address.replace("//", "//user:hunter2@")
        async with open_rdf_graph(url) as graph:
            await graph.apply([InsertNode(label="A")])
            dead = graph
    with pytest.raises(StorageError, match="endpoint"):
        async with open_rdf_graph(url):
            pytest.fail("opened")
    with pytest.raises((StorageError, RuntimeError)) as caught:
        await dead.state()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (200, {}, b"not json"),
        (200, {}, b'{"head": {"vars": ["s"]}, "results": {"bindings": [{"s": {"type": "triple", "value": {}}}]}}'),
        (200, {"Content-Encoding": "gzip"}, b"x"),
        (302, {"Location": "http://127.0.0.1:1/"}, b""),
        (401, {}, b""),
        (507, {}, b"disk full"),
    ],
    ids=["no-json", "triple", "compressed", "redirect", "password", "full"],
)
async def test_odd_endpoints_are_named_errors(status: int, headers: dict[str, str], body: bytes) -> None:
    with Loopback(lambda arrived: Reply(status=status, headers=headers, body=body)) as server:
        with pytest.raises(EgotoolsError, match="endpoint"):
            async with open_rdf_graph(server.url):
                pytest.fail("opened")


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
