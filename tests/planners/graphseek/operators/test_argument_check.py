"""Arguments against the JSON schema of an operator: what is refused, and what the plan is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from planners.graphseek.operators.argument_check import check_arguments
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.table_arguments import nearest_hint

TYPES = {"type": "string", "enum": ["BatteryModule", "FactorySite", "VehicleModel"]}
FILTER = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "enum": ["name", "unitCost"]},
        "operator": {"type": "string", "enum": ["=", ">"]},
        "value": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "array", "items": {"type": "string"}}]},
    },
    "required": ["key", "operator"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "start": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"type": TYPES, "filters": {"type": "array", "items": FILTER, "maxItems": 2}},
                    "required": ["type"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"handle": {"type": "string", "enum": ["t1"]}},
                    "required": ["handle"],
                    "additionalProperties": False,
                },
            ]
        },
        "max_hops": {"type": "integer", "minimum": 1, "maximum": 6},
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "descending": {"type": "boolean"},
    },
    "required": ["start"],
    "additionalProperties": False,
}
GOOD = {"start": {"type": "FactorySite", "filters": [{"key": "name", "operator": "=", "value": "'; DETACH DELETE n"}]}}


def fault(arguments: Any) -> OperatorFault:
    with pytest.raises(OperatorFault) as raised:
        check_arguments(arguments, SCHEMA)
    return raised.value


@pytest.mark.parametrize(
    ("arguments", "kind", "problem", "hint"),
    [
        ({}, "arguments", "the arguments lacks start", "Give start"),
        (
            {"start": {"type": "FactorySites"}},
            "unknown name",
            "start.type names 'FactorySites'",
            "nearest is FactorySite",
        ),
        ({"start": {"type": "battery module"}}, "unknown name", "start.type", "nearest is BatteryModule"),
        ({"start": {"handle": "t9"}}, "unknown name", "start.handle names 't9'", "Known: t1"),
        (
            {"start": {"type": "FactorySite", "filters": [{"key": "cost", "operator": "="}]}},
            "unknown name",
            "key",
            "unitCost",
        ),
        (
            {"start": {"type": "FactorySite", "filters": [{"key": "name"}]}},
            "arguments",
            "start.filters[0] lacks",
            "operator",
        ),
        ({"start": {"type": "FactorySite", "filter": []}}, "arguments", "cannot have 'filter'", "nearest is filters"),
        ({**GOOD, "max_hops": 50}, "arguments", "max_hops is 50", "at most 6"),
        ({**GOOD, "max_hops": 10**400}, "arguments", "max_hops is 1000", "at most 6"),
        ({**GOOD, "max_hops": "2"}, "arguments", "max_hops is '2'", "type integer"),
        ({**GOOD, "max_hops": True}, "arguments", "max_hops is True", "type integer"),
        ({**GOOD, "text": "123456"}, "arguments", "text has 6 characters", "1 to 5"),
        ({"start": {"type": "FactorySite", "filters": [{}] * 3}}, "arguments", "filters has 3 members", "0 to 2"),
        ({"start": 7}, "arguments", "start is 7", "object"),
        ([], "arguments", "the arguments is []", "object"),
    ],
)
def test_what_is_outside_comes_back_with_what_to_do(arguments: Any, kind: str, problem: str, hint: str) -> None:
    found = fault(arguments)
    assert found.kind == kind
    assert problem in found.problem and hint in found.hint, str(found)


def test_what_is_inside_passes() -> None:
    check_arguments({**GOOD, "max_hops": 6.0, "text": "abc", "descending": False}, SCHEMA)


_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 9),
        st.sampled_from(["t1", "name", "=", "FactorySite", "", "long text"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["start", "type", "filters", "key", "operator", "value", "handle", "max_hops"]), inner
        ),
    ),
    max_leaves=8,
)


@given(st.one_of(_VALUES, st.builds(lambda start, hops: {"start": start, "max_hops": hops}, _VALUES, _VALUES)))
def test_it_refuses_what_the_schema_refuses(arguments: Any) -> None:
    try:
        check_arguments(arguments, SCHEMA)
        is_inside = True
    except OperatorFault:
        is_inside = False
    assert is_inside == Draft202012Validator(SCHEMA).is_valid(arguments)


def test_the_nearest_name_is_none_where_nothing_is_near() -> None:
    assert nearest_hint("zzz", ["FactorySite"]) == "Known: FactorySite"
    assert nearest_hint("x", []) == "Known: none"
    assert nearest_hint("x" * 10_000, [f"n{at}" for at in range(100)]).endswith("n39 …")
