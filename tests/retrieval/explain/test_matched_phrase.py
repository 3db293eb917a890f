"""The quoted words: a stretch of the request that really matches, as the user wrote it."""

from __future__ import annotations

import pytest

from retrieval.explain.matched_phrase import matched_phrase, request_words


def phrase(text: str, name: list[str], description: str = "", values: tuple[tuple[int, int], ...] = ()) -> str:
    return matched_phrase(text, request_words(text, values), name, frozenset(description.split()), lambda term: 2.0)


@pytest.mark.parametrize(
    ("text", "name", "quoted"),
    [
        ("Please VOID that Invoice today", ["void", "invoice"], "VOID that Invoice"),
        ("sending reminders to all", ["send", "reminder"], "sending reminders"),
        ("get rid of my draft", ["delete", "draft"], "get rid of my draft"),
        ("the order, then the invoice", ["order", "invoice"], "order"),
        ("order and invoice", ["order", "invoice"], "order"),
        ("find it", ["find"], ""),
        ("nothing here", ["void", "invoice"], ""),
    ],
)
def test_the_stretch(text: str, name: list[str], quoted: str) -> None:
    found = phrase(text, name)
    assert found == quoted


def test_one_word_of_the_description_alone_is_chance_and_two_are_not() -> None:
    assert phrase("the goods were collected", ["charge"], "collected") == ""
    assert phrase("a card payment please", ["charge"], "card payment") == "card payment"


def test_values_are_no_words() -> None:
    text = "void invoice invoice-77"
    assert phrase(text, ["void", "invoice"], values=((13, 23),)) == "void invoice"


def test_a_name_counts_more_than_a_description() -> None:
    assert phrase("a card payment made twice, so charge", ["charge"], "card payment") == "charge"


def test_a_long_request_is_read_up_to_a_bound() -> None:
    assert phrase("x " * 5_000 + "void invoice", ["void", "invoice"]) == ""
    assert len(phrase("w" * 500, ["w" * 500])) <= 60
