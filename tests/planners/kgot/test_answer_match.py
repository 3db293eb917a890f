"""Which answers are right, and which are near."""

from __future__ import annotations

import pytest

from planners.kgot.batch_report import answer_matches

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


@pytest.mark.parametrize(("found", "expected"), RIGHT)
def test_right(found: str, expected: str) -> None:
    assert answer_matches(found, expected)


@pytest.mark.parametrize(("found", "expected"), WRONG)
def test_wrong(found: str, expected: str) -> None:
    assert not answer_matches(found, expected)
