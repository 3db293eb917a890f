"""Graphs as RDF, embedded and in a real endpoint: statements and queries in SPARQL, the layout, and what goes wrong.

What all stores do alike is in the conformance suite.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import signal
import socket
from collections.abc import AsyncIterator

import httpx
import pytest

from ontology.errors import EgotoolsError, InvalidArgumentError, MissingExtraError, StatementError, StorageError
from planners.graphs.property_graph import (
    DeleteEdge,
    GraphState,
    InsertEdge,
    InsertNode,
    MergeNode,
    NodeRef,
    QueryLimits,
    Statement,
)
from planners.graphs.rdf.oxigraph_process import OxigraphProcess
from planners.graphs.rdf.rdf_graph import RdfGraph, open_rdf_graph
from tests.harness.http_server import Loopback, Reply
from tests.planners.graphs.oxigraph_server import OwnOxigraph, running_oxigraph

pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")

_ANN = NodeRef(label="Author", key={"name": "Ann"})
_BOOK = NodeRef(label="Book", key={})
_ENDLESS = (
    "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n2 ?o . ?p ?q ?r . ?s ?t ?u }"
)

_SOME = "{ VALUES ?%s { 1 2 3 4 5 6 7 8 9 10 } }"
_ENDLESS_ROWS = f"SELECT (COUNT(*) AS ?n) {{ {' '.join(_SOME % chr(97 + at) for at in range(12))} }}"


def _child(process: OxigraphProcess) -> int:
    started = process._process
    assert started is not None
    return started.pid


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


def _edges(state: GraphState) -> list[tuple[str, dict[str, object]]]:
    return [(edge.type, dict(edge.properties)) for edge in state.edges]


async def test_simple_triples_are_found(graph: RdfGraph) -> None:
    await _filled(graph)
    rows = await graph.query("SELECT ?title WHERE { ?a a :Author ; :name 'Ann' . ?a :WROTE ?b . ?b :title ?title }")
    assert (rows.columns, rows.rows, rows.cut) == (("title",), (("One",),), False)
    node = await graph.query("SELECT ?a ?type ?height WHERE { ?a a ?type ; :born 1965 ; :height ?height }")
    ann = {"label": "Author", "properties": {"born": 1965, "height": 1.5, "name": "Ann", "tags": ["b", "a", "a"]}}
    assert node.rows == ((ann, "Author", 1.5),)
    assert (await graph.query("ASK { ?a :born ?b FILTER(?b > 1964) }")).rows == ((True,),)


async def test_parallel_edges_and_their_properties(graph: RdfGraph) -> None:
    await _filled(graph)
    edge = InsertEdge(type="WROTE", source=_ANN, target=_BOOK, properties={"year": 1997})
    await graph.apply([edge, edge])
    assert _edges(await graph.state()) == [("WROTE", {}), ("WROTE", {"year": 1997}), ("WROTE", {"year": 1997})]
    assert len((await graph.query("SELECT ?b WHERE { ?a :WROTE ?b }")).rows) == 1
    years = await graph.query("SELECT ?y WHERE { ?e edge:source ?a ; edge:type :WROTE ; edge:target ?b ; :year ?y }")
    assert years.rows == ((1997,), (1997,))
    await graph.apply([DeleteEdge(type="WROTE", source=_ANN, target=_BOOK, properties={"year": 1997})])
    assert _edges(await graph.state()) == [("WROTE", {})]
    assert (await graph.query("ASK { ?e edge:type ?t }")).rows == ((False,),)


async def test_a_statement_inserts_nodes_properties_and_edges(graph: RdfGraph) -> None:
    await _filled(graph)
    await graph.apply(
        [
            Statement(
                text="INSERT DATA { :two a :Book ; :title $title ; :price 2.5 ; :alias 'x', 'y' } ;"
                " INSERT { ?a :WROTE :two . [] edge:source ?a ; edge:type :LIKES ; edge:target :two ; :since 2001 }"
                " WHERE { ?a a :Author }",
                parameters={"title": 'T\'wo\\ "2"'},
            )
        ]
    )
    state = await graph.state()
    assert [dict(node.properties) for node in state.nodes if node.label == "Book"] == [
        {"alias": ("x", "y"), "price": 2.5, "title": 'T\'wo\\ "2"'},
        {"title": "One"},
    ]
    assert sorted(_edges(state), key=str) == [("LIKES", {"since": 2001}), ("WROTE", {}), ("WROTE", {})]


@pytest.mark.parametrize("name", ["%41", "a>b <c", "\\u0041", "größe", "a.b-c/d#e", "word of the day", "²"])
async def test_names_are_names_whatever_they_hold(graph: RdfGraph, name: str) -> None:
    await graph.apply([InsertNode(label=name, properties={name: name}), InsertNode(label="A")])
    ref = NodeRef(label=name, key={name: name})
    await graph.apply([InsertEdge(type=name, source=ref, target=NodeRef(label="A", key={}), properties={name: 1})])
    state = await graph.state()
    assert [(n.label, dict(n.properties)) for n in state.nodes if n.label != "A"] == [(name, {name: name})]
    assert _edges(state) == [(name, {name: 1})]
    assert len((await graph.query("SELECT ?t WHERE { ?x a ?t } ORDER BY ?t")).rows) == 2


async def test_names_of_letters_are_written_as_they_are(graph: RdfGraph) -> None:
    await graph.apply([Statement(text="INSERT DATA { :x a :Größe ; :日本 'y' ; :word%20of%20the%20day 'z' }")])
    (node,) = (await graph.state()).nodes
    assert (node.label, dict(node.properties)) == ("Größe", {"word of the day": "z", "日本": "y"})
    assert (await graph.query("SELECT ?v WHERE { ?x a :Größe ; :日本 ?v }")).rows == (("y",),)


async def test_a_statement_sets_a_property(graph: RdfGraph) -> None:
    await _filled(graph)
    text = "DELETE { ?a :born ?old } INSERT { ?a :born 1966 } WHERE { ?a :name 'Ann' ; :born ?old }"
    await graph.apply([Statement(text=text)])
    assert (await graph.query("SELECT ?b WHERE { ?a :born ?b }")).rows == ((1966,),)


async def test_a_statement_that_deletes_a_node_takes_its_edges(graph: RdfGraph) -> None:
    await _filled(graph)
    await graph.apply(
        [
            InsertEdge(type="LIKES", source=_ANN, target=_BOOK, properties={"since": 1}),
            Statement(text="DELETE WHERE { ?b :title 'One' ; ?p ?o }"),
        ]
    )
    state = await graph.state()
    assert ([node.label for node in state.nodes], state.edges) == (["Author"], ())


async def test_a_statement_that_deletes_a_triple_takes_its_edges(graph: RdfGraph) -> None:
    await _filled(graph)
    edge = InsertEdge(type="WROTE", source=_ANN, target=_BOOK, properties={"year": 1997})
    await graph.apply([edge, Statement(text="DELETE WHERE { ?a :WROTE ?b }")])
    assert ((await graph.state()).edges, len((await graph.state()).nodes)) == ((), 2)


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


async def test_a_query_that_fails_says_why(graph: RdfGraph) -> None:
    with pytest.raises(StatementError, match="this is no SPARQL"):
        await graph.query("SELECT ?x WHERE { ?x ?x }")
    with pytest.raises(StatementError, match="SERVICE is not allowed"):
        await graph.query("SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }")


async def test_rows_are_cut_at_the_limit(graph: RdfGraph) -> None:
    await graph.apply([InsertNode(label="N", properties={"n": n}) for n in range(5)])
    cut = await graph.query("SELECT ?n WHERE { ?x :n ?n } ORDER BY ?n", limits=QueryLimits(rows=2))
    assert (cut.rows, cut.cut) == (((0,), (1,)), True)
    whole = await graph.query("SELECT ?n WHERE { ?x :n ?n } ORDER BY ?n LIMIT 2", limits=QueryLimits(rows=2))
    assert (whole.rows, whole.cut) == (((0,), (1,)), False)


class TestEndless(OwnOxigraph):
    async def test_an_endless_query_is_stopped(self, graph: RdfGraph) -> None:
        await graph.apply([InsertNode(label="N", properties={"n": n}) for n in range(60)])
        with pytest.raises(StatementError, match=r"longer than 0\.5 s"):
            await graph.query(_ENDLESS, limits=QueryLimits(seconds=0.5))
        assert (await graph.query("SELECT (COUNT(?x) AS ?n) WHERE { ?x a :N }")).rows == ((60,),)

    async def test_an_endless_statement_is_stopped(self, graph: RdfGraph, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("planners.graphs.rdf.rdf_graph._WRITE_S", 0.5)
        await graph.apply([InsertNode(label="N", properties={"n": n}) for n in range(60)])
        before = await graph.state()
        pattern = _ENDLESS.partition("WHERE")[2]
        with pytest.raises(StatementError, match=r"longer than 0\.5 s"):
            await graph.apply([Statement(text=f"INSERT {{ ?a :x 1 }} WHERE {pattern}")])
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


async def test_graphs_of_one_endpoint_are_apart_and_vanish(oxigraph_address: str) -> None:
    async with open_rdf_graph(oxigraph_address) as one, open_rdf_graph(oxigraph_address) as other:
        await asyncio.gather(
            *(graph.apply([InsertNode(label=label)]) for graph, label in ((one, "A"), (other, "B"), (one, "C")))
        )
        assert [node.label for node in (await one.state()).nodes] == ["A", "C"]
        assert (await other.query("SELECT ?t WHERE { ?x a ?t }")).rows == (("B",),)
    async with httpx.AsyncClient() as client:
        left = await client.post(f"{oxigraph_address}/query", data={"query": "ASK { GRAPH ?g { ?s ?p ?o } }"})
    assert left.json()["boolean"] is False


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


async def test_an_endpoint_that_dies_in_between_is_told() -> None:
    with running_oxigraph() as address:
        context = open_rdf_graph(address.replace("//", "//user:hunter2@"))
        graph = await context.__aenter__()
        await graph.apply([InsertNode(label="A")])
    for call in (graph.state(), graph.query("ASK { ?s ?p ?o }"), graph.apply([InsertNode(label="B")])):
        with pytest.raises(StorageError, match=r"http://127\.0\.0\.1") as caught:
            await call
        assert "hunter2" not in str(caught.value) + repr(caught.value)
        assert caught.value.__cause__ is None
    await context.__aexit__(None, None, None)


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


@pytest.mark.parametrize("url", ["ftp://x", "hunter2", "http://"])
async def test_a_malformed_address(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="http"):
        async with open_rdf_graph(url):
            pytest.fail("opened")


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"requirements/rdf\.txt"):
        async with open_rdf_graph():
            pytest.fail("opened")


async def test_the_engine_has_no_network() -> None:
    """A second guard: what the allow-list would miss is no request."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        process = OxigraphProcess()
        try:
            for request in (
                {"do": "query", "text": f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}", "rows": 1},
                {"do": "update", "triples": "", "text": f"LOAD <{address}>"},
            ):
                with pytest.raises(StatementError, match="SPARQL"):
                    await process.ask(request, 30)
                with pytest.raises(BlockingIOError):  # nobody has called
                    server.accept()
            assert await process.ask({"do": "start"}, 30) == {"filtered": True}
        finally:
            await process.close()


async def test_where_no_filter_is_known_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    async with open_rdf_graph() as graph:
        await graph.apply([InsertNode(label="A")])
        assert (await graph.query("ASK { ?a a :A }")).rows == ((True,),)
    assert "no filter" in caplog.text


async def test_an_engine_that_is_killed_is_not_said_to_lack_memory() -> None:
    process = OxigraphProcess()
    await process.ask({"do": "load", "triples": ""}, 30)
    asked = asyncio.create_task(process.ask({"do": "query", "text": _ENDLESS_ROWS, "rows": 1}, 30))
    await asyncio.sleep(0.2)
    os.kill(_child(process), signal.SIGKILL)
    with pytest.raises(StatementError, match="ended while it ran this, by SIGKILL"):
        await asked
    await process.ask({"do": "load", "triples": ""}, 30)  # by a new one
    await process.close()
