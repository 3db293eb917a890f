"""Graphs in Ladybug: statements of a model without any table made before, paths as Neo4j has them, files that are opened again."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.errors import MissingExtraError, StatementError, StorageError
from planners.graphs.ladybug.ladybug_graph import LadybugGraph
from planners.graphs.property_graph import DeleteNode, InsertNode, MergeNode, NodeRef, QueryLimits, Statement, Value
from tests.planners.graphs.conftest import Driven
from tests.planners.graphs.stores import contents


@pytest.fixture
async def graph() -> AsyncIterator[LadybugGraph]:
    opened = LadybugGraph()
    yield opened
    await opened.close()


async def _write(graph: LadybugGraph, *texts: str, **parameters: Value) -> None:
    await graph.apply([Statement(text=text, parameters=parameters) for text in texts])


async def _rows(graph: LadybugGraph, text: str, **parameters: Value) -> list[tuple[object, ...]]:
    return sorted((await graph.query(text, parameters)).rows, key=repr)


async def test_writer_and_word_of_the_day(graph: LadybugGraph) -> None:
    await _write(
        graph,
        'CREATE (w:Writer {name: "Ann Ott"})-[:QUOTED_FOR {source: "diary"}]->(d:Word {text: "petrichor", day: "2022-06-21"})',
        'MATCH (d:Word {text: "petrichor"}) MERGE (w:Writer {name: "Bo Lie"}) MERGE (w)-[:EXPLAINED]->(d)',
    )
    text = 'MATCH (w:Writer)-[:QUOTED_FOR]->(:Word {day: "2022-06-21"}) RETURN w.name AS name'
    assert await _rows(graph, text) == [("Ann Ott",)]


async def test_authors_and_books(graph: LadybugGraph) -> None:
    await _write(
        graph,
        'MERGE (a:Author {name: "Ann Ott", author_id: "A1"}) MERGE (b:Book {title: "One", book_id: "B1"})'
        ' MERGE (c:Book {title: "Two"}) MERGE (a)-[:WROTE]->(b) MERGE (a)-[:WROTE]->(c)',
        'CREATE (:Author {name: "Bo Lie"})-[:WROTE]->(:Book {title: "Three"})',
    )
    text = 'MATCH (a:Author {name: "Ann Ott"})-[:WROTE]->(b:Book) RETURN b.title'
    assert await _rows(graph, text) == [("One",), ("Two",)]
    assert (await graph.query(text)).columns == ("b.title",)


async def test_colleagues_are_found_without_oneself(graph: LadybugGraph) -> None:
    """A walk would come back over the edge that it went."""
    await _write(
        graph,
        "UNWIND [{n: 'Alice', d: 'HR'}, {n: 'Bob', d: 'HR'}, {n: 'Cleo', d: 'Law'}] AS row MERGE (d:Department {name: row.d})"
        " MERGE (e:Employee {name: row.n}) MERGE (e)-[:WORKS_IN]->(d)",
    )
    path = 'MATCH (e:Employee {name: "Bob"})-[:WORKS_IN]->(d:Department)<-[:WORKS_IN]-(c:Employee)'
    assert await _rows(graph, f'{path} WHERE c.name <> "Bob" RETURN c.name AS colleague') == [("Alice",)]
    assert await _rows(graph, f"{path} RETURN c.name") == [("Alice",)]
    assert await _rows(graph, 'MATCH (e {name: "Bob"})-->()<--(c) RETURN c.name') == [("Alice",)]
    everything = await graph.query('MATCH (e {name: "Bob"})-->(d)<--(c) RETURN *')
    assert everything.columns == ("e", "d", "c")
    assert await _rows(graph, 'MATCH (e {name: "Bob"})-[*2]-(c) RETURN c.name') == [("Alice",)]


async def test_paths_of_any_length_end_in_a_circle(graph: LadybugGraph) -> None:
    await _write(graph, "CREATE (a:P {n: 1})-[:R]->(b:P {n: 2})-[:R]->(c:P {n: 3}), (c)-[:R]->(a)")
    assert await _rows(graph, "MATCH (a:P {n: 1})-[:R*]->(b) RETURN b.n") == [(1,), (2,), (3,)]
    assert await _rows(graph, "MATCH p = (a:P {n: 1})-[:R*1..5]->(b) RETURN length(p)") == [(1,), (2,), (3,)]


async def test_what_ladybug_spells_otherwise(graph: LadybugGraph) -> None:
    await _write(
        graph,
        "CREATE (:P {n: 1, s: 'abc', old: true}), (:Q {n: 2})",
        "MATCH (p:P {n: 1}), (q {n: 2}) CREATE (p)-[:R {w: 1}]->(q)",
        "MATCH (p:P) SET p += {m: 2.5, l: ['x', 'y']} REMOVE p.old",
        "MATCH (q:Q) SET q = {k: 'only'}",
    )
    text = "MATCH (p:P|Q)-[r]->(q) WHERE q:Q RETURN labels(p), type(r), substring(p.s, 0, 2), round(p.m), head(p.l), toInteger('7')"
    assert await _rows(graph, text) == [(["P"], "R", "ab", 3.0, "x", 7)]
    nodes = [(node.label, dict(node.properties)) for node in (await graph.state()).nodes]
    assert nodes == [("P", {"l": ("x", "y"), "m": 2.5, "n": 1, "s": "abc"}), ("Q", {"k": "only"})]
    assert await _rows(graph, "MATCH (p)-[r]->(q) RETURN p, r") == [
        (
            {"label": "P", "properties": {"l": ["x", "y"], "m": 2.5, "n": 1, "s": "abc"}},
            {"type": "R", "properties": {"w": 1}},
        )
    ]


async def test_names_that_are_not_there_match_nothing(graph: LadybugGraph) -> None:
    await _write(graph, "CREATE (:P {n: 1})")
    assert await _rows(
        graph, "MATCH (p:P) OPTIONAL MATCH (p)-[:NONE {a: 1}]->(x:Nowhere) RETURN p.n, p.unknown, x.y"
    ) == [(1, None, None)]
    assert await _rows(graph, "MATCH (p) WHERE p.unknown > 2.5 OR p.other = 'x' RETURN p") == []
    await graph.apply([InsertNode(label="P", properties={"unknown": True, "other": 3})])
    assert await _rows(graph, "MATCH (p:P {unknown: true}) RETURN p.other") == [(3,)]


async def test_values_of_statements_keep_the_type_that_was_written(graph: LadybugGraph) -> None:
    for text in ("CREATE (:P {v: 2.5})", "CREATE (:P {v: 10})", "CREATE (:P {v: 'x'})", "CREATE (:P {v: [1, 2]})"):
        await _write(graph, text)
    await _write(graph, "CREATE (:P {v: $v})", v=True)
    await _write(graph, "MATCH (p:P {v: 'x'}) SET p.v = -4")
    values = sorted(repr(node.properties["v"]) for node in (await graph.state()).nodes)
    assert values == ["(1, 2)", "-4", "10", "2.5", "True"]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n {name: 'x'})",
        "MERGE (n {name: 'x'})",
        "MATCH (a:A) CREATE (a)-[:R]->({x: 1})",
        "CREATE (:A {x: nope(1)})",
    ],
)
async def test_new_nodes_want_a_label_and_functions_that_there_are(graph: LadybugGraph, text: str) -> None:
    await _write(graph, "CREATE (:A)")
    with pytest.raises(StatementError):
        await _write(graph, text)
    assert len((await graph.state()).nodes) == 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("UNWIND [{a: 'x', b: 1}, {b: 2, a: 'y'}] AS row RETURN row.a, row.b", [("x", 1), ("y", 2)]),
        ("UNWIND [{a: 'x', c: 1}, {a: 'y', b: 2}] AS row RETURN row.b, row.c", [(2, None), (None, 1)]),
        ("UNWIND [{a: 'x', b: null}, {b: 2.5}, {}] AS row RETURN row.a, row.b", None),
        ("UNWIND [{a: 'x', b: null}, {b: 2.5}] AS row RETURN row.a, row.b", [("x", None), (None, 2.5)]),
        ("UNWIND [{l: ['u']}, {l: null, `m n`: 2}] AS r RETURN r.l, r.`m n`", [(None, 2), (["u"], None)]),
        ("UNWIND [{m: {x: 1}}, {m: {y: '}'}}] AS r RETURN r.m.y", [("}",), (None,)]),
        ("UNWIND [[{a: 1}], [{b: 2}]] AS rows UNWIND rows AS row RETURN row.a", [(1,), (None,)]),
        (
            "UNWIND [1, 2] AS i WITH CASE WHEN i = 1 THEN {a: 'x', b: 'y'} ELSE {b: 'u', a: 'v'} END AS m RETURN m.a",
            [("v",), ("x",)],
        ),
        ("RETURN {a: 1, b: 2} = {b: 2, a: 1} AS same", [(True,)]),
        ("RETURN {a: 1, b: 2} AS m UNION ALL RETURN {b: 3, a: 4} AS m", [({"a": 1, "b": 2},), ({"a": 4, "b": 3},)]),
    ],
)
async def test_maps_of_one_list_keep_the_names_of_their_fields(
    graph: LadybugGraph, text: str, rows: list[tuple[object, ...]] | None
) -> None:
    if rows is None:  # no map of Ladybug is empty
        with pytest.raises(StatementError):
            await graph.query(text)
    else:
        assert await _rows(graph, text) == rows


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("MATCH (a:P {n: 1}) MERGE (a)-[:R]->(a)", "Match the node under two names"),
        ("MERGE (a:P {n: 3})-[:R {w: 1}]->(a)", "Match the node under two names"),
        ("MATCH (a:P {n: 1}) WITH a AS b CREATE (b)-[:R]->(:Q {n: 3})", "under its own name"),
        ("MATCH (a:P {n: 1}), (c:P {n: 2}) WITH c, a AS b MERGE (c)-[:R]->(b)", "under its own name"),
    ],
)
async def test_what_ladybug_would_do_otherwise_is_refused(graph: LadybugGraph, text: str, match: str) -> None:
    await _write(graph, "CREATE (:P {n: 1}), (:P {n: 2})")
    with pytest.raises(StatementError, match=match):
        await _write(graph, text)
    await _write(
        graph, "MATCH (a:P {n: 1}), (b:P {n: 1}) MERGE (a)-[:R]->(b)", "MATCH (a:P {n: 1}) WITH a AS b SET b.m = 5"
    )
    await _write(graph, "MATCH (a:P {n: 1}), (b:P {n: 1}) MERGE (a)-[:R]->(b)")
    state = await graph.state()
    assert [dict(node.properties) for node in state.nodes] == [{"m": 5, "n": 1}, {"n": 2}]
    assert [(edge.source, edge.target) for edge in state.edges] == [("n1", "n1")]


async def test_an_engine_that_dies_is_started_again_with_the_graph(tmp_path: Path) -> None:
    for path in (None, tmp_path / "graph.lbug"):
        graph = LadybugGraph(path)
        await graph.apply(
            [InsertNode(label="P", properties={"n": n, "v": (1, 1.0, True, "x")[n % 4]}) for n in range(60)]
        )
        await _write(graph, "MATCH (p:P {n: 1}), (q:P {n: 2}) CREATE (p)-[:R {w: 1}]->(q), (:Q {t: 'of a statement'})")
        before = await graph.state()
        endless = "MATCH (a), (b), (c), (d), (e), (f) WHERE a.n + b.n + c.n + d.n + e.n + f.n < 0"
        for call in (
            graph.query(f"{endless} RETURN a.n"),
            graph.apply([InsertNode(label="Gone"), Statement(text=f"{endless} CREATE (:Gone)")]),
        ):
            await graph.open()
            running = asyncio.ensure_future(call)
            await asyncio.sleep(0.5)
            os.kill(_child(graph), signal.SIGSEGV)
            with pytest.raises(StatementError, match="has ended while it ran this, by SIGSEGV"):
                await running
            assert contents(await graph.state()) == contents(before)
        assert await _rows(graph, "MATCH (:P {n: 1})-[r:R]->(q) RETURN q.n, r.w") == [(2, 1)]
        await graph.open()
        os.kill(_child(graph), signal.SIGKILL)  # between two calls: the next one goes on
        await asyncio.sleep(0.3)
        await _write(graph, "CREATE (:Q {t: 'after'})")
        assert await _rows(graph, "MATCH (q:Q) RETURN q.t") == [("after",), ("of a statement",)]
        await graph.close()


async def test_an_engine_that_does_not_look_at_its_clock_is_ended(
    graph: LadybugGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planners.graphs.ladybug.ladybug_process._GRACE_S", 0.2)
    await _write(graph, "CREATE (:P {n: 1})")
    os.kill(_child(graph), signal.SIGSTOP)
    with pytest.raises(StatementError, match="longer than 0\\.3 s"):
        await graph.query("MATCH (p:P) RETURN p.n", limits=QueryLimits(seconds=0.3))
    assert await _rows(graph, "MATCH (p:P) RETURN p.n") == [(1,)]


async def test_a_cancelled_call_leaves_the_graph_as_it_was(graph: LadybugGraph) -> None:
    await _write(graph, "UNWIND range(1, 60) AS n CREATE (:P {n: n})")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await graph.apply(
                [
                    Statement(
                        text="MATCH (a:P), (b:P), (c:P), (d:P), (e:P) WHERE a.n + b.n + c.n + d.n < e.n CREATE (:Q)"
                    )
                ]
            )
    assert await _rows(graph, "MATCH (p) RETURN count(*)") == [(60,)]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) WHERE n.name <> 'nobody' DETACH DELETE n",
        "MATCH (n:P)-[r]-(m) DETACH DELETE n, m",
        "MATCH (n:P|Q) WHERE n.name IS NOT NULL DETACH DELETE n CREATE (:New)",
    ],
)
async def test_a_statement_that_empties_the_graph_is_rolled_back(graph: LadybugGraph, text: str) -> None:
    await _write(graph, "CREATE (:P {name: 'a'})-[:R]->(:Q {name: 'b'})")
    before = await graph.state()
    with pytest.raises(StatementError, match="deletes all 2 nodes"):
        await graph.apply(
            [
                InsertNode(label="Gone", properties={"name": "c"}),
                DeleteNode(node=NodeRef(label="Gone", key={})),
                Statement(text=text),
            ]
        )
    assert await graph.state() == before
    await _write(graph, "MATCH (n:P {name: 'a'}) DETACH DELETE n", "MATCH (n:Q {name: 'b'}) DELETE n")
    assert (await graph.state()).nodes == ()


def _child(graph: LadybugGraph) -> int:
    assert graph._engine is not None
    return graph._engine.pid


@pytest.mark.slow
async def test_what_takes_all_memory_is_an_error(graph: LadybugGraph) -> None:
    with pytest.raises(StatementError):
        await graph.query("UNWIND range(1, 100000) AS i RETURN collect(range(1, 100000))")
    assert await _rows(graph, "RETURN 1 AS one") == [(1,)]


async def test_a_file_holds_the_graph_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    graph = LadybugGraph(path)
    values: tuple[Value, ...] = (1, "one", 1.0, True, (), ("a",), 2**60)
    for value in values:
        await graph.apply([InsertNode(label="P", properties={"v": value, "Name": "x", "name": 1, "_key": value})])
    await _write(graph, "MATCH (p:P {Name: 'x'}) CREATE (p)-[:`p`]->(p), (p)-[:P {V: 1}]->(p)")
    state = await graph.state()
    await graph.close()
    again = LadybugGraph(path)
    try:
        assert contents(await again.state()) == contents(state)
        await again.apply([MergeNode(node=NodeRef(label="P", key={"v": "one"}), properties={"v": 5})])
        await _write(again, "CREATE (:P {v: 'new'})")
        found = sorted(repr(node.properties["v"]) for node in (await again.state()).nodes)
        assert found == sorted(map(repr, (1, 5, 1.0, True, (), ("a",), 2**60, "new")))
    finally:
        await again.close()


async def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        await LadybugGraph(tmp_path / "none" / "graph.lbug").open()


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError):
        LadybugGraph()


_ROWS = st.lists(st.fixed_dictionaries({name: st.sampled_from("xyz") for name in "abc"}), min_size=1, max_size=6)
_CLAUSES = st.lists(
    st.tuples(st.sampled_from(["MERGE", "CREATE"]), st.sampled_from("DE"), st.sampled_from("abc")),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("driven", ["ladybug"], indirect=True)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(rows=_ROWS, clauses=_CLAUSES)
def test_no_row_is_lost_on_the_way_through_several_merges(
    driven: Driven, rows: list[dict[str, str]], clauses: list[tuple[str, str, str]]
) -> None:
    """Ladybug 0.22 loses rows after a MERGE that finds what an earlier row made."""
    graph, run = driven
    run(
        graph.apply(
            [InsertNode(label="Kept"), *(Statement(text=f"MATCH (n:{label}) DETACH DELETE n") for label in "DE")]
        )
    )
    literal = ", ".join("{" + ", ".join(f"{name}: '{value}'" for name, value in row.items()) + "}" for row in rows)
    parts = [f"{word} (v{at}:{label} {{name: row.{name}}})" for at, (word, label, name) in enumerate(clauses)]
    run(graph.apply([Statement(text=f"UNWIND [{literal}] AS row {' '.join(parts)}")]))
    found = sorted((n.label, n.properties["name"]) for n in run(graph.state()).nodes if n.label != "Kept")
    assert found == sorted(_made(rows, clauses))


def _made(rows: list[dict[str, str]], clauses: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Go clause by clause over all rows; a row that matches several nodes goes on once for each."""
    nodes: list[tuple[str, str]] = []
    for word, label, name in clauses:
        went: list[dict[str, str]] = []
        for row in rows:
            node = (label, row[name])
            if word == "CREATE" or node not in nodes:
                nodes.append(node)
                went.append(row)
            else:
                went += [row] * nodes.count(node)
        rows = went
    return nodes
