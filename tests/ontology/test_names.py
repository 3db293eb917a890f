"""Canonical names: what must meet, and what must not."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ontology.names
from ontology.names import canonical_name, identified_entity, is_comparative, is_noun, noun_lemma, verb_lemma, words


def test_doctests() -> None:
    outcome = doctest.testmod(ontology.names)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize(
    "spellings",
    [
        ("Supplier", "supplier", "suppliers", "SUPPLIERS"),
        ("PurchaseOrderItems", "purchase_order_item", "purchase-order items", "purchaseOrderItem"),
        ("APIs", "api", "Api"),
        ("userIDs", "user id", "user_ids", "userId"),
        ("GitHub repos", "github repo", "GITHUB REPO"),
        ("OAuth2Token", "oauth2 tokens"),
        ("user's queue", "user’s queue", "user queue"),
        ("people", "person", "persons"),
        ("women", "woman"),
        ("addresses", "address"),
    ],
)
def test_spellings_of_one_name_share_one_form(spellings: tuple[str, ...]) -> None:
    assert len({canonical_name(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize("one, other", [("business", "busines"), ("status", "statu"), ("analysis", "analysi")])
def test_a_singular_in_s_keeps_its_s(one: str, other: str) -> None:
    assert canonical_name(one) == one
    assert canonical_name(one) != other


def test_abbreviations_are_written_out_before_the_singular_is_made() -> None:
    assert canonical_name("PO_qty", {"po": "purchase order", "qty": "quantities"}) == "purchase order quantity"


@pytest.mark.parametrize(
    "name, entity",
    [
        ("purchase_order_id", "purchase order"),
        ("movieId", "movie"),
        ("items[].order_id", "order"),
        ("userIDs", "user"),
        ("personid", "person"),
        ("customer_number", "customer"),
        ("id", ""),
        ("paid", ""),
        ("grid", ""),
        ("valid", ""),
        ("name", ""),
        ("", ""),
    ],
)
def test_identifiers_name_their_entity(name: str, entity: str) -> None:
    assert identified_entity(name) == entity


def test_verbs_and_nouns_have_lemmas_of_their_own() -> None:
    assert verb_lemma("sending") == "send"
    assert verb_lemma("wrote") == "write"
    assert noun_lemma("leaves") == "leave"
    assert is_noun("supplier")
    assert is_noun("webhook")
    assert not is_noun("upcoming")


@pytest.mark.parametrize("word", ["larger", "earliest", "nicer", "better"])
def test_comparatives_are_known(word: str) -> None:
    assert is_comparative(word)
    assert not is_comparative("order")
    assert not is_comparative("interest")


@given(st.text(max_size=200))
def test_canonical_names_are_stable(text: str) -> None:
    name = canonical_name(text)
    assert name == name.lower()
    assert words(name) == name.split()


def test_a_word_of_a_million_letters_costs_no_more_than_its_window() -> None:
    assert canonical_name("x" * 1_000_000) == "x" * 20_000
