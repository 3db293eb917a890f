"""The shape of a value, the shape of a pattern, and which shapes tell something."""

import re
import time

import pytest

from ontology.value_shape import (
    KIND_SHAPES,
    ValueShape,
    facts_of,
    is_specific,
    shape_of,
    shape_of_pattern,
)


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("INC0012345", r"INC\d{7}"),
        ("PROJ-123", r"PROJ\-\d{2,5}"),
        ("PR-2024-00123", r"PR\-20\d{2}\-\d{5}"),
        ("cus_NffrFeUfNV2Hib", r"cus_[0-9A-Za-z]{14}"),
        ("i-0abcd1234efab5678", r"i\-[0-9a-f]{17}"),
        ("123456789012", r"\d{12}"),
        ("0000100234", r"0\d{9}"),
        ("P-1001.02", r"P\-\d{4}\.\d{2}"),
        ("TO-10047110815", r"TO\-\d{11}"),
        ("10-4711-A", r"\d{2}\-\d{4}\-[A-Z]"),
    ],
)
def test_the_shape_keeps_the_first_letters_and_separators_and_counts_digits(value: str, pattern: str) -> None:
    shape = shape_of(value)
    assert shape == ValueShape(pattern)
    assert re.fullmatch(pattern, value)
    assert is_specific(shape)


@pytest.mark.parametrize(
    ("pattern", "normal"),
    [
        (r"^INC\d{7}$", r"INC\d{7}"),
        (r"^INC[0-9]{7}$", r"INC\d{7}"),
        (r"[A-Z]+-\d+", r"[A-Z]{1,64}\-\d{1,64}"),
        (r"^vol-([0-9a-f]{8}|[0-9a-f]{17})$", r"vol\-(?:[0-9a-f]{8}|[0-9a-f]{17})"),
        (r"^(\d{1,3}\.){3}\d{1,3}$", r"(?:\d{1,3}\.){3}\d{1,3}"),
    ],
)
def test_a_pattern_is_written_in_one_form(pattern: str, normal: str) -> None:
    shape = shape_of_pattern(pattern)
    assert shape == ValueShape(normal)
    assert shape_of_pattern(normal) == shape


COSTLY: list[str] = [
    r"^(a+)+$",
    r"^(a|a)*$",
    r"^(\w+)\s\1$",
    r"(?=a)b",
    r"x*x*x*x*y",
    r"^ab(?:a+A+a+A+a+A+a+A+a+A+)!$",  # disjoint only where case is regarded
    r"^a(?:a{1,20}[^a]{1,20}a){1,3}[^a]*!$",
    "((((((((a",
    "a{3,1}",
    "",
    "^$",
    "(?i)abc12",
    "a" * 400,
]


def test_what_is_costly_or_outside_the_subset_has_no_shape(subtests: pytest.Subtests) -> None:
    for pattern in COSTLY:
        with subtests.test(ascii(pattern)):
            assert shape_of_pattern(pattern) is None


@pytest.mark.parametrize(
    "pattern", [r"^ab(?:a{1,4}A{1,4}){1,2}!$", r"^ab[A-M]{1,60}[a-m]{1,16}!$", r"^abc(?:a+B){1,9}!$"]
)
@pytest.mark.parametrize("value", ["ab" + "a" * 58 + "1", "ab" + "aA" * 30 + "1", "abc" + "ab" * 30 + "1"])
def test_the_time_has_a_bound_also_where_case_is_not_regarded(pattern: str, value: str) -> None:
    shape = shape_of_pattern(pattern)
    assert shape is not None
    assert facts_of(shape).any_case
    started = time.process_time()
    assert not re.fullmatch(shape.pattern, value, facts_of(shape).flags)
    assert time.process_time() - started < 0.5


UNSPECIFIC: list[ValueShape] = [
    KIND_SHAPES["integer"],
    KIND_SHAPES["date"],
    KIND_SHAPES["slug"],
    KIND_SHAPES["version"],
    KIND_SHAPES["ip"],
    KIND_SHAPES["duration"],
    ValueShape(r"\d{6}"),
    ValueShape(r"\d{8}"),
    ValueShape(r"20\d{6}"),
    ValueShape(r"\d{10}"),
    ValueShape(r"17\d{8}"),
    ValueShape(r"\d{13}"),
    ValueShape(r"\d{14}"),
    ValueShape(r"0\.\d{2}\.\d{3}"),
    ValueShape(r"\d\-\d{2}\-20\d{2}"),
    ValueShape(r"https?://[!-~]{1,64}"),
    ValueShape(r"[A-Z]{2}\d{2}"),
    ValueShape(r"[\w+=,.@-]{1,64}"),
    ValueShape(r"[a-z]{1,20}"),
]


def test_shapes_of_words_numbers_and_dates_are_not_specific(subtests: pytest.Subtests) -> None:
    for shape in UNSPECIFIC:
        with subtests.test(ascii(shape)):
            assert not is_specific(shape)
