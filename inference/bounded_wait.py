"""Models that may be late, for a server: a request waits for a model behind an address only so long, and then does without.

A call to such a model is repeated after failures, and may take minutes; that is right for a build, and not for a caller who
waits. A late answer is a :class:`ontology.errors.ModelError`, which retrieval records as a fallback. While one call has been
unanswered for so long, the others do not wait at all.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from inference.registry import load_encoder, load_reranker
from inference.reranker import Reranker
from inference.wrapped_encoder import WrappedEncoder
from ontology.errors import ModelError

__all__ = ["BoundedWait", "PunctualEncoder", "PunctualReranker", "load_punctual_encoder", "load_punctual_reranker"]

_T = TypeVar("_T")
_MOST_CALLS = 64
_REMEDY = "Look at the model's server, or raise model_wait_s"


def load_punctual_encoder(name: str, wait_s: float, *, load: Callable[[str], Encoder] = load_encoder) -> Encoder:
    """Load an encoder by name; one behind an address is waited for at most ``wait_s`` seconds a request.

    :param load: returns the encoder with a name.
    :raises EgotoolsError: as :func:`inference.registry.load_encoder`.
    """
    encoder = load(name)
    return PunctualEncoder(encoder, wait_s) if name.startswith("openai:") else encoder


def load_punctual_reranker(name: str, wait_s: float) -> Reranker:
    """Load a reranker by name; one behind an address is waited for at most ``wait_s`` seconds a call.

    :raises EgotoolsError: as :func:`inference.registry.load_reranker`.
    """
    reranker = load_reranker(name)
    return PunctualReranker(reranker, wait_s) if name.startswith("http:") else reranker


class BoundedWait:
    """Runs calls on threads of their own, and waits for each only so long. Thread-safe.

    A thread that waits for a server cannot be stopped: it ends with the timeouts of its call. There are at most 64.

    :param subject: of the errors: the name of the model.
    :param wait_s: seconds.
    """

    def __init__(self, subject: str, wait_s: float) -> None:
        self._subject = subject
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._running: dict[int, float] = {}  # number of a call → its start, in their order
        self._numbers = itertools.count()

    def call(self, attempt: Callable[[], _T]) -> _T:
        """Return the result of ``attempt``.

        :raises ModelError: when it does not come in time, or when an earlier call is late already.
        """
        result: Future[_T] = Future()
        number = self._begin()
        arguments = (attempt, result, number)
        threading.Thread(target=self._run, args=arguments, name="egotools-model", daemon=True).start()
        wait((result,), self._wait_s)
        if not result.done():
            raise ModelError(
                f"the model did not answer within {self._wait_s:g} s", subject=self._subject, remedy=_REMEDY
            )
        return result.result()

    def _begin(self) -> int:
        now = time.monotonic()
        with self._lock:
            oldest = next(iter(self._running.values()), now)
            if now - oldest > self._wait_s or len(self._running) >= _MOST_CALLS:
                raise ModelError(
                    f"the model has not answered an earlier request for {now - oldest:.0f} s",
                    subject=self._subject,
                    remedy=_REMEDY,
                )
            number = next(self._numbers)
            self._running[number] = now
            return number

    def _run(self, attempt: Callable[[], _T], result: Future[_T], number: int) -> None:
        try:
            result.set_result(attempt())
        except BaseException as error:
            result.set_exception(error)
        finally:
            with self._lock:
                del self._running[number]


class PunctualEncoder(WrappedEncoder):
    """An encoder that is waited for only so long."""

    def __init__(self, encoder: Encoder, wait_s: float) -> None:
        super().__init__(encoder)
        self._wait = BoundedWait(encoder.name, wait_s)

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`.

        :raises ModelError: also when the answer is late.
        """
        return self._wait.call(lambda: self._encoder.encode(texts))


class PunctualReranker:
    """A reranker that is waited for only so long."""

    def __init__(self, reranker: Reranker, wait_s: float) -> None:
        self._reranker = reranker
        self._wait = BoundedWait(reranker.name, wait_s)

    @property
    def name(self) -> str:
        """The name of the reranker."""
        return self._reranker.name

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.reranker.Reranker`.

        :raises ModelError: also when the answer is late.
        """
        return self._wait.call(lambda: self._reranker.score(query, documents))
