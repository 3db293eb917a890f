"""Calls that wait are joined; one that finds the encoder idle runs at once; errors reach each caller."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from inference import HashingEncoder
from inference.encoder import Floats2d
from inference.encoder_wrappers import JoinedCalls
from ontology.errors import ModelError
from tests.harness.waiting import LIMIT_S


class Held(HashingEncoder):
    """Waits in each call until it is let go, and keeps the sizes of its calls."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.calls: list[int] = []
        self.entered, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.fails = fails

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self.calls.append(len(texts))
        self.entered.release()
        assert self.go.acquire(timeout=LIMIT_S)
        if self.fails:
            raise ModelError("down", subject="here")
        return super().encode(texts)


def waiting(joined: JoinedCalls, count: int) -> None:
    done = threading.Event()
    for _ in range(int(LIMIT_S * 1000)):
        if len(joined.waiting) == count:
            return
        done.wait(0.001)
    raise AssertionError(f"{len(joined.waiting)} wait, not {count}")


def test_those_that_wait_are_encoded_together() -> None:
    encoder = Held()
    joined = JoinedCalls(encoder)
    texts = [f"request {number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(joined.encode, texts[:1])
        assert encoder.entered.acquire(timeout=LIMIT_S)  # idle: it ran at once, alone
        others = [pool.submit(joined.encode, [text]) for text in texts[1:]]
        waiting(joined, 5)
        encoder.go.release(2)
        found = [future.result(LIMIT_S) for future in (first, *others)]
    assert encoder.calls == [1, 5]
    expected = HashingEncoder().encode(texts)
    assert all(np.array_equal(vectors[0], row) for vectors, row in zip(found, expected, strict=True))


def test_an_error_reaches_each_caller_and_the_next_call_runs() -> None:
    encoder = Held(fails=True)
    joined = JoinedCalls(encoder)
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(joined.encode, ["first"])]
        assert encoder.entered.acquire(timeout=LIMIT_S)
        futures += [pool.submit(joined.encode, ["second"]), pool.submit(joined.encode, ["third"])]
        waiting(joined, 2)
        encoder.go.release(2)
        for future in futures:
            with pytest.raises(ModelError, match="down"):
                future.result(LIMIT_S)
    encoder.fails = False
    encoder.go.release()
    assert len(joined.encode(["later"])) == 1
    assert encoder.calls == [1, 2, 1]
