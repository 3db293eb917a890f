"""Tables of measured figures: which way differences point, and where an interval says something."""

from __future__ import annotations

import pytest

from scripts.account.account_tables import paired_difference


def _shares(*values: float) -> dict[str, float]:
    return {f"q{number:02}": value for number, value in enumerate(values)}


def test_a_difference_is_the_systems_share_minus_the_references() -> None:
    better, worse = _shares(*[1.0] * 10, 0.0, 0.0), _shares(*[0.0] * 6, *[1.0] * 4, 0.0, 1.0)
    assert paired_difference(better, worse, "s").startswith("+42 points (")
    assert paired_difference(worse, better, "s").startswith("-42 points (")


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ([1.0, 0.0], "+50 points (n = 2)"),
        ([1.0] + [0.0] * 8, "+11 points (n = 9)"),
        ([0.0] * 30, "+0 points (n = 30)"),  # an interval from 0 to 0 would promise what nobody knows
    ],
)
def test_of_few_pairs_or_equal_ones_the_number_is_said_and_no_interval(gains: list[float], said: str) -> None:
    assert paired_difference(_shares(*gains), _shares(*[0.0] * len(gains)), "s") == said


def test_of_ten_pairs_there_is_an_interval() -> None:
    said = paired_difference(_shares(*[1.0] * 5, *[0.0] * 5), _shares(*[0.0] * 10), "s")
    assert said.startswith("+50 points (+") and said.endswith(")") and " to +" in said


def test_systems_that_answered_different_questions_are_not_compared() -> None:
    with pytest.raises(KeyError):
        paired_difference(_shares(1.0), {"other": 1.0}, "s")
