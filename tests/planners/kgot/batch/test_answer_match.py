"""Which answers are right, and which are near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.kgot.batch.answer_match import answer_is_close, answer_matches

RIGHT = [
    ("17", "17"),
    ("17.0", "17"),
    ("$1,250.50", "1250.5"),
    ("1250.5 euros", "1,250.5"),
    ("56 %", "56"),
    ("EUR 12", "12"),
    ("-3", "-3"),
    ("Jane Doe.", "jane doe"),
    ("The Café", "cafe"),
    ("Saint-Émilion", "saint emilion"),
    ("Argo, Egret; Grebe", "Egret, Argo, Grebe"),
    ("Board, Export, Finance and Sales", "Board, Export, Finance, Sales"),
    ("5105600123, 5105600144", "5105600144, 5105600123"),
    ("5105600123,5105600144", "5105600123,5105600144"),
    ("1.0, b", "B, 1"),
    ("2023-10-31", "2023-10-31"),
]
WRONG = [
    ("18", "17"),
    ("17 or 18", "17"),
    ("", "17"),
    ("no answer", "17"),
    ("Jane", "Jane Doe"),
    ("Argo, Egret", "Argo, Egret, Grebe"),
    ("Argo, Argo", "Argo, Egret"),
    ("2023-10-30", "2023-10-31"),
    ("3", "-3"),
]


@pytest.mark.parametrize(("found", "expected"), RIGHT)
def test_right(found: str, expected: str) -> None:
    assert answer_matches(found, expected)


@pytest.mark.parametrize(("found", "expected"), WRONG)
def test_wrong(found: str, expected: str) -> None:
    assert not answer_matches(found, expected)


def test_order_counts_where_it_is_asked_for() -> None:
    assert answer_matches("a1, b2", "a1, b2", in_order=True)
    assert not answer_matches("b2, a1", "a1, b2", in_order=True)


@pytest.mark.parametrize(
    ("found", "expected", "close"),
    [
        ("It is Jane Doe, I think", "Jane Doe", True),
        ("Janet Doe", "Jane Doe", False),
        ("about 101", "100", True),
        ("102", "100", False),
        ("a, b", "a, b, c", True),
        ("a, x, y", "a, b, c", False),
        ("anything", "", False),
        ("", "Jane", False),
    ],
)
def test_close(found: str, expected: str, close: bool) -> None:
    assert answer_is_close(found, expected) is close


@given(text=st.text(max_size=40), number=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_answer_is_itself_and_none_ends_the_report(text: str, number: float) -> None:
    assert answer_matches(text, text)
    assert answer_matches(f"{number:,.8f}", f"{number:.8f}")
    answer_is_close(text, f"{number}")
