"""What the letters of an identifier abbreviate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.index.identifier_prefix import PrefixIndex, letters_before_digits

NAMES = (
    "purchase order",
    "incident",
    "customer",
    "case",
    "project",
    "ticket",
    "leave request",
    "shipment",
    "service order",
)
INDEX = PrefixIndex((name, number) for number, name in enumerate(NAMES))


@pytest.mark.parametrize(
    ("identifier", "letters"),
    [
        ("PO-4711", "po"),
        ("INC0012345", "inc"),
        ("cus_NffrFeUfNV2Hib", "cus"),
        ("#T-17", "t"),
        ("4500118277", ""),
        ("release-notes", ""),
        ("", ""),
    ],
)
def test_the_letters_before_the_number(identifier: str, letters: str) -> None:
    assert letters_before_digits(identifier) == letters


@pytest.mark.parametrize(
    ("prefix", "best"),
    [
        ("po", "purchase order"),
        ("inc", "incident"),
        ("cus", "customer"),
        ("prj", "project"),
        ("tkt", "ticket"),
        ("lr", "leave request"),
        ("sh", "shipment"),
        ("so", "service order"),
    ],
)
def test_a_prefix_abbreviates_a_name(prefix: str, best: str) -> None:
    found = INDEX.named(prefix)
    assert max(found, key=lambda number: found[number]) == NAMES.index(best)


def test_one_letter_is_the_initial_of_every_name_of_one_word_and_says_less() -> None:
    found = INDEX.named("c")
    assert sorted(found) == [NAMES.index("customer"), NAMES.index("case")]
    assert max(found.values()) < INDEX.named("inc")[NAMES.index("incident")]


def test_no_letters_abbreviate_nothing() -> None:
    assert INDEX.named("") == {}
    assert INDEX.named("zz") == {}
    assert PrefixIndex(()).named("po") == {}


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", max_size=7))
def test_a_strength_is_a_share_and_its_name_begins_with_the_first_letter(prefix: str) -> None:
    for number, strength in INDEX.named(prefix).items():
        assert 0 < strength <= 1
        assert prefix[0] in {word[0] for word in NAMES[number].split()}
