"""Clauses: what a request is cut into, and that nothing of it is lost or invented."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.index.bm25 import terms
from retrieval.query.query import decompose
from tests.harness.waiting import bounded_work

CUT = {"use", "base"}  # the index terms of the separators "using" and "based on"; all others are stop words
word = st.sampled_from(
    "order the orders supplier find Jan's e-mail purchaseOrder_ID 42 3.5 v2 订单 ü a to I for employee "
    "and then if but also so that or when once using based on before after And THEN".split()
)
mark = st.sampled_from(
    [" ", " ", " ", "  ", ", ", ",", ". ", ".", "; ", ";", "?", "! ", ": ", ":", "\n", "\n\n", "…", "-"]
)
sentence = st.lists(st.tuples(word, mark), max_size=40).map(lambda pairs: "".join(map("".join, pairs)))
request = st.one_of(sentence, st.text(max_size=60))


PARTS: list[tuple[str, tuple[str, ...]]] = [
    ("give Jan a spot award", ("give Jan a spot award",)),
    ("Find the supplier Acme and create a purchase order.", ("Find the supplier Acme", "create a purchase order.")),
    (
        "Book a flight to Rome, then reserve a hotel room; finally tell my manager",
        ("Book a flight to Rome", "then reserve a hotel room", "finally tell my manager"),
    ),
    (
        "If paper stock runs low order ten boxes. Which invoices remain open?",
        ("If paper stock runs low order ten boxes", "Which invoices remain open?"),
    ),
    ("Pay the open invoice and then\nmail the receipt home", ("Pay the open invoice", "mail the receipt home")),
    # A part that says nothing by itself stays with its neighbour: before it, or after it for the first.
    (
        "list new suppliers, orders, and open invoices by date",
        ("list new suppliers orders", "and open invoices by date"),
    ),
    ("Hello, show the open invoices", ("Hello, show the open invoices",)),
    (
        "Hello, list open invoices and pay old bills now please, thanks",
        ("Hello list open invoices", "pay old bills now please thanks"),
    ),
    # *and* and *or* inside a noun phrase do not cut; before a clause they do.
    ("show the profit and loss statements of 2024", ("show the profit and loss statements of 2024",)),
    ("accept the terms and conditions of Acme Rail", ("accept the terms and conditions of Acme Rail",)),
    ("list cash flow and profit and loss of Acme", ("list cash flow and profit and loss of Acme",)),
    (
        "list the orders of Acme or show their unpaid old invoices",
        ("list the orders of Acme", "show their unpaid old invoices"),
    ),
    (
        "send Jan Novak the invoice and what the supplier Acme wrote",
        ("send Jan Novak the invoice", "what the supplier Acme wrote"),
    ),
    ("version 3.5 of api.example.com at 10:30", ("version 3.5 of api.example.com at 10:30",)),
    ("android phone orders, thenceforth formed bold", ("android phone orders", "thenceforth formed bold")),
]


def test_a_request_is_cut_where_english_sets_wishes_apart(subtests: pytest.Subtests) -> None:
    for text, parts in PARTS:
        with subtests.test(ascii(text)):
            assert decompose(text) == parts


@settings(max_examples=400)
@given(text=request)
def test_no_word_is_lost_invented_or_moved(text: str) -> None:
    found = [term for clause in decompose(text) for term in terms(clause) if term not in CUT]
    assert found == [term for term in terms(text) if term not in CUT]


@pytest.mark.parametrize("filling", [" ", ".", "\n", "\t ", ";", ", ", ":. ", " and "])
def test_the_work_on_a_request_does_not_grow_with_the_square_of_its_length(filling: str) -> None:
    text = "order" + filling * (200_000 // len(filling)) + "items"
    with bounded_work():
        assert decompose(text)
