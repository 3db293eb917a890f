"""A model that is late is waited for only so long, and while one call is late the others do not wait."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from inference import Floats2d, HashingEncoder, HttpReranker, RetryPolicy
from inference.encoder import Encoder, Reranker
from inference.encoder_wrappers import BoundedWait, PunctualEncoder, PunctualReranker, load_punctual_encoder
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
    encoder = PunctualEncoder(HashingEncoder(), 60.0)
    assert isinstance(encoder, Encoder)
    assert np.array_equal(encoder.encode(["a tool"]), HashingEncoder().encode(["a tool"]))
    assert (encoder.name, encoder.dimensions, encoder.digest) == (
        HashingEncoder().name,
        HashingEncoder().dimensions,
        HashingEncoder().digest,
    )


def test_a_late_answer_is_an_error_and_the_next_requests_do_not_wait() -> None:
    held = Held()
    encoder = PunctualEncoder(held, 0.05)
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
    released = threading.Event()
    bounded = BoundedWait("m", 600.0)
    with ThreadPoolExecutor(64) as threads:
        waiting = [threads.submit(bounded.call, released.wait) for _ in range(64)]
        wait_until(lambda: model_threads() == 64)
        with pytest.raises(ModelError):
            bounded.call(released.wait)
        released.set()
        assert all(each.result() for each in waiting)


def test_the_error_of_a_model_is_the_error() -> None:
    def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        BoundedWait("m", 60.0).call(fail)


def test_a_reranker_that_hangs_is_given_up(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(lambda asked: Reply(hang=True))
    reranker = PunctualReranker(HttpReranker(f"{server.url}/rerank", policy=swift, timeout_s=600), 0.05)
    assert isinstance(reranker, Reranker) and reranker.name.startswith("http:")
    with pytest.raises(ModelError, match="did not answer within") as caught:
        reranker.score("q", ["a", "b"])
    assert caught.value.subject == reranker.name


def test_an_embedded_model_is_not_wrapped() -> None:
    assert type(load_punctual_encoder("hashing.v1", 0.01)) is HashingEncoder
