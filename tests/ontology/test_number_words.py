"""Numbers in words: each value up to a million, ordinals, and what is no number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.number_words import NUMBER, WORDED_NUMBER, is_amount, number_of, ordinal_of

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def spoken(number: int, *, joint: str = " and ", hyphen: str = "-") -> str:
    """A number below a million as it is spoken."""
    for scale, name in ((1_000, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = number % scale
            behind = (" " if scale == 1_000 and rest >= 100 else joint) + spoken(rest, joint=joint, hyphen=hyphen)
            return f"{spoken(number // scale, joint=joint, hyphen=hyphen)} {name}{behind if rest else ''}"
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (f"{hyphen}{ONES[number % 10]}" if number % 10 else "")


@given(st.integers(0, 999_999) | st.integers(0, 1_000), st.sampled_from([" and ", " "]), st.sampled_from(["-", " "]))
def test_each_number_in_words_has_its_value(number: int, joint: str, hyphen: str) -> None:
    text = spoken(number, joint=joint, hyphen=hyphen)
    assert number_of(text) == number_of(text.title().replace(" And ", " and ")) == number
    assert re.search(WORDED_NUMBER, f"more than {text} parts")[0] == text  # type: ignore[index]


@given(st.integers(-(10**14), 10**14))
def test_digits_have_their_value_with_and_without_commas(number: int) -> None:
    assert number_of(str(number)) == number_of(f"{number:,}") == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
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
    ],
)
def test_forms_of_numbers(text: str, number: float) -> None:
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


@pytest.mark.parametrize("text", [*NO_NUMBERS, "", "1.2.3", "١٥", "½", "no", "12 parts", "9" * 16])
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None


def test_a_number_ends_where_its_word_ends() -> None:
    assert re.findall(NUMBER, "at the forty-second of 15in, 5-10 or seven-eleven") == []
    assert re.findall(NUMBER, "from five to 5, or 1,200.") == ["five", "5", "1,200"]


@pytest.mark.parametrize(
    ("text", "place"), [("first", 1), ("Twelfth", 12), ("20th", 20), ("twentieth", 20), ("twenty-third", 23)]
)
def test_ordinals(text: str, place: int) -> None:
    assert ordinal_of(text) == place


@pytest.mark.parametrize("text", ["one", "twenty", "last", "th", "ten-first", "firsts"])
def test_what_is_no_ordinal(text: str) -> None:
    assert ordinal_of(text) is None


def test_amounts_without_a_value_are_known_as_amounts() -> None:
    assert all(map(is_amount, ["third", "Hundreds", "trillion", "couple", "½", "١٥", "dozen", "fifteen"]))
    assert not any(map(is_amount, ["often", "thirsty", "many", "a", "of"]))
