"""The embedded encoder: its weights, its known answers, its independence of workers."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from inference import MiniLmEncoder
from inference.minilm import WEIGHTS
from ontology.errors import ModelError

TUNED = WEIGHTS.parent / "egotools-minilm-int8"


@pytest.fixture(scope="module")
def encoder() -> MiniLmEncoder:
    return MiniLmEncoder()


@pytest.mark.parametrize("folder", [WEIGHTS, TUNED], ids=["base", "tuned"])
def test_graph_and_tokenizer_no_more_and_no_less_are_those_of_the_card(folder: Path) -> None:
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert set(card["files"]) == {"model.onnx", "tokenizer.json"}
    for name, entry in card["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
    if folder == WEIGHTS:
        assert card["licence"] == "Apache-2.0"
        assert card["source"]["sha256"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers_gives_the_same_bytes(encoder: MiniLmEncoder, workers: int) -> None:
    texts = [
        f"tool {number}: lists the {'very ' * (number % 7)}late orders of plant {number * 37}" for number in range(40)
    ]
    expected = encoder.encode(texts)
    assert MiniLmEncoder(workers=workers).encode(texts).tobytes() == expected.tobytes()


def test_a_text_is_cut_at_the_token_limit(encoder: MiniLmEncoder) -> None:
    words = ["order"] * 254
    shorter, whole, longer = encoder.encode([" ".join(each) for each in (words[1:], words, [*words, "weather"])])
    assert shorter.tobytes() != whole.tobytes() == longer.tobytes()


def test_of_ten_megabytes_the_beginning_is_encoded(encoder: MiniLmEncoder) -> None:
    assert encoder.encode(["word " * 2_000_000]).tobytes() == encoder.encode(["word " * 500]).tobytes()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_altered_weights_are_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(WEIGHTS, tmp_path / "weights"))
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match="SHA-256 of the file is not") as caught:
        MiniLmEncoder(folder)
    assert caught.value.subject == str(folder / name)
    assert caught.value.remedy


KNOWN = {
    ("Create a purchase order", "Creates a new purchase requisition"): (0.6717, 0.6624),
    ("Show me all pending invoices", "List of unpaid supplier bills"): (0.3982, 0.3977),
    ("Book a flight to Rome", "Delete a user account"): (0.0302, 0.0169),
    ("get_employee_by_id", "Returns the employee with this personnel number"): (0.5896, 0.6322),
    ("采购订单", "订单"): (0.8849, 0.8937),
}
"""Cosines that the fp32 models give for these pairs, the base's and the tuned one's, measured once when the weights were exported."""


def test_close_to_the_unquantised_models_on_known_vectors() -> None:
    for place, folder in enumerate((WEIGHTS, TUNED)):
        model = MiniLmEncoder(folder)
        for pair, expected in KNOWN.items():
            left, right = model.encode(pair)
            assert float(np.dot(left, right)) == pytest.approx(expected[place], abs=0.02), pair
