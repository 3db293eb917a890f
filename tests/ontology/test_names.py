"""Canonical names: what must meet, and what must not."""

import doctest
import subprocess
import sys

import ontology.names
from ontology.names import canonical_name, identified_entity, is_noun, noun_lemma, verb_lemma
from tests.conftest import ROOT


def test_doctests() -> None:
    outcome = doctest.testmod(ontology.names)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_a_lemma_imports_no_spacy() -> None:
    code = "import sys, ontology.names as names; print(names.noun_lemma('boxes'), 'spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["box", "False"]


SPELLINGS = {
    "supplier": ("Supplier", "supplier", "suppliers", "SUPPLIERS"),
    "purchase order item": ("PurchaseOrderItems", "purchase_order_item", "purchase-order items", "purchaseOrderItem"),
    "api": ("APIs", "api", "Api"),
    "user id": ("userIDs", "user id", "user_ids", "userId"),
    "github repo": ("GitHub repos", "github repo", "GITHUB REPO"),
    "oauth2 token": ("OAuth2Token", "oauth2 tokens"),
    "user queue": ("user's queue", "user’s queue", "user queue"),
    "person": ("people", "person", "persons"),
    "woman": ("women", "woman"),
    "mechanic id": ("mechanics_id", "mechanicIds"),
    "logistics": ("logistics",),
    "address": ("addresses", "address"),
    **{name: (name,) for name in ("business", "status", "analysis")},  # a singular in s keeps it
}


def test_spellings_of_one_name_share_one_form() -> None:
    found = {name: {canonical_name(spelling) for spelling in spellings} for name, spellings in SPELLINGS.items()}
    assert found == {name: {name} for name in SPELLINGS}


def test_abbreviations_are_written_out_before_the_singular_is_made() -> None:
    assert canonical_name("PO_qty", {"po": "purchase order", "qty": "quantities"}) == "purchase order quantity"


IDENTIFIERS = {
    "purchase_order_id": "purchase order",
    "movieId": "movie",
    "items[].order_id": "order",
    "userIDs": "user",
    "personid": "person",
    "customer_number": "customer",
    "id": "",
    "paid": "",
    "grid": "",
    "valid": "",
    "name": "",
    "": "",
}


def test_identifiers_name_their_entity() -> None:
    assert {name: identified_entity(name) for name in IDENTIFIERS} == IDENTIFIERS


def test_verbs_and_nouns_have_lemmas_of_their_own() -> None:
    assert verb_lemma("sending") == "send"
    assert verb_lemma("wrote") == "write"
    assert noun_lemma("leaves") == "leave"
    assert is_noun("supplier")
    assert is_noun("webhook")
    assert not is_noun("upcoming")


def test_a_word_of_a_million_letters_costs_no_more_than_its_window() -> None:
    assert canonical_name("x" * 1_000_000) == "x" * 20_000
