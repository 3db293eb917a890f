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


def test_the_card_says_where_it_comes_from() -> None:
    assert (CARD["name"], CARD["licence"]) == (NAME, "Apache-2.0")
    base = json.loads((BASE / "card.json").read_text(encoding="utf-8"))
    assert CARD["base"]["sha256"] == base["source"]["sha256"]
    for source in CARD["training"]["data"]:
        assert source.get("licence") in {"MIT", "Apache-2.0"} or source.get("catalogues") or source["packages"]
        for key in ("sha256", "tools_sha256"):
            assert len(source.get(key, "0" * 64)) == 64
    assert min(CARD["agreement_with_fp32"]["cosines"]) >= CARD["agreement_with_fp32"]["least"] >= 0.99


def test_it_reads_words_as_the_base_does() -> None:
    tokenizers = [json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")) for folder in (WEIGHTS, BASE)]
    assert tokenizers[0] == tokenizers[1]


def test_it_is_another_model_than_the_base(encoder: Encoder) -> None:
    assert encoder.name == NAME
    assert encoder.dimensions == 384
    text = ["Create a purchase order for 40 pumps from Meier, then tell the buyer"]
    assert float(encoder.encode(text)[0] @ load_encoder("minilm-l6-int8.v1").encode(text)[0]) < 0.999


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


def test_the_folder_holds_nothing_else() -> None:
    assert {path.name for path in WEIGHTS.iterdir()} == {"card.json", "model.onnx", "tokenizer.json"}
