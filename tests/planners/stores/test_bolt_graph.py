"""Graphs over Bolt against a real Neo4j: what only a server can do wrong. What all stores do alike is in the conformance suite."""

from collections.abc import AsyncIterator

import pytest

from ingest.neo4j import bolt_errors, parse_bolt_address
from ontology.errors import StorageError
from planners.stores.bolt import BoltGraph, open_bolt_graph
from planners.stores.property_graph import InsertNode, MergeEdge, NodeRef
from tests.harness.servers import free_port

pytest.importorskip("neo4j", reason="the extra `neo4j` is not installed")


@pytest.fixture
async def graph(neo4j_address: str) -> AsyncIterator[BoltGraph]:
    async with open_bolt_graph(neo4j_address) as opened:
        await opened.apply([InsertNode(label="Author", properties={"name": name}) for name in ("Ann", "Bob")])
        yield opened


@pytest.mark.slow
class TestRealNeo4j:
    @pytest.mark.parametrize(
        "name", ["a`b", "\\", "a\\b", "\\u0060", "x\\u005Cu0060) DETACH DELETE n //", "two\nlines"]
    )
    async def test_names_are_names_whatever_they_hold(self, graph: BoltGraph, name: str) -> None:
        ann = NodeRef(label="Author", key={"name": "Ann"})
        node = InsertNode(label=name, properties={name: name})
        await graph.apply([node, MergeEdge(type=name, source=ann, target=NodeRef(label=name, key={name: name}))])
        state = await graph.state()
        assert [(n.label, dict(n.properties)) for n in state.nodes if n.label != "Author"] == [(name, {name: name})]
        assert [edge.type for edge in state.edges] == [name]

    async def test_a_database_that_is_not_empty_is_left_alone(self, graph: BoltGraph, neo4j_address: str) -> None:
        with pytest.raises(StorageError, match="the database has 2 nodes"):
            async with open_bolt_graph(neo4j_address):
                pytest.fail("opened")
        assert len((await graph.state()).nodes) == 2

    async def test_another_writer_is_told_and_nothing_is_written(self, graph: BoltGraph, neo4j_address: str) -> None:
        from neo4j import AsyncGraphDatabase

        async with AsyncGraphDatabase.driver(neo4j_address) as driver:
            await driver.execute_query("CREATE (:Theirs)")
            for _ in range(2):
                with pytest.raises(StorageError, match="has 3 nodes, and this task has left 2"):
                    await graph.apply([InsertNode(label="Late")])
            await driver.execute_query("MATCH (n:Theirs) DELETE n")
        assert len((await graph.state()).nodes) == 2


async def test_a_dead_server_is_told_without_the_password() -> None:
    with pytest.raises(StorageError, match=r"bolt://neo4j:\*\*\*@127\.0\.0\.1") as caught:
        async with open_bolt_graph(f"bolt://neo4j:hunter2@127.0.0.1:{free_port()}"):
            pytest.fail("opened")
    assert "hunter2" not in str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)


def test_a_password_that_a_server_repeats_is_never_shown() -> None:
    address = parse_bolt_address("bolt://neo4j:h%40nter2@127.0.0.1", feature="x")
    with pytest.raises(StorageError, match=r"cannot be read or written: wrong password \*\*\*\.") as caught:
        with bolt_errors(address):
            raise OSError("wrong password h@nter2.\nBye")
    assert "nter2" not in str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)
