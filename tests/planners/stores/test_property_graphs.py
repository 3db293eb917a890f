"""Property graphs: one conformance suite over all stores."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, StatementError
from planners.stores import open_graph
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import (
    EdgeRow,
    InsertNode,
    MergeEdge,
    MergeNode,
    NodeRef,
    NodeRow,
    Operation,
    PropertyGraph,
    PropertyRows,
    QueryLimits,
    ReplaceGraph,
)
from tests.planners.stores.graph_operations import OPERATIONS, PlainGraph
from tests.planners.stores.stores import PARAMS, STORES, TEXTS, contents, typed

ANN = NodeRef(label="Author", key={"name": "Ann Ott"})
BOOKS = NodeRef(label="Book", key={})
LIBRARY: list[Operation] = [
    MergeNode(node=ANN, properties={"born": 1965, "height": 1.5, "alive": True, "tags": ("b", "a", "a")}),
    InsertNode(label="Book", properties={"title": "One"}),
    InsertNode(label="Book", properties={"title": "Two"}),
    MergeEdge(type="WROTE", source=ANN, target=BOOKS, properties={"year": 1990}),
]
ODD = 'it\'s "quoted" \\ back\\nslash `tick`\nline\r\n\ttab ß → 𝕏 {brace} $dollar; // # /* -- <tag> & %s \\u0027'


@pytest.fixture(params=PARAMS)
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[PropertyGraph]:
    """An empty graph of each store."""
    async with STORES[request.param](request) as opened:
        yield opened


def _text(graph: PropertyGraph, name: str) -> str:
    return TEXTS[name][graph.language]


async def test_a_graph_holds_what_was_inserted(graph: PropertyGraph) -> None:
    await graph.apply(LIBRARY)
    state = await graph.state()
    assert [(node.id, node.label, typed(node.properties)) for node in state.nodes] == [
        (
            "n1",
            "Author",
            typed({"alive": True, "born": 1965, "height": 1.5, "name": "Ann Ott", "tags": ("b", "a", "a")}),
        ),
        ("n2", "Book", typed({"title": "One"})),
        ("n3", "Book", typed({"title": "Two"})),
    ]
    assert [(edge.type, edge.source, edge.target, dict(edge.properties)) for edge in state.edges] == [
        ("WROTE", "n1", "n2", {"year": 1990}),
        ("WROTE", "n1", "n3", {"year": 1990}),
    ]
    assert sorted((await graph.query(_text(graph, "titles of an author"))).rows) == [("One",), ("Two",)]


async def test_quotes_backslashes_and_line_breaks_stay_as_they_are(graph: PropertyGraph) -> None:
    odd = NodeRef(label=f"L {ODD}", key={f"k {ODD}": ODD})
    await graph.apply(
        [
            InsertNode(label="Thing", properties={"name": ODD}),
            InsertNode(label=odd.label, properties=odd.key),
            MergeEdge(type=f"T {ODD}", source=odd, target=odd, properties={f"p {ODD}": (ODD, "")}),
        ]
    )
    state = await graph.state()
    assert [(node.label, dict(node.properties)) for node in state.nodes] == [
        (odd.label, dict(odd.key)),
        ("Thing", {"name": ODD}),
    ]
    assert (state.edges[0].type, dict(state.edges[0].properties)) == (f"T {ODD}", {f"p {ODD}": (ODD, "")})
    assert (ODD,) in (await graph.query(_text(graph, "all names"))).rows


@pytest.mark.parametrize(
    "operation",
    [
        InsertNode(label="", properties={}),
        InsertNode(label="Thing", properties={"": 1}),
        InsertNode(label="Thing", properties={"v": 2**63}),
        InsertNode(label="Thing", properties={"v": float("nan")}),
        InsertNode(label="Thing", properties={"v": ("a", 1)}),
        InsertNode(label="Thing", properties={"v": {"a": 1}}),  # type: ignore[dict-item]
        InsertNode(label="Thing", properties={"v": "\ud800"}),
        InsertNode(label="Thing", properties={"v": "x" * 1_000_001}),
        MergeEdge(type=" ", source=ANN, target=ANN),
    ],
    ids=["label", "name", "big", "nan", "mixed", "map", "surrogate", "long", "type"],
)
async def test_one_fault_undoes_all_operations(graph: PropertyGraph, operation: Operation) -> None:
    await graph.apply(LIBRARY)
    before = await graph.state()
    with pytest.raises(StatementError):
        await graph.apply([InsertNode(label="Thing", properties={"name": "gone"}), ReplaceGraph(), operation])
    assert await graph.state() == before
    assert sorted((await graph.query(_text(graph, "all names"))).rows) == [("Ann Ott",)]


async def test_a_text_that_is_not_unicode_is_refused(graph: PropertyGraph) -> None:
    """Engines tell of their own insides where they are given one: types, signatures, addresses of objects."""
    await graph.apply([InsertNode(label="A", properties={"n": 1})])
    query = {"cypher": "RETURN '\ud800' AS x", "sparql": "SELECT ?s { ?s ?p '\ud800' }", "python": "result = '\ud800'"}[
        graph.language
    ]
    with pytest.raises(StatementError, match="a character that is none of Unicode text"):
        await graph.query(query)
    assert len((await graph.state()).nodes) == 1


async def test_concurrent_calls_each_apply_whole(graph: PropertyGraph) -> None:
    pair = [InsertNode(label="Pair", properties={"half": half}) for half in (1, 2)]
    await asyncio.gather(*(graph.apply(pair) for _ in range(10)), *(graph.state() for _ in range(3)))
    halves = [node.properties["half"] for node in (await graph.state()).nodes]
    assert halves == [1] * 10 + [2] * 10


async def test_rows_are_limited_and_said_to_be(graph: PropertyGraph) -> None:
    await graph.apply([InsertNode(label="Thing", properties={"name": f"t{n}"}) for n in range(7)])
    all_rows = await graph.query(_text(graph, "all names"), limits=QueryLimits(rows=7))
    assert (len(all_rows.rows), all_rows.cut) == (7, False)
    some = await graph.query(_text(graph, "all names"), limits=QueryLimits(rows=5))
    assert (len(some.rows), some.cut, some.columns[0] != "") == (5, True, True)


async def test_endless_queries_end_and_the_graph_goes_on(graph: PropertyGraph) -> None:
    await graph.apply([InsertNode(label="Thing", properties={"name": f"t{n}", "n": n}) for n in range(120)])
    with pytest.raises(StatementError, match="longer than"):
        await graph.query(_text(graph, "endless"), limits=QueryLimits(seconds=0.5))
    assert len((await graph.query(_text(graph, "all names"))).rows) == 120


@pytest.mark.parametrize("name", ["write while reading", "broken", "files"])
async def test_queries_neither_write_nor_leave_the_graph(graph: PropertyGraph, name: str) -> None:
    await graph.apply(LIBRARY)
    before = await graph.state()
    if (graph.language, name) == ("python", "write while reading"):  # code works on a copy
        assert (await graph.query(_text(graph, name))).rows == ((1,),)
    else:
        with pytest.raises(StatementError):
            await graph.query(_text(graph, name))
    assert await graph.state() == before


async def test_a_state_replaces_the_graph(graph: PropertyGraph) -> None:
    await graph.apply(LIBRARY)
    edges = {at: EdgeRow("R", *ends, {}) for at, ends in enumerate([(0, 1), (2, 2)])}
    twins = PropertyRows(nodes={at: NodeRow("Twin", {}) for at in range(4)}, edges=edges).state()
    await graph.apply([ReplaceGraph(state=twins)])
    assert await graph.state() == twins
    await graph.apply([ReplaceGraph()])
    assert not (await graph.state()).nodes


@settings(max_examples=25)
@given(batches=st.lists(st.lists(OPERATIONS, max_size=6), min_size=1, max_size=4))
async def test_any_operations_do_what_the_oracle_says(graph: PropertyGraph, batches: list[list[Operation]]) -> None:
    plain = PlainGraph()
    await graph.apply([ReplaceGraph()])
    for batch in batches:
        await graph.apply(batch)
        for operation in batch:
            plain.apply(operation)
        state = await graph.state()
        assert contents(state) == contents(plain.state())
    memory = MemoryGraph(state=state)  # and through another store nothing is lost
    await graph.apply([ReplaceGraph(state=await memory.state())])
    assert contents(await graph.state()) == contents(plain.state())


@pytest.mark.parametrize("address", ["", "oracle", "neo4j", "memory:x", "ladybug:x", "rdf:http://127.0.0.1:9"])
async def test_an_address_that_is_none_lists_those_there_are(address: str) -> None:
    with pytest.raises(InvalidArgumentError, match="memory, neo4j:bolt"):
        async with open_graph(address):
            pass
