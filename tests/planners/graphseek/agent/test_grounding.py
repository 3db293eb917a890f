"""Grounding: which numbers and quoted names of an answer stand in no result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from planners.graphseek.grounding import ungrounded
from planners.graphseek.results import ResultColumn, ResultStore
from planners.graphseek.turn import StepRecord
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType

ROWS = (
    ("BM-9003", "Factory Alpha - Northern Division", 99.41998455706677, 829, 0.125),
    ("EV-X7", "PLANT-EV-01", 12.5, 3441, None),
    ("Busbar laser welding 0412", "Mexico", 1240000.0, 14, None),
    ("MOD-X300R7", "New South Wales", 7.0, 2023, None),
    ("Botswana", "Southern Hemisphere", -3.25, 9, None),
    ("Jalisco", "São Tomé", 17.0, 31, None),
)
SCHEMA = GraphSchema(
    nodes=(
        NodeType(
            name="BatteryModule",
            properties=(PropertyKey(name="unitCost", type="number"),),
        ),
        NodeType(name="FactorySite"),
        NodeType(name="VehicleModel"),
        NodeType(name="DriveAssembly"),
    ),
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
    columns = (
        ResultColumn(name="name", type="string"),
        ResultColumn(name="site", type="string"),
        ResultColumn(name="cost", type="number"),
        ResultColumn(name="count", type="integer"),
        ResultColumn(name="share", type="number"),
    )
    loop.run(store.keep_table(columns, ROWS, title="rows"))
    yield store
    store.close()


def missing(answer: str, results: ResultStore, loop: asyncio.Runner, records: Sequence[StepRecord] = ()) -> list[str]:
    return loop.run(ungrounded(answer, question=QUESTION, schema=SCHEMA, records=records, values=results))


@pytest.mark.parametrize("answer", ANSWERS["right"])
def test_what_stands_in_a_result_or_in_the_question_is_grounded(
    answer: str, results: ResultStore, loop: asyncio.Runner
) -> None:
    assert missing(answer, results, loop) == []


@pytest.mark.parametrize(("answer", "told"), ANSWERS["wrong"].items())
def test_what_stands_nowhere_is_told(answer: str, told: str, results: ResultStore, loop: asyncio.Runner) -> None:
    assert missing(answer, results, loop) == [told]
