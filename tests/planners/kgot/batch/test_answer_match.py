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
    ("56", "56 %"),
    ("56 percent", "56 %"),
    ("EUR 12", "12"),
    ("€12", "12 euros"),
    ("EUR 12 euros", "12"),
    ("42 km", "42"),
    ("3 Million", "3 million"),
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
    ("3 million", "3"),
    ("3", "3 million"),
    ("3k", "3"),
    ("3m", "3"),
    ("2 dozen", "2"),
    ("2 hundred", "2"),
    ("3 half", "3"),
    ("9 wrongs", "9"),
    ("17 of", "17"),
    ("56 %", "56"),
    ("12 dollars", "12 euros"),
    ("$12 euros", "12"),
    ("km 42", "42"),
    ("Argo, Egret, Grebe", "Argo, Egret"),
    ("2482", "2481.09"),
    ("2481.091", "2481.09"),
    ("3 million, b", "b, 3"),
]
ASKED = [
    ("9 invoices", "9", "How many invoices are paid?", True),
    ("9 orders", "9", "How many invoices are paid?", False),
    ("9 invoices, b", "b, 9", "Which invoices?", True),
    ("56 %", "56", "What percentage is closed?", True),
    ("56 %", "56", "What is 10 % of 560?", True),
    ("56 %", "56", "How many are closed?", False),
    ("3 million", "3", "How many of the 5 million are old?", False),
]


@pytest.mark.parametrize(("found", "expected"), RIGHT)
def test_right(found: str, expected: str) -> None:
    assert answer_matches(found, expected)


@pytest.mark.parametrize(("found", "expected"), WRONG)
def test_wrong(found: str, expected: str) -> None:
    assert not answer_matches(found, expected)


@pytest.mark.parametrize(("found", "expected", "question", "right"), ASKED)
def test_words_of_the_question_are_units(found: str, expected: str, question: str, right: bool) -> None:
    assert answer_matches(found, expected, question=question) is right


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
