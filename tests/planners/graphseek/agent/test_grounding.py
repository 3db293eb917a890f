"""Grounding: which numbers and quoted names of an answer stand in no result."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from planners.graphseek.grounding import ungrounded
from planners.graphseek.results import ColumnType, ResultColumn, ResultStore
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType

MODULE = NodeType(name="BatteryModule", properties=(PropertyKey(name="unitCost", type="number"),))
SCHEMA = GraphSchema(
    nodes=(MODULE, *(NodeType(name=name) for name in ("FactorySite", "VehicleModel", "DriveAssembly"))),
    relationships=(RelationshipType(name="INTEGRATED_IN", ends=()),),
)
QUESTION = "Which module has the highest cost in 2021 at site Gamma Works, for Q3, of more than twenty-one?"
ANSWERS = yaml.safe_load((Path(__file__).parent / "grounding.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, loop: asyncio.Runner) -> Iterator[ResultStore]:
    store = ResultStore(tmp_path_factory.mktemp("results"))
    kinds: dict[str, ColumnType] = {
        "name": "string",
        "site": "string",
        "cost": "number",
        "count": "integer",
        "share": "number",
    }
    columns = [ResultColumn(name=name, type=kind) for name, kind in kinds.items()]
    loop.run(store.keep_table(columns, list(map(tuple, ANSWERS["rows"])), title="rows"))
    yield store
    store.close()


def missing(answer: str, results: ResultStore, loop: asyncio.Runner) -> list[str]:
    return loop.run(ungrounded(answer, question=QUESTION, schema=SCHEMA, records=(), values=results))


def test_what_stands_in_a_result_or_in_the_question_is_grounded(
    results: ResultStore, loop: asyncio.Runner, subtests: pytest.Subtests
) -> None:
    for answer in ANSWERS["right"]:
        with subtests.test(ascii(answer)):
            assert missing(answer, results, loop) == []


def test_what_stands_nowhere_is_told(results: ResultStore, loop: asyncio.Runner, subtests: pytest.Subtests) -> None:
    for answer, told in ANSWERS["wrong"].items():
        with subtests.test(ascii(answer)):
            assert missing(answer, results, loop) == [told]
