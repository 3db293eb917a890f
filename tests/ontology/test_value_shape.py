"""The shape of a value, the shape of a pattern, and which shapes tell something."""

import re

import pytest

from ontology.value_shape import (
    KIND_SHAPES,
    ValueShape,
    facts_of,
    is_specific,
    matches,
    shape_of,
    shape_of_pattern,
)

SHAPES = {
    "INC0012345": r"INC\d{7}",
    "PROJ-123": r"PROJ\-\d{2,5}",
    "PR-2024-00123": r"PR\-20\d{2}\-\d{5}",
    "cus_NffrFeUfNV2Hib": r"cus_[0-9A-Za-z]{14}",
    "i-0abcd1234efab5678": r"i\-[0-9a-f]{17}",
    "123456789012": r"\d{12}",
    "0000100234": r"0\d{9}",
    "P-1001.02": r"P\-\d{4}\.\d{2}",
    "TO-10047110815": r"TO\-\d{11}",
    "10-4711-A": r"\d{2}\-\d{4}\-[A-Z]",
}


def test_the_shape_keeps_the_first_letters_and_separators_and_counts_digits() -> None:
    for value, pattern in SHAPES.items():
        assert shape_of(value) == ValueShape(pattern)
        assert re.fullmatch(pattern, value) and is_specific(ValueShape(pattern))


PATTERNS = {
    r"^INC[0-9]{7}$": r"INC\d{7}",
    r"[A-Z]+-\d+": r"[A-Z]+-\d+",
    r"^vol-([0-9a-f]{8}|[0-9a-f]{17})$": r"vol-([0-9a-f]{8}|[0-9a-f]{17})",
    r"^a\u002Fb\$": r"a\x{002F}b\$",
}


def test_a_pattern_is_a_shape_without_its_ends() -> None:
    assert {pattern: shape_of_pattern(pattern) for pattern in PATTERNS} == {
        pattern: ValueShape(shape) for pattern, shape in PATTERNS.items()
    }


@pytest.mark.parametrize(
    ("pattern", "least_chars", "specificity", "prefix"),
    [
        (r"INC\d{7}", 10, 36.75, "INC"),
        (r"(?:vol|s)-([0-9a-f]{8}|[0-9a-f]+)x?", 3, 14.0, ""),
        (r"\(?0\d*", 1, 6.0, ""),
        (r"[^\x00-\x7f]{2}(?P<name>\d)", 3, 14.68, ""),
    ],
)
def test_what_a_shape_asks_of_a_value(pattern: str, least_chars: int, specificity: float, prefix: str) -> None:
    facts = facts_of(ValueShape(pattern))
    assert (facts.least_chars, facts.specificity, facts.prefix) == (least_chars, specificity, prefix)


OUTSIDE: list[str] = [
    r"^(\w+)\s\1$",
    r"(?=a)b",
    "((((((((a",
    "a{3,1}",
    "",
    "^$",
    "(?i)abc12",
    "(?i:abc)12",
    r"(?:\pL{1,300}-){3}",
    "a" * 400,
    "\ud800",
]


def test_what_re2_does_not_know_and_what_is_large_has_no_shape() -> None:
    assert [pattern for pattern in OUTSIDE if shape_of_pattern(pattern) is not None] == []


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^ab(?:a+A+a+A+a+A+a+A+a+A+)+!$", "x*x*x*x*x*x*x*y"])
def test_matching_takes_linear_time(pattern: str) -> None:
    shape = shape_of_pattern(pattern)
    assert shape is not None
    for value in ("a" * 20_000 + "!", "ab" + "aA" * 10_000, "x" * 20_000):
        assert not matches(facts_of(shape).expression, value)


UNSPECIFIC = [
    *(KIND_SHAPES[kind] for kind in "integer date slug version ip duration".split()),
    *map(ValueShape, r"\d{6} \d{8} 20\d{6} \d{10} 17\d{8} \d{13} \d{14}".split()),
    *map(
        ValueShape,
        r"0\.\d{2}\.\d{3} \d\-\d{2}\-20\d{2} https?://[!-~]{1,64} [A-Z]{2}\d{2} [\w+=,.@-]{1,64} [a-z]{1,20}".split(),
    ),
]


def test_shapes_of_words_numbers_and_dates_are_not_specific() -> None:
    assert [shape for shape in UNSPECIFIC if is_specific(shape)] == []
