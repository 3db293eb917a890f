"""The tuned encoder: what its card says of it, and its known answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from inference import Encoder, load_encoder
from inference.minilm import WEIGHTS as BASE
from tests.inference.cards import assert_files_are_those_of_the_card

NAME = "egotools-minilm-int8.v1"
WEIGHTS = BASE.parent / "egotools-minilm-int8"
CARD = json.loads((WEIGHTS / "card.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(NAME)


def test_weights_are_those_of_the_card() -> None:
    assert_files_are_those_of_the_card(WEIGHTS, CARD)


def test_close_to_the_unquantised_model_on_known_vectors(encoder: Encoder) -> None:
    """Cosines that the fp32 weights give for these pairs, measured once when the weights were exported."""
    pairs = {
        ("Create a purchase order", "Creates a new purchase requisition"): 0.6624,
        ("Show me all pending invoices", "List of unpaid supplier bills"): 0.3977,
        ("Book a flight to Rome", "Delete a user account"): 0.0169,
        ("get_employee_by_id", "Returns the employee with this personnel number"): 0.6322,
        ("采购订单", "订单"): 0.8937,
    }
    for (first, second), expected in pairs.items():
        left, right = encoder.encode([first, second])
        assert float(np.dot(left, right)) == pytest.approx(expected, abs=0.02), (first, second)
