"""What values stand for: the text for the encoder, the weights of terms, and the n-grams of a request with values."""

from __future__ import annotations

import pytest

from ontology.value_shape import ValueShape
from retrieval.index.value_shapes import ShapeMatch, ValueUse
from retrieval.query.query import noun_of, typed_text
from retrieval.query.typed_values import TypedValue, find_values


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
