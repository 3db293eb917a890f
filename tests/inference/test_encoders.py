"""What every encoder keeps to, run over each of them; the embedded ones; recent vectors."""

import gc
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from inference import Encoder, Floats2d, HashingEncoder, MiniLmEncoder, RetryPolicy, load_encoder
from inference.encoder import SentenceTransformersEncoder
from inference.encoder_wrappers import RecentVectors, with_recent_vectors
from inference.minilm import WEIGHTS, SpanEncoder, encode_clauses
from inference.openai_client import OpenAIEncoder
from ontology.errors import ModelError
from tests.harness.http_server import Arrived, Reply, as_json
from tests.inference.conftest import Serve

Make = Callable[[], Encoder]

ODD = ["!?…", "😀🎉", "采购订单行项目", "\ud800 torn", "_", "\u200b", "x" * 3000]


def embed(asked: Arrived) -> Reply:
    """A server whose vectors come from the bytes of the text, unnormalised, handed back in reverse order."""
    rows = []
    for index, text in enumerate(asked.json["input"]):
        digest = hashlib.sha256(text.encode()).digest()[:8]
        rows.append({"object": "embedding", "index": index, "embedding": [byte - 127.5 for byte in digest]})
    return as_json({"object": "list", "data": rows[::-1], "model": asked.json["model"], "usage": {}})


@pytest.fixture(params=["minilm", "egotools-minilm", "hashing", "openai", "sentence-transformers", "recent"])
def encoder(request: pytest.FixtureRequest, serve: Serve) -> Encoder:
    makers: dict[str, Make] = {
        "minilm": MiniLmEncoder,
        "egotools-minilm": lambda: load_encoder("egotools-minilm-int8.v1"),
        "hashing": HashingEncoder,
        "recent": lambda: with_recent_vectors(MiniLmEncoder()),
        "openai": lambda: OpenAIEncoder("tiny", base_url=f"{serve(embed).url}/v1", api_key="k"),
        "sentence-transformers": lambda: SentenceTransformersEncoder(
            str(request.getfixturevalue("tiny_sentence_transformer"))
        ),
    }
    return makers[request.param]()


def test_shape_dtype_and_length(encoder: Encoder) -> None:
    rows = encoder.encode(["purchase order", "list suppliers", "a"])
    assert rows.shape == (3, encoder.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0"])
def test_without_content_gives_zeros(encoder: Encoder, text: str) -> None:
    rows = encoder.encode(["order", text])
    assert not rows[1].any()
    assert rows[0].any()


def test_odd_texts_give_finite_rows(encoder: Encoder) -> None:
    rows = encoder.encode(ODD)
    lengths = np.linalg.norm(rows, axis=1)
    assert np.isfinite(rows).all()
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    visible = lengths[:4]
    assert visible.all()


def test_a_row_depends_on_its_text_alone(encoder: Encoder) -> None:
    texts = ["list orders", "a", "the approval of a purchase order by two managers", "list orders", "", "zebra"]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    backwards = encoder.encode(texts[::-1])[::-1]
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()
    assert together[0].tobytes() == together[3].tobytes()
    assert together[0].tobytes() != together[5].tobytes()


REQUEST = "  Book the cheapest flight to Málaga 😀, mail the invoice to Jan and delete the draft of the contract"
CLAUSES = ["Book the cheapest flight to Málaga 😀", "mail the invoice to Jan", "delete the draft of the contract"]


def test_the_row_of_a_request_does_not_depend_on_its_clauses(encoder: Encoder) -> None:
    rows = encode_clauses(encoder, REQUEST, CLAUSES)
    assert rows.shape == (4, encoder.dimensions)
    assert rows.dtype == np.float32
    assert (
        rows[0].tobytes() == encode_clauses(encoder, REQUEST, [])[0].tobytes() == encoder.encode([REQUEST])[0].tobytes()
    )
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_hashing_is_the_same_everywhere() -> None:
    """The value is fixed: another one would mean that stored vectors no longer match."""
    row = HashingEncoder().encode(["purchase order"])[0]
    assert hashlib.sha256(np.rint(row * 1e4).astype("<i4").tobytes()).hexdigest()[:12] == "bc1f15a5e51c"


def test_openai_sends_distinct_texts_with_the_key(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(embed)
    encoder = OpenAIEncoder("tiny", base_url=f"{server.url}/v1", api_key="sk-secret", policy=swift)
    encoder.encode(["a", "b", "a", "", "c", *map(str, range(100))])
    assert [len(asked.json["input"]) for asked in server.arrived] == [1, 64, 39]  # the first asks for the width
    assert server.arrived[0].path == "/v1/embeddings"
    assert server.arrived[0].headers["authorization"] == "Bearer sk-secret"
    assert encoder.name == f"openai:tiny@{server.url}/v1"
    assert "sk-secret" not in repr(encoder)


def test_sentence_transformers_that_is_no_folder(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra 'torch' is not installed")
    from ontology.errors import ModelError

    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceTransformersEncoder(str(tmp_path))


# -- the embedded encoder ----------------------------------------------------------------------------------------------


TUNED = WEIGHTS.parent / "egotools-minilm-int8"


@pytest.fixture(scope="module")
def minilm() -> MiniLmEncoder:
    return MiniLmEncoder()


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers_gives_the_same_bytes(minilm: MiniLmEncoder, workers: int) -> None:
    texts = [
        f"tool {number}: lists the {'very ' * (number % 7)}late orders of plant {number * 37}" for number in range(40)
    ]
    expected = minilm.encode(texts)
    assert MiniLmEncoder(workers=workers).encode(texts).tobytes() == expected.tobytes()


def test_a_text_is_cut_at_the_token_limit(minilm: MiniLmEncoder) -> None:
    words = ["order"] * 254
    shorter, whole, longer = minilm.encode([" ".join(each) for each in (words[1:], words, [*words, "weather"])])
    assert shorter.tobytes() != whole.tobytes() == longer.tobytes()


def test_of_ten_megabytes_the_beginning_is_encoded(minilm: MiniLmEncoder) -> None:
    assert minilm.encode(["word " * 2_000_000]).tobytes() == minilm.encode(["word " * 500]).tobytes()


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


# -- recent vectors ----------------------------------------------------------------------------------------------------


class Counting(HashingEncoder):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self.asked.extend(texts)
        return super().encode(texts)


def test_it_is_bounded_and_drops_what_was_not_used_for_longest() -> None:
    encoder = Counting()
    recent = with_recent_vectors(encoder, max_rows=3)
    assert isinstance(recent, RecentVectors)
    for text in ("one", "two", "three", "one", "four", "one", "two"):
        recent.encode([text])
    assert encoder.asked == ["one", "two", "three", "four", "two"]
    recent.encode([f"word{number}" for number in range(10)])  # more than it may keep
    assert recent.rows <= 3


def test_no_text_stays_in_it() -> None:
    recent = with_recent_vectors(HashingEncoder())
    recent.encode(["the salary of Ada is 7,000"])
    kept = [name for name in gc.get_referents(recent.__dict__) if isinstance(name, dict)]
    assert kept and not any("salary" in repr(each) for each in kept)


def test_many_threads_get_the_right_vectors() -> None:
    recent = with_recent_vectors(HashingEncoder(), max_rows=5)
    texts = [f"request {number}" for number in range(12)]
    expected = {text: HashingEncoder().encode([text]) for text in texts}
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: np.array_equal(recent.encode([text]), expected[text]), texts * 40))
    assert all(found)
    assert isinstance(recent, RecentVectors) and recent.rows <= 5


@pytest.mark.parametrize("folder", [WEIGHTS, TUNED], ids=["base", "tuned"])
def test_graph_and_tokenizer_no_more_and_no_less_are_those_of_the_card(folder: Path) -> None:
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert set(card["files"]) == {"model.onnx", "tokenizer.json"}
    for name, entry in card["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
    if folder == WEIGHTS:
        assert card["licence"] == "Apache-2.0"
        assert card["source"]["sha256"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_a_request_and_its_clauses_keep_their_bits() -> None:
    encoder = MiniLmEncoder()
    recent = with_recent_vectors(encoder)
    assert isinstance(recent, SpanEncoder)
    text, clauses = "order paper and pay the invoice", ["order paper", "pay the invoice"]
    expected = encode_clauses(encoder, text, clauses)
    for _ in range(2):
        assert np.array_equal(encode_clauses(recent, text, clauses), expected)
    assert np.array_equal(recent.encode([text]), expected[:1])
