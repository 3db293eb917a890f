"""What values stand for: the text for the encoder, the weights of terms, and the n-grams of a request with values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from ontology.value_shape import ValueShape
from retrieval.index.analysis import ngrams, terms
from retrieval.index.value_shapes import ShapeMatch, ValueUse
from retrieval.query.query import Query, analyse
from retrieval.query.request import MAX_QUERY_CHARS
from retrieval.query.typed_text import noun_of, typed_text
from retrieval.query.typed_values import TypedValue, find_values
from tests.harness.waiting import bounded_work

requests = st.lists(
    st.sampled_from("find C-21066 acme/web report.pptx and then a@b.org, the order. `x` please Jan's".split()),
    max_size=30,
).map(" ".join)


def _query(text: str) -> Query:
    return analyse(text, None, {}, values=find_values(text), decomposed=True)


def _known_as(*entities: str, is_widened: bool = False) -> TypedValue:
    uses = tuple(ValueUse(0, "id", entity, False, "example", is_widened) for entity in entities)
    match = ShapeMatch(0, 7, "C-21066", ValueShape(r"C\-\d{5}"), 20.0, uses)
    return TypedValue(kind="identifier", text="C-21066", start=0, end=7, matches=(match,))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("translate report.pptx", "translate powerpoint presentation"),
        ("star https://github.com/acme/web now", "star github link now"),
        ("who forked acme/web?", "who forked repository?"),
        ("merge release/1.9 into main", "merge branch into main"),
        ("mail jan.novak@contoso.com", "mail email address"),
        ("meet next Friday at 10am", "meet next Friday at 10am"),
        ('create the board "Data platform"', 'create the board "Data platform"'),
        ("open the purchase order", "open the purchase order"),
        ("show me the `hosts` of `a = b;`", "show me the hosts of code"),
        ("GET /orders/{orderId}/items/PO-4711", "GET orders order id items id"),
    ],
)
def test_a_value_is_encoded_as_what_it_says(text: str, typed: str) -> None:
    assert typed_text(text, find_values(text), ((0, len(text)),)) == typed


@pytest.mark.parametrize(
    ("value", "noun"),
    [
        (_known_as("case"), "case"),
        (_known_as("employee", "owner employee", "host employee"), "employee"),
        (_known_as("case", "order", "room"), "id"),
        (_known_as("case", is_widened=True), "id"),
        (_known_as(), "id"),
    ],
)
def test_what_the_snapshot_knows_a_value_to_identify_is_its_noun(value: TypedValue, noun: str) -> None:
    assert noun_of(value) == noun


def test_words_of_a_value_count_half_its_numbers_not_and_its_noun_in_full() -> None:
    weights = _query("delete tokens of acme/web-2").weights
    assert weights == {"delete": 1, "token": 1, "acme": 0.5, "web": 0.5, "repository": 1}


def test_no_ngram_has_a_word_of_a_value_or_reaches_over_one() -> None:
    query = _query("close order C-21066 of acme/web today")
    assert "order" in query.ngrams and "today" in query.ngrams
    assert not [ngram for ngram in query.ngrams if {"acme", "web", "21066"} & set(ngram.split())]
    assert "order today" not in query.ngrams and "order of" not in ngrams(["order", "of"], {})


def test_a_value_is_not_cut_and_belongs_to_its_clause() -> None:
    text = 'commit the file with "fix tests, then ship" and send the link of acme/web to Jan Novak'
    query = _query(text)
    assert [clause.text for clause in query.clauses] == [
        'commit the file with "fix tests, then ship"',
        "send the link of acme/web to Jan Novak",
    ]
    assert [[value.kind for value in clause.values] for clause in query.clauses] == [["quoted"], ["repository"]]


@settings(max_examples=200)
@given(text=requests)
def test_the_clauses_share_the_values_of_the_request(text: str) -> None:
    query = _query(text)
    assert query.values == find_values(text)
    if query.clauses:
        assert [value for clause in query.clauses for value in clause.values] == list(query.values)
    assert all(weight > 0 for weight in query.weights.values())


@settings(max_examples=100)
@given(text=requests)
def test_without_values_a_request_is_words(text: str) -> None:
    query = analyse(text, None, {}, decomposed=True)
    said = terms(text)
    assert query.values == ()
    assert query.weights == {term: said.count(term) for term in said}
    assert query.ngrams == tuple(ngrams([text], {}))


@pytest.mark.parametrize("unit", ["C-21066, ", "x1 and ", "a/b-1. ", '"a", ', "and do it, ", "report.pdf then "])
def test_the_analysis_of_many_values_is_linear(unit: str) -> None:
    text = unit * (MAX_QUERY_CHARS // len(unit))
    with bounded_work():
        analyse(text, HashingEncoder(), {}, values=find_values(text), decomposed=True)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("get rid of the old rooms", {"delete", "remove"}),
        ("tick the first two off", {"update", "complete"}),
        ("who is following it?", {"watcher"}),
        ("close the order", set()),
    ],
)
def test_an_everyday_phrase_adds_what_tools_call_it_and_that_counts_little(text: str, added: set[str]) -> None:
    weights = _query(text).weights
    assert {term: weights.get(term, 1) < 0.5 for term in added} == dict.fromkeys(added, True)
    assert weights.keys() >= set(terms(text))
    assert added or weights.keys() == set(terms(text))
    assert analyse(text, None, {}).weights.keys() == set(terms(text)), "a baseline matches the words as they are"
