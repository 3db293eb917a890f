"""Models of a server: a late one is waited for only so long, and recent vectors are kept, bounded, one memory for each tenant."""

import gc
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from inference import Floats2d, HashingEncoder, MiniLmEncoder, RetryPolicy
from inference.encoder import Encoder, Reranker
from inference.encoder_wrappers import RecentVectors, SharedModels, TimeoutEncoder, TimeoutReranker, with_recent_vectors
from inference.minilm import SpanEncoder, encode_clauses
from inference.reranker import HttpReranker
from ontology.errors import ModelError
from tests.harness.http_server import Reply
from tests.harness.waiting import wait_until
from tests.inference.conftest import Serve


class Held(HashingEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self.calls += 1
        self.released.wait()
        return super().encode(texts)


def model_threads() -> int:
    return sum(thread.name == "egotools-model" for thread in threading.enumerate())


def test_an_answer_in_time_is_the_answer() -> None:
    encoder = TimeoutEncoder(HashingEncoder(), 60.0)
    assert isinstance(encoder, Encoder)
    assert np.array_equal(encoder.encode(["a tool"]), HashingEncoder().encode(["a tool"]))
    assert (encoder.name, encoder.dimensions, encoder.digest) == (
        HashingEncoder().name,
        HashingEncoder().dimensions,
        HashingEncoder().digest,
    )


def test_a_late_answer_is_an_error_and_the_next_requests_do_not_wait() -> None:
    held = Held()
    encoder = TimeoutEncoder(held, 0.05)
    with pytest.raises(ModelError, match=r"did not answer within 0\.05 s"):
        encoder.encode(["a"])
    for _ in range(100):
        with pytest.raises(ModelError, match="has not answered an earlier request"):
            encoder.encode(["a"])
    assert held.calls == 1 and model_threads() == 1
    held.released.set()
    wait_until(lambda: model_threads() == 0)
    assert encoder.encode(["a"]).shape == (1, held.dimensions)


def test_the_calls_that_wait_are_bounded() -> None:
    held = Held()
    encoder = TimeoutEncoder(held, 600.0)
    with ThreadPoolExecutor(64) as threads:
        waiting = [threads.submit(encoder.encode, ["a"]) for _ in range(64)]
        wait_until(lambda: model_threads() == 64)
        with pytest.raises(ModelError):
            encoder.encode(["a"])
        held.released.set()
        assert all(each.result().any() for each in waiting)


def test_a_reranker_that_hangs_is_given_up(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(lambda asked: Reply(hang=True))
    reranker = TimeoutReranker(HttpReranker(f"{server.url}/rerank", policy=swift, timeout_s=600), 0.05)
    assert isinstance(reranker, Reranker) and reranker.name.startswith("http:")
    with pytest.raises(ModelError, match="did not answer within") as caught:
        reranker.score("q", ["a", "b"])
    assert caught.value.subject == reranker.name


def test_models_are_loaded_once_and_an_embedded_one_is_not_wrapped() -> None:
    models = SharedModels(0.01)
    embedded = models.encoder("hashing.v1")
    assert type(embedded) is HashingEncoder and models.encoder("hashing.v1") is embedded
    assert type(models.encoder("openai:m@http://127.0.0.1:1/v1")) is TimeoutEncoder
    assert type(models.reranker("http:http://127.0.0.1:1/rerank")) is TimeoutReranker
    assert type(SharedModels().reranker("http:http://127.0.0.1:1/rerank")) is HttpReranker


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
