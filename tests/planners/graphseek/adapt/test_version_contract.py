"""What a version takes is at least what the operator takes, and its columns are those of the operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import StatementError
from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.adapt.version_contract import OperatorContract, check_columns, check_parameters, contract_of
from planners.graphseek.operators.argument_check import check_arguments
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.operator_registry import SPECIAL, known_operators
from planners.graphseek.results.result import ResultColumn

SITE = ResultColumn(name="site", type="node", node_type="Site")
VALUES: list[Any] = ["", "a", "abc", 0, 3, 2.5, True, False, [], ["a"], ["a", "abc"], [3], [2.5, 0], None, {}]
_TEXT = st.fixed_dictionaries({}, optional={"minLength": st.integers(0, 2), "maxLength": st.integers(1, 3)})
_NUMBER = st.fixed_dictionaries({}, optional={"minimum": st.integers(0, 3), "maximum": st.sampled_from([2, 2.5, 3])})
_NAMES = st.lists(st.sampled_from(["", "a", "abc", 3, 2.5]), min_size=1, unique=True).map(lambda some: {"enum": some})
_TYPES = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean"]),
    st.lists(st.sampled_from(["string", "integer", "number"]), min_size=1, unique=True),
)
SINGLE = st.builds(
    lambda types, more, names: {"type": types, **more, **names},
    _TYPES,
    st.one_of(_TEXT, _NUMBER),
    st.one_of(st.just({}), _NAMES),
)
LISTS = st.builds(
    lambda items, more: {"type": "array", "items": items, **more},
    SINGLE,
    st.fixed_dictionaries({}, optional={"minItems": st.integers(0, 1), "maxItems": st.integers(1, 2)}),
)
SCHEMAS = st.one_of(SINGLE, LISTS)


def contract(*required: str, **properties: Mapping[str, Any]) -> OperatorContract:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return OperatorContract(parameters=parameters, returns=(SITE,))


def takes(schema: Mapping[str, Any], value: Any) -> bool:
    try:
        check_arguments(value, schema)
    except OperatorFault:
        return False
    return True


@given(old=SCHEMAS, new=SCHEMAS)
def test_what_an_accepted_version_refuses_the_operator_refuses_too(old: dict[str, Any], new: dict[str, Any]) -> None:
    check_parameters(contract(of=old).parameters, contract(of=old))  # as it is, it passes
    try:
        check_parameters({"properties": {"of": new}}, contract(of=old))
    except StatementError:
        return
    assert [value for value in VALUES if takes(old, value) and not takes(new, value)] == []


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        ({"properties": {}}, "of of the operator is missing"),
        (
            {"properties": {"of": {"type": "string"}, "more": {"type": "string"}}, "required": ["of", "more"]},
            "more is required",
        ),
        ({"properties": {"of": {"type": "string", "pattern": "a+"}}}, "'of' is neither"),
        ({"properties": {"of": {"type": "string", "minLength": "1"}}}, "'of' is neither"),
        ({"properties": {"of": {"type": "string", "default": 3}}}, "'of' is neither"),
        ({"properties": {"of": {"type": "string"}, "a b": {"type": "string"}}}, "'a b' is neither"),
        ({"properties": {"of": {"anyOf": [{"type": "string"}]}}}, "'of' is neither"),
        (
            {"properties": {"of": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}}},
            "'of' is neither",
        ),
        ({"properties": {"of": {"type": ["string", {}]}}}, "'of' is neither"),
        ({"properties": {"of": "string"}}, "'of' is neither"),
    ],
)
def test_parameters_that_break_the_contract(new: dict[str, Any], problem: str) -> None:
    with pytest.raises(StatementError, match="argument") as broken:
        check_parameters(new, contract("of", of={"type": "string"}))
    assert problem in broken.value.problem


def test_columns_may_be_more_but_none_is_missing_or_of_another_type() -> None:
    name, wanted = ResultColumn(name="name", type="string"), contract()
    check_columns((name, SITE), wanted)
    for columns, problem in (
        ((name,), "is missing; there is name"),
        ((ResultColumn(name="site", type="node", node_type="Car"),), "has nodes of type Car"),
        ((ResultColumn(name="site", type="node"),), "has nodes of type several"),
        ((SITE, name, name), "two columns"),
    ):
        with pytest.raises(StatementError) as broken:
            check_columns(columns, wanted)
        assert problem in broken.value.problem
    total = OperatorContract(parameters={}, returns=(ResultColumn(name="n", type="number"),))
    check_columns((ResultColumn(name="n", type="integer"),), total)


def test_operators_with_plain_arguments_and_declared_columns_can_have_versions() -> None:
    schema = GraphSchema(nodes=(), relationships=())
    able = [name for name, each in known_operators([SPECIAL]).items() if contract_of(each, schema) is not None]
    assert able == ["find", "sites_of_module"], "the others compile from the live schema, or give graphs"
