"""The graphs that the paper's appendices show, written and asked in Cypher as they have it, unchanged on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from planners.stores.property_graph import PropertyGraph, Statement
from tests.planners.stores.stores import STORES

_WRITES = {
    "word of the day": """
        MERGE (w:Writer {name: "Ann Ott"})
        MERGE (d:WordOfTheDay {word: "con-cept", date: "2022-06-27"}) SET d.counter = 1
        MERGE (q:Quote {text: "It's \\"quoted\\".", source: "a newspaper"})
        MERGE (w)-[:QUOTED_FOR]->(d)
        MERGE (w)-[:QUOTED_IN {page: 3}]->(q)
    """,
    "authors and books": """
        CREATE (a1:Author {name: "Ann Ott", author_id: "A1"}), (a2:Author {name: "Bo Berg", author_id: "A2"}),
        (b1:Book {title: "One", book_id: "B1"}), (b2:Book {title: "Two", book_id: "B2"}), (b3:Book {title: "Three", book_id: "B3"}),
        (a1)-[:WROTE]->(b1), (a1)-[:WROTE]->(b2), (a2)-[:WROTE]->(b3)
    """,
    "colleagues": """
        CREATE (e1:Employee {name: "Alice", employee_id: "E1"}), (e2:Employee {name: "Bob", employee_id: "E2"}),
        (e3:Employee {name: "Charlie", employee_id: "E3"}), (d1:Department {name: "HR", department_id: "D1"}),
        (d2:Department {name: "Engineering", department_id: "D2"}),
        (e1)-[:WORKS_IN]->(d1), (e2)-[:WORKS_IN]->(d1), (e3)-[:WORKS_IN]->(d2)
    """,
}
_QUERIES = {
    "word of the day": (
        "MATCH (w:Writer)-[:QUOTED_FOR]->(wod:WordOfTheDay {date: '2022-06-27'}) RETURN w.name AS writer_name",
        [("Ann Ott",)],
    ),
    "authors and books": (
        'MATCH (a:Author {name: "Ann Ott"})-[:WROTE]->(b:Book) RETURN b.title AS book_title',
        [("One",), ("Two",)],
    ),
    "colleagues": (
        'MATCH (e:Employee {name: "Bob"})-[:WORKS_IN]->(d:Department)<-[:WORKS_IN]-(colleague:Employee) '
        'WHERE colleague.name <> "Bob" RETURN colleague.name AS colleague_name',
        [("Alice",)],
    ),
}


@pytest.fixture(params=[pytest.param("neo4j", marks=pytest.mark.slow)])
async def cypher_graph(request: pytest.FixtureRequest) -> AsyncIterator[PropertyGraph]:
    async with STORES[request.param](request) as opened:
        yield opened


@pytest.mark.parametrize("example", list(_WRITES))
async def test_an_example_runs_unchanged(cypher_graph: PropertyGraph, example: str) -> None:
    await cypher_graph.apply([Statement(text=_WRITES[example])])
    query, rows = _QUERIES[example]
    assert sorted((await cypher_graph.query(query)).rows) == rows


async def test_all_examples_stand_in_one_graph(cypher_graph: PropertyGraph) -> None:
    for text in _WRITES.values():
        await cypher_graph.apply([Statement(text=text)])
    before = await cypher_graph.state()
    await cypher_graph.apply([Statement(text=_WRITES["word of the day"])])  # MERGE adds no twin
    assert await cypher_graph.state() == before
    for query, rows in _QUERIES.values():
        assert sorted((await cypher_graph.query(query)).rows) == rows
