"""Whole numbers stand in a statement for Ladybug; nothing else of it changes."""

from __future__ import annotations

import pytest

from planners.stores.ladybug import with_whole_numbers


@pytest.mark.parametrize(
    "text",
    [
        "RETURN '$p0', $p1",
        'RETURN "\\"$p0", $p1',
        "MATCH (n:`$p0` {`a``$p0`: $p1}) RETURN n",
        "RETURN $p1 // $p0\n",
        "RETURN /* $p0\n */ $p1, $p01",
    ],
)
def test_what_only_looks_like_a_parameter_stays(text: str) -> None:
    assert with_whole_numbers(text, {"p0": 7, "p1": "x"}) == (text, {"p1": "x"})


@pytest.mark.parametrize("value", ["7", 7.0, True, None, -7, 2**63, (7,), "7; MATCH (n) DELETE n"])
def test_only_whole_numbers_that_are_not_negative_are_written(value: object) -> None:
    assert with_whole_numbers("RETURN $p0", {"p0": value}) == ("RETURN $p0", {"p0": value})


def test_each_place_of_a_number_is_written() -> None:
    found = with_whole_numbers(
        "MATCH (n) WHERE n.a = $p0 AND n.b IN [$p0, $p1] RETURN n LIMIT $p2", {"p0": 0, "p1": 3, "p2": 2**63 - 1}
    )
    assert found == (f"MATCH (n) WHERE n.a = 0 AND n.b IN [0, 3] RETURN n LIMIT {2**63 - 1}", {})
