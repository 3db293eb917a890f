"""Grounding: which numbers and quoted names of an answer stand in no result."""

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


@pytest.fixture
async def results(store: ResultStore) -> ResultStore:
    kinds: dict[str, ColumnType] = {
        "name": "string",
        "site": "string",
        "cost": "number",
        "count": "integer",
        "share": "number",
    }
    columns = [ResultColumn(name=name, type=kind) for name, kind in kinds.items()]
    await store.keep_table(columns, list(map(tuple, ANSWERS["rows"])), title="rows")
    return store


async def test_what_stands_in_a_result_or_in_the_question_is_grounded_and_else_told(
    results: ResultStore, subtests: pytest.Subtests
) -> None:
    for answer, told in [*((each, []) for each in ANSWERS["right"]), *((k, [v]) for k, v in ANSWERS["wrong"].items())]:
        with subtests.test(ascii(answer)):
            found = await ungrounded(answer, question=QUESTION, schema=SCHEMA, records=(), values=results)
            assert found == told
