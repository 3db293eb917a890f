"""Grounding: which numbers and quoted names of an answer stand in no result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest

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
RIGHT = (
    'The battery module with the highest cost (≈ 99.42) is "MOD-X300R7".',
    "1. Factory PLANT-EV-01: 829 assemblies\n2) Factory PLANT-EV-01: 3,441 assemblies\n- `EV-X7`",
    'It is manufactured at "Factory Alpha - Northern Division", or ‘São Tomé’, or “São Tomé”.',
    "The process Busbar laser welding 0412 is the only one.",
    "The total is about 1.24 million EUR.",
    "It makes up 12.5 % of the cost.",
    "It produced fourteen modules; there are six rows in the table (t1).",
    "There are thirty-one of them, one of which is new.",
    "Eight hundred and twenty-nine assemblies were made, of one million, two hundred and forty thousand parts.",
    'In 2021, "Gamma Works" had the highest one.',
    "The 3rd of these has a cost of -3.25.",
    'Each "VehicleModel" is `INTEGRATED_IN` nothing else; every `DriveAssembly` has no `unitCost`.',
    "The quarter is Q3. I could not find any such module.",
)
WRONG = (
    ("The highest cost is 99.43.", "99.43"),
    ("There are 830 assemblies.", "830"),
    ("There are one thousand and one sites.", "one thousand and one"),
    ("There are 2 dozen sites.", "2 dozen"),
    ("They made two billion of them.", "two billion"),
    ('The site is "Factory Omega".', "Factory Omega"),
    ("The site is `PLANT-EV-09`, or 'EV-X7'.", "PLANT-EV-09"),
    ("The total is 1.3 million EUR.", "1.3"),
    ("That is 13 % of all.", "13 %"),
    ("It was assembled in 2022.", "2022"),
    ("It was launched on 2021-03-14.", "2021-03-14"),
    ("The process Busbar laser welding 0413 is the only one.", "0413"),
    ("At Delta there are 77, as I said.", "77"),
)


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


@pytest.mark.parametrize("answer", RIGHT)
def test_what_stands_in_a_result_or_in_the_question_is_grounded(
    answer: str, results: ResultStore, loop: asyncio.Runner
) -> None:
    assert missing(answer, results, loop) == []


@pytest.mark.parametrize(("answer", "told"), WRONG)
def test_what_stands_nowhere_is_told(answer: str, told: str, results: ResultStore, loop: asyncio.Runner) -> None:
    assert missing(answer, results, loop) == [told]
