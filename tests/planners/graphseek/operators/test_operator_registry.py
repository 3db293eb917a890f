"""The registry finds operators by their files, and describes them without any graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.sources.catalog import read_catalog
from ontology.errors import InvalidArgumentError
from planners.graphseek.operators.operator_registry import SPECIAL, known_operators, operator_documents
from tests.planners.graphseek.operators.small_schema import SCHEMA

_OF_GRAPHS = {
    "aggregate_neighbours",
    "blueprints",
    "compare",
    "degree",
    "find",
    "get_nodes",
    "impact",
    "paths",
    "subgraph",
    "time_slice",
    "traverse",
}
_FILE = """
from planners.graphseek.operators.typed_operator import TypedOperator
async def _run(arguments, context):
    raise NotImplementedError
OPERATOR = TypedOperator(name="{name}", description="{text}", forms=lambda forms: {{}}, required=(), runs=_run)
"""


def test_all_operators_are_found_in_four_groups() -> None:
    known = known_operators()
    assert {name for name, each in known.items() if each.group == "graph data"} == _OF_GRAPHS
    assert {each.group for each in known.values()} == {"graph data", "retrieval", "presentation", "agent"}


def test_one_file_adds_an_operator(tmp_path: Path) -> None:
    assert known_operators([SPECIAL]).keys() - known_operators().keys() == {"blueprints_of_model", "sites_of_module"}
    (tmp_path / "another.py").write_text(_FILE.format(name="another", text="It does another thing."), encoding="utf-8")
    assert known_operators([tmp_path])["another"].description == "It does another thing."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_FILE.format(name="traverse", text="x"), "two operators are called traverse"),
        (_FILE.format(name="other", text="x" * 401), "401 characters"),
        ("OPERATOR = 3", "it has no OPERATOR"),
        ("import no_such_module", "it cannot be loaded: ModuleNotFoundError"),
        ("def", r"it cannot be loaded: SyntaxError: .*wrong\.py, line 1"),
        ("raise SystemExit(0)", "it cannot be loaded: SystemExit"),
        (_FILE.format(name="two words", text="x"), "its name must be one word"),
        (_FILE.format(name="other", text="x").replace("required", 'group="mine", required'), "its group must be one"),
        (_FILE.format(name="other", text="x").replace("{}", "forms.no_such"), "its parameters are no JSON schema"),
        (_FILE.format(name="other", text="x") + "object.__setattr__(OPERATOR, 'description', 3)", "a text"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no operator in it"):
        known_operators([tmp_path])
    (tmp_path / "wrong.py").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=problem) as raised:
        known_operators([tmp_path])
    assert raised.value.subject == str(tmp_path / "wrong.py")


def test_schemas_have_the_names_of_the_graph_and_the_handles_of_the_run() -> None:
    of_traverse = known_operators()["traverse"].parameters(SCHEMA, ["t1", "g2", "p3"])
    by_type, by_handle = of_traverse["properties"]["start"]["anyOf"]
    assert by_type["properties"]["type"]["enum"] == ["BatteryModule", "FactorySite", "Region", "VehicleModel"]
    assert by_handle["properties"]["handle"]["enum"] == ["t1", "g2"]
    key = of_traverse["properties"]["relationship_filters"]["items"]["properties"]["key"]
    assert key["enum"] == ["cost", "year"]
    assert "anyOf" not in known_operators()["traverse"].parameters(SCHEMA, [])["properties"]["start"]


def test_documents_name_no_graph_and_are_read(tmp_path: Path) -> None:
    documents = operator_documents(known_operators().values())
    assert [each["id"] for each in documents] == [f"graphseek/{name}" for name in known_operators()]
    assert "BatteryModule" not in json.dumps(documents)
    assert documents == operator_documents(known_operators().values())
    path = tmp_path / "operators.json"
    path.write_text(json.dumps(documents), encoding="utf-8")
    read = read_catalog([str(path)], strict=True)
    assert {tool.id for tool in read.tools} == {each["id"] for each in documents}
