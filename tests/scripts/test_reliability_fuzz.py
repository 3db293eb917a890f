"""The row of mutated messages holds its bar only with as many messages as the bar names."""

from __future__ import annotations

from collections import Counter

import pytest

from scripts.reliability.chaos_attacks import FUZZ_BAR, fuzzed


@pytest.mark.parametrize(
    ("codes", "alive", "held"),
    [
        ({"OK": 1, "INVALID_ARGUMENT": FUZZ_BAR - 1}, True, True),
        ({"OK": FUZZ_BAR - 1}, True, False),
        ({"OK": 20_000}, True, False),
        ({"OK": FUZZ_BAR, "UNKNOWN": 1}, True, False),
        ({"OK": FUZZ_BAR}, False, False),
    ],
)
def test_mutated_messages_hold_the_bar_with_its_count_alone(codes: dict[str, int], alive: bool, held: bool) -> None:
    figure = fuzzed(Counter(codes), alive=alive)
    assert figure.held == held
    assert f"{sum(codes.values()):,} mutated messages" in figure.text
    assert ("too few for the bar of 1,000,000" in figure.text) == (sum(codes.values()) < FUZZ_BAR)
