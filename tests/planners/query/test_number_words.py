"""Numbers in words: each value up to a million, ordinals, and what is no number."""

import pytest

from planners.query.numbers import number_of, ordinal_of

NUMBERS: list[tuple[str, float]] = [
    ("a dozen", 12),
    ("half a dozen", 6),
    ("two dozen", 24),
    ("a hundred", 100),
    ("fifteen hundred", 1_500),
    ("a thousand and one", 1_001),
    ("two million", 2_000_000),
    ("one million, two hundred thousand", 1_200_000),
    ("2.5 million", 2_500_000),
    ("three billion and one", 3_000_000_001),
    ("15 thousand", 15_000),
    ("12.5", 12.5),
    ("−3", -3),
]


def test_forms_of_numbers(subtests: pytest.Subtests) -> None:
    for text, number in NUMBERS:
        with subtests.test(ascii(text)):
            assert number_of(text) == number


NO_NUMBERS = [
    "a",
    "dozen",
    "dozens",
    "hundred",
    "twenty-first",
    "fifteen-year",
    "twenty fifteen",
    "five six",
    "one hundred hundred",
]


def test_what_is_no_number(subtests: pytest.Subtests) -> None:
    for text in [*NO_NUMBERS, "", "1.2.3", "١٥", "½", "no", "12 parts", "9" * 16]:
        with subtests.test(ascii(text)):
            assert number_of(text) is None


ORDINALS: list[tuple[str, int]] = [("first", 1), ("Twelfth", 12), ("20th", 20), ("twentieth", 20), ("twenty-third", 23)]


def test_ordinals(subtests: pytest.Subtests) -> None:
    for text, place in ORDINALS:
        with subtests.test(ascii(text)):
            assert ordinal_of(text) == place
