"""Recent vectors are kept, bounded, one memory for each tenant."""

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from inference import Floats2d, HashingEncoder, MiniLmEncoder
from inference.encoder_wrappers import RecentVectors, with_recent_vectors
from inference.minilm import SpanEncoder, encode_clauses


class Counting(HashingEncoder):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self.asked.extend(texts)
        return super().encode(texts)


def test_a_text_that_was_asked_is_not_encoded_again() -> None:
    encoder = Counting()
    recent = with_recent_vectors(encoder)
    first, second = recent.encode(["order paper"]), recent.encode(["order paper"])
    assert encoder.asked == ["order paper"]
    assert np.array_equal(first, second)
    assert np.array_equal(first, HashingEncoder().encode(["order paper"]))


def test_a_request_and_its_clauses_keep_their_bits() -> None:
    encoder = MiniLmEncoder()
    recent = with_recent_vectors(encoder)
    assert isinstance(recent, SpanEncoder)
    text, clauses = "order paper and pay the invoice", ["order paper", "pay the invoice"]
    expected = encode_clauses(encoder, text, clauses)
    for _ in range(2):
        assert np.array_equal(encode_clauses(recent, text, clauses), expected)
    assert np.array_equal(recent.encode([text]), expected[:1])


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
