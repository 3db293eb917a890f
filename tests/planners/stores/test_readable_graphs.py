"""Graphs that are only read, in a Ladybug file and behind Bolt: the same rows, types and counts; limits, cancelling and failures."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ontology.errors import StatementError, StorageError
from planners.stores.bolt import open_bolt_reader
from planners.stores.graph_schema import ReadableGraph, read_rows_of
from planners.stores.ladybug import load_graph, open_ladybug_reader
from planners.stores.property_graph import QueryLimits
from tests.planners.stores.reading_tables import NODES, ODD, RELATIONSHIPS, neo4j_statements

pytestmark = pytest.mark.asyncio(loop_scope="module")
_LIMITS = QueryLimits()
_ENDLESS = "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x + y AS z WHERE z < 0 RETURN count(z)"


@pytest.fixture(scope="module")
def ladybug_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reading") / "graph.lbdb"
    load_graph(path, NODES, RELATIONSHIPS)
    return path


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["ladybug", pytest.param("bolt", marks=pytest.mark.slow)]
)
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[ReadableGraph]:
    if request.param == "ladybug":
        async with open_ladybug_reader(request.getfixturevalue("ladybug_file")) as opened:
            yield opened
        return
    address = request.getfixturevalue("neo4j_address")
    constraint = "CREATE CONSTRAINT person_key IF NOT EXISTS FOR (n:Person) REQUIRE n.key IS UNIQUE"
    _neo4j(address, [*neo4j_statements(NODES, RELATIONSHIPS), (constraint, {})])
    async with open_bolt_reader(address) as opened:
        yield opened
    _neo4j(address, [("DROP CONSTRAINT person_key", {}), ("MATCH (n) DETACH DELETE n", {})])


def _neo4j(address: str, statements: Any) -> None:
    from neo4j import GraphDatabase

    with GraphDatabase.driver(address) as driver, driver.session() as session:
        for text, parameters in statements:
            session.run(text, parameters).consume()


async def _fetch(graph: ReadableGraph, text: str, limits: QueryLimits = _LIMITS, **parameters: Any) -> list[Any]:
    return list((await graph.read(text, parameters, limits)).rows)


async def test_types_pairs_and_properties(graph: ReadableGraph) -> None:
    schema = await graph.schema()
    assert [node.name for node in schema.nodes] == sorted(["City", ODD, "Person"])
    person = next(node for node in schema.nodes if node.name == "Person")
    assert {p.name: p.type for p in person.properties} == dict(NODES[0].columns) and person.key == "key"
    pairs = {each.name: [(end.source, end.target) for end in each.ends] for each in schema.relationships}
    assert pairs["LIVES"] == [("City", "City"), ("Person", "City")]
    assert pairs["i`n"] == [(ODD, "City")]


async def test_nothing_is_written_and_a_refused_query_leaves_the_reader_usable(graph: ReadableGraph) -> None:
    for text in ("MATCH (n:Person) SET n.age = 1", "MATCH (n:Person", "CREATE (:City {id: 9})"):
        with pytest.raises(StatementError):
            await _fetch(graph, text)
    assert await _fetch(graph, "MATCH (n:City) RETURN n.id ORDER BY n.id") == [(1,), (2,)]


async def test_a_query_ends_at_its_time_or_when_it_is_cancelled(graph: ReadableGraph) -> None:
    with pytest.raises(StatementError, match=r"longer than 0\.5 s"):
        await _fetch(graph, _ENDLESS, QueryLimits(seconds=0.5))

    task = asyncio.create_task(_fetch(graph, _ENDLESS, QueryLimits(seconds=60)))
    await asyncio.sleep(0.3)
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
    concurrent = await asyncio.gather(*(_fetch(graph, "RETURN $x", x=number) for number in range(6)))
    assert concurrent == [[(number,)] for number in range(6)]


async def test_an_engine_that_dies_is_told_and_started_again(ladybug_file: Path) -> None:
    others = _engines()
    async with open_ladybug_reader(ladybug_file) as graph:
        (engine,) = _engines() - others
        asked = asyncio.create_task(_fetch(graph, _ENDLESS, QueryLimits(seconds=60)))
        await asyncio.sleep(0)
        os.kill(engine, 9)
        with pytest.raises(StorageError, match=r"by SIGKILL.*Ask again"):
            await asked
        assert await _fetch(graph, "RETURN 1") == [(1,)]


def _engines() -> set[int]:
    """Processes that this one started for Ladybug."""
    children = {int(pid) for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()}
    return {pid for pid in children if b"/stores/engine.py" in Path(f"/proc/{pid}/cmdline").read_bytes()}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is empty"),
        (b"no database", "not a valid"),
        (None, "no such file"),
        ("half", "outside the database file"),
    ],
)
async def test_a_file_that_is_no_database(
    content: bytes | str | None, problem: str, ladybug_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "g"
    if content is not None:
        whole = ladybug_file.read_bytes()
        path.write_bytes(content if isinstance(content, bytes) else whole[: len(whole) // 2])
    with pytest.raises(StorageError, match=problem):
        async with open_ladybug_reader(path):
            pass


async def test_a_file_that_is_being_written(ladybug_file: Path, tmp_path: Path) -> None:
    import ladybug

    path = tmp_path / "g"
    shutil.copy(ladybug_file, path)
    database = ladybug.Database(str(path), max_db_size=1 << 30, buffer_pool_size=1 << 26)
    with pytest.raises(StorageError, match=r"open for writing.*End that process"):
        async with open_ladybug_reader(path):
            pass
    database.close()
    async with open_ladybug_reader(path) as graph:
        assert await read_rows_of(graph, "MATCH (n:City) RETURN count(*)") == ((2,),)
