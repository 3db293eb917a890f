"""When a version is asked for: once an operator failed three times in a run, or once where the schema is another than the catalog's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import ModelError
from planners.graphseek.adapt.operator_adapter import OperatorAdapter
from planners.graphseek.operators.operator_registry import SPECIAL, known_operators
from planners.graphseek.turn import Fault, Invocation, StepRecord
from tests.planners.graphseek.agent.toy_parts import SCHEMA, ToyGraph

OPERATORS = tuple(known_operators([SPECIAL]).values())


class Refusing:
    """A model that cannot be reached.

    :ivar asked: how often it was asked.
    """

    name = "refusing"

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, *unused: Any, **also: Any) -> Any:
        self.asked += 1
        raise ModelError("it is down", subject="model")


def failed(number: int, kind: str = "engine", operator: str = "sites_of_module", **arguments: Any) -> StepRecord:
    call = Invocation(operator=operator, arguments=arguments or {"module_name": f"B{number}"})
    return StepRecord(number=number, invocations=(call,), outcomes=(Fault(kind=kind, problem="p", hint="h"),))


@pytest.mark.parametrize(
    ("records", "catalog", "asked"),
    [
        ([failed(1)], "", 0),
        ([failed(1)], SCHEMA.fingerprint, 0),
        ([failed(1)], "another", 1),
        ([failed(1, "unknown name")], "another", 1),
        ([failed(1, "empty")], "another", 0),
        ([failed(1, "timeout")], "another", 0),
        ([failed(1, "empty"), failed(2, "empty")], "", 0),
        ([failed(1, "empty"), failed(2), failed(3, "unknown name")], "", 1),
        ([failed(1), failed(2), failed(3, "repeated")], "", 0),
        ([failed(1), failed(2), failed(3), failed(4, operator="find", text="a")], "", 0),
        ([failed(1, module_nam="B")], "another", 0),
        ([failed(1, operator="get_nodes", node_type="FactorySite")], "another", 0),
    ],
)
def test_when_a_version_is_asked_for(tmp_path: Path, records: list[StepRecord], catalog: str, asked: int) -> None:
    model = Refusing()
    adapter = OperatorAdapter(tmp_path, model)

    def adapt(*tried: str) -> Any:
        return asyncio.run(adapter.adapt(records, OPERATORS, ToyGraph(), SCHEMA, catalog, tried))

    made = adapt()
    assert (model.asked, made is not None) == (asked, bool(asked))
    if made is not None:
        assert made.version is None and "it is down" in made.problem
        assert adapt("sites_of_module") is None and model.asked == 1, "once in a run"


def test_the_catalog_that_was_accepted_counts_where_it_is_known(tmp_path: Path) -> None:
    model = Refusing()
    for accepted, asked in ((SCHEMA.fingerprint, 0), ("another", 1)):
        adapter = OperatorAdapter(tmp_path, model, accepted=accepted)
        asyncio.run(adapter.adapt([failed(1)], OPERATORS, ToyGraph(), SCHEMA, "", ()))
        assert model.asked == asked
