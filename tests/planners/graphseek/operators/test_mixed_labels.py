"""Labels with keys of different names and types, and a property that has a number in one and a text in another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ladybug
import pytest

from planners.graphs.ladybug.ladybug_reader import open_ladybug_reader
from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.results.result_store import ResultStore
from tests.planners.graphseek.operators.operator_runs import Runs

_STATEMENTS = (
    "CREATE NODE TABLE Person(pid INT64 PRIMARY KEY, name STRING, size INT64)",
    "CREATE NODE TABLE City(code STRING PRIMARY KEY, name STRING, size DOUBLE)",
    "CREATE NODE TABLE Tag(name STRING PRIMARY KEY, size STRING)",
    "CREATE REL TABLE LIVES(FROM Person TO City)",
    "CREATE REL TABLE HAS(FROM City TO Tag, FROM Person TO Tag)",
    "CREATE (:Person {pid: 1, name: 'Ann', size: 30}), (:Person {pid: 2, name: 'Bob'})",
    "CREATE (:City {code: 'X:1', name: 'Rome', size: 2.5}), (:City {code: '2', name: 'Oslo'})",
    "CREATE (:Tag {name: 'old', size: 'ten'})",
    "MATCH (a:Person), (b:City {code: 'X:1'}) CREATE (a)-[:LIVES]->(b)",
    "MATCH (a:City), (b:Tag) CREATE (a)-[:HAS]->(b)",
)
_IDS = ("Person:1", "Person:2", "City:X:1", "City:2", "Tag:old")


def test_operators_go_on_from_nodes_of_several_labels(tmp_path: Path) -> None:
    database = ladybug.Database(str(tmp_path / "graph"), buffer_pool_size=1 << 26, max_db_size=1 << 30)
    connection = ladybug.Connection(database)
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.close()
    database.close()
    asyncio.run(_check(tmp_path))


async def _check(folder: Path) -> None:
    async with open_ladybug_reader(folder / "graph") as reader:
        runs = Runs(
            reader, await reader.schema(), SemanticCatalog(), ResultStore(folder / "r"), {id_: id_ for id_ in _IDS}
        )
        persons = await runs.call("get_nodes", node_type="Person")
        reached = await runs.rows("traverse", start={"handle": persons.handle}, max_hops=2)
        assert [(row["node"], row["name"], row["hops"]) for row in reached] == [
            ("City:X:1", "Rome", 1),
            ("Tag:old", "old", 2),
        ]
        mixed: dict[str, Any] = {"handle": runs.results.handles[-1]}
        back = await runs.rows("traverse", start=mixed, direction="in")
        assert {row["node"] for row in back} == {"Person:1", "Person:2", "City:X:1", "City:2"}
        back = await runs.rows("traverse", start={**mixed, "type": "City"}, direction="in")
        assert {row["person"] for row in back} == {"Person:1", "Person:2"}
        degrees = await runs.rows("degree", start=mixed, direction="both")
        assert [(row["node"], row["name"], row["count"]) for row in degrees] == [
            ("City:X:1", "Rome", 3),
            ("Tag:old", "old", 2),
        ]
        part = await runs.part("subgraph", start={"type": "Person"}, max_hops=2)
        assert {node.id: node.properties.get("size") for node in part.nodes} == {
            "Person:1": 30,
            "Person:2": None,
            "City:X:1": 2.5,
            "Tag:old": "ten",
        }
        assert len(part.edges) == 3
        part = await runs.part("paths", start={"handle": persons.handle}, end=mixed)
        assert {node.id for node in part.nodes} == {"Person:1", "Person:2", "City:X:1", "Tag:old"}
        found = await runs.rows("find", text="1", match="exact")
        assert [(row["node"], row["score"]) for row in found] == [("Person:1", 1.0)]
        with pytest.raises(OperatorFault, match="ambiguous"):
            size = [{"key": "size", "operator": ">", "value": 1}]
            await runs.call("traverse", start={"type": "Person"}, max_hops=2, filters=size)
