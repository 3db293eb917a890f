"""Ordinals, intervals of days, and filters by what entities carry."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError
from planners.dfs.domain import FieldType
from planners.dfs.execution.carried_fields import carry_all, meets
from planners.dfs.execution.day_intervals import day_of, in_interval, interval_id, read_interval, window_arguments
from planners.dfs.execution.ordinals import in_order, read_ordinal
from planners.dfs.query_graph import FilterConstraint
from planners.dfs.resolver import Entity
from tests.planners.dfs.memory_resolver import date_range


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("first", 0),
        ("Third", 2),
        ("3rd", 2),
        (2, 1),
        ("12th", 11),
        ("last", -1),
        ("most  recent", -1),
        ("second to last", -2),
        ("third-last", -3),
        ("2nd last", -2),
    ],
)
def test_an_ordinal_is_a_place(word: str | int, place: int) -> None:
    assert read_ordinal(word) == place


@pytest.mark.parametrize("word", ["0", "zeroth", "", "-1", "last but one", True, 1.5, "9999999"])
def test_what_is_no_ordinal_is_refused(word: str | float) -> None:
    with pytest.raises(InvalidArgumentError, match="is no ordinal"):
        read_ordinal(word)


def test_order_is_by_value_then_by_id() -> None:
    values: dict[str, Any] = {
        "c": 2,
        "b": 10,
        "a": 10,
        "f": "2025-01-01T09:00:00+02:00",
        "e": "2025-01-01T08:00:00Z",
        "g": "2025-01-02",
        "h": "Zoe",
        "i": None,
        "d": [],
    }
    entities = [Entity(name, {"at": value}) for name, value in values.items()]
    assert [each.id for each in in_order(entities, "at")] == ["c", "a", "b", "f", "e", "g", "h", "d", "i"]
    assert [each.id for each in in_order(entities, "")] == sorted(values)


def test_the_interval_of_several_ranges_is_what_they_share() -> None:
    may, july, august = date(2025, 5, 1), date(2025, 7, 1), datetime(2025, 8, 1, 12)
    assert interval_id([(may, july)]) == "2025-05-01/2025-07-01"
    assert interval_id([(may, None), (None, august), (july, None)]) == "2025-07-01/2025-08-01T12:00:00"
    assert interval_id([(None, may)]) == "../2025-05-01"
    assert interval_id([(None, may), (may, None)]) is None
    assert interval_id([]) == "../.."


@pytest.mark.parametrize(
    ("outer", "inner", "inside"),
    [
        ("2025-02-01/2025-03-01", "2025-02-28/2025-03-01", True),
        ("2025-02-01/2025-03-01", "2025-02-28", True),
        ("2025-02-01/2025-03-01", "2025-02-28T23:00:00-08:00", True),
        ("2025-02-01/2025-03-01", "2025-03-01", False),
        ("2025-02-01/2025-03-01", "2025-03-01T00:00:00", False),
        ("2025-02-01/2025-03-01", "2025-02-01T00:00:00", True),
        ("2025-02-01/..", "9999-12-31", True),
        ("2025-02-01/9999-12-31", "9999-12-31", False),
        ("2025-02-01/2025-03-01", "2025-02-28/2025-03-02", False),
        ("2025-02-01/2025-03-01", "2025-02-10/..", False),
        ("2025-02-01/..", "2025-02-10/..", True),
        ("../2025-03-01", "1999-01-01", True),
        ("../..", "2025-02-10", True),
    ],
)
def test_an_interval_holds_what_lies_inside_it(outer: str, inner: str, inside: bool) -> None:
    one, two = read_interval(outer), read_interval(inner)
    assert one and two
    assert one.holds(two) is inside


@pytest.mark.parametrize("text", ["", "soon", "2025-02-30", "2025-02-01/", "/", "self"])
def test_what_is_no_date_is_none(text: str) -> None:
    assert read_interval(text) is None


FIELDS = {"when": FieldType(operators=("=", "<", ">"), kind="date"), "name": FieldType(operators=("=",))}


@pytest.mark.parametrize(
    ("value", "op", "wanted", "met"),
    [
        ("Jane Doe", "=", " jane doe", True),
        ("Jane Doe", "=", "Jane", False),
        ("Jane Doe", "contains", "DOE", True),
        (["x", "Jane"], "=", "jane", True),
        ([], "=", "jane", False),
        ("10", ">", 9, True),
        (10, "=", "10.0", True),
        ("10", "contains", 1, True),
        ("b", "<", "c", True),
        (True, "=", "true", True),
        (True, "=", 1, False),
    ],
)
def test_a_filter_by_a_carried_field(value: Any, op: str, wanted: Any, met: bool) -> None:
    one = FilterConstraint.model_validate({"var": "p", "field": "name", "op": op, "value": wanted})
    assert meets(Entity("p", {"name": value}), one, FIELDS, date_range) is met


@pytest.mark.parametrize(
    ("value", "op", "met"),
    [("2025-02-03", "=", True), ("2025-02-03T10:00", "=", True), ("2025-03-03", "=", False), ("2025-03-03", ">", True),
     ("2025-01-03", "<", True), ("soon", ">", False)],
)  # fmt: skip
def test_a_filter_by_a_carried_date(value: str, op: str, met: bool) -> None:
    one = FilterConstraint.model_validate({"var": "p", "field": "when", "op": op, "value": "2025-02-01..2025-03-01"})
    assert meets(Entity("p", {"when": value}), one, FIELDS, date_range) is met


def test_only_fields_with_a_value_are_carried() -> None:
    one = FilterConstraint.model_validate({"var": "p", "field": "name", "op": "=", "value": "x"})
    assert carry_all([Entity("a", {"name": ""})], [one])
    assert not carry_all([Entity("a", {"name": "x"}), Entity("b", {"name": None})], [one])
    assert not carry_all([Entity("a", {"name": "x"}), Entity("b")], [one])


@given(st.datetimes(), st.dates(), st.dates())
def test_a_moment_is_in_an_interval_from_its_beginning_to_before_its_end(
    moment: datetime, start: date, end: date
) -> None:
    inside = start <= moment.date() < end
    assert in_interval(moment.isoformat(), f"{start}/{end}") is inside
    assert in_interval(str(moment.date()), f"{start}/{end}") is inside
    assert in_interval(moment.isoformat(), f"../{end}") is (moment.date() < end)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2025-02-28", "2025-02-28/2025-03-01"),
        ("2025-02-28T23:30:00-08:00", "2025-02-28/2025-03-01"),
        ("9999-12-31", "9999-12-31/.."),
        ("2025-02-01/2025-03-01", "2025-02-01/2025-03-01"),
        ("soon", "soon"),
    ],
)
def test_the_day_of_a_moment(text: str, day: str) -> None:
    assert day_of(text) == day


def test_what_is_no_date_is_dropped_by_no_interval() -> None:
    assert in_interval(None, "2025-02-01/2025-03-01") and in_interval("soon", "2025-02-01/2025-03-01")


def test_the_inputs_of_an_interval() -> None:
    assert window_arguments("2025-02-01/2025-03-01", "from,to") == {"from": "2025-02-01", "to": "2025-03-01"}
    assert window_arguments("../2025-03-01", "from,to") == {"to": "2025-03-01"}
    assert window_arguments("2025-02-01/..", ",to") == {}
