"""English as far as requests need it."""

from __future__ import annotations

import pytest

from datagen.generation.grammar import article, gerund, joined, lowered, plural, tidy


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("invoice", "an invoice"),
        ("user", "a user"),
        ("hour", "an hour"),
        ("NDA", "an NDA"),
        ("PO", "a PO"),
        ("RFQ", "an RFQ"),
        ("IT request", "an IT request"),
        ("unit", "a unit"),
        ("upgrade", "an upgrade"),
        ("one-off", "a one-off"),
        ("European trip", "a European trip"),
        ("8-pack", "an 8-pack"),
    ],
)
def test_article(phrase: str, expected: str) -> None:
    assert article(phrase) == expected


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("bill", "bills"),
        ("person", "people"),
        ("delivery", "deliveries"),
        ("holiday", "holidays"),
        ("boss", "bosses"),
        ("line of work", "lines of work"),
        ("series", "series"),
        ("shelf", "shelves"),
        ("PO", "POs"),
        ("staff", "staff"),
    ],
)
def test_plural(noun: str, expected: str) -> None:
    assert plural(noun) == expected


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("put in a claim", "putting in a claim"),
        ("give it away", "giving it away"),
        ("see it", "seeing it"),
        ("tie up", "tying up"),
        ("double-check it", "double-checking it"),
        ("get", "getting"),
        ("free it", "freeing it"),
        ("okay it", "okaying it"),
    ],
)
def test_gerund(phrase: str, expected: str) -> None:
    assert gerund(phrase) == expected


def test_joined() -> None:
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"], "or") == "a, b or c"


def test_lowered_keeps_names_and_numbers() -> None:
    assert lowered("Show it") == "show it"
    assert lowered("PO 4500123 please") == "PO 4500123 please"
    assert lowered("I need it") == "I need it"


def test_tidy() -> None:
    assert tidy("bring  it , please ?.") == "bring it, please?"
    assert tidy("put it on on Friday") == "put it on Friday"
