"""Models of a server: shared by all catalogues, waited for only so long; and encoders that remember recent vectors."""

from __future__ import annotations

import hashlib
import itertools
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

import numpy as np

from inference.encoder import Encoder, Floats1d, Floats2d, Reranker, WrappedEncoder
from inference.minilm import Span, SpanEncoder
from inference.registry import load_encoder, load_reranker
from ontology.errors import ModelError

MAX_ROWS = 8_192  # 12.6 MB of 384 dimensions. Chosen, not tuned
_MOST_CALLS = 64
_REMEDY = "Look at the model's server, or raise model_wait_s"
_T = TypeVar("_T")


def with_recent_vectors(encoder: Encoder, *, max_rows: int = MAX_ROWS) -> Encoder:
    """The encoder with a memory of its own; the encoder itself where ``max_rows`` is 0. Make one for each tenant: who
    shares a memory can tell from the time of an answer whether a text was asked before."""
    if max_rows < 1:
        return encoder
    if isinstance(encoder, SpanEncoder):
        return _RecentSpanVectors(encoder, max_rows=max_rows)
    return RecentVectors(encoder, max_rows=max_rows)


class RecentVectors(WrappedEncoder):
    """An encoder that keeps the vectors of the last calls. Thread-safe. Equal calls give equal bits. The keys are
    hashes under a secret of this object, so that no text stays in memory."""

    def __init__(self, encoder: Encoder, *, max_rows: int = MAX_ROWS) -> None:
        super().__init__(encoder)
        self._max_rows = max_rows
        self._secret = secrets.token_bytes(32)
        self._kept: OrderedDict[bytes, Floats2d] = OrderedDict()
        self._rows = 0
        self._lock = Lock()

    @property
    def rows(self) -> int:
        """Number of vectors that are kept now."""
        return self._rows

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`."""
        return self._remembered(texts, (), lambda: self._encoder.encode(texts))

    def _remembered(self, texts: Sequence[str], spans: Sequence[Span], encode: Callable[[], Floats2d]) -> Floats2d:
        found = hashlib.blake2b(key=self._secret, digest_size=16)
        for text in texts:
            raw = text.encode("utf-8", "surrogatepass")
            found.update(len(raw).to_bytes(8, "little") + raw)
        found.update(np.asarray(spans, dtype=np.int64).tobytes())
        key = found.digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        vectors = encode()
        vectors.flags.writeable = False  # callers share it
        with self._lock:
            if key not in self._kept and len(vectors) <= self._max_rows:
                self._kept[key] = vectors
                self._rows += len(vectors)
            while self._rows > self._max_rows:
                self._rows -= len(self._kept.popitem(last=False)[1])
        return vectors


class _RecentSpanVectors(RecentVectors):
    """The same for an encoder that also gives the vectors of parts of a text."""

    def __init__(self, encoder: SpanEncoder, *, max_rows: int) -> None:
        super().__init__(encoder, max_rows=max_rows)
        self._span_encoder = encoder

    def encode_spans(self, text: str, spans: Sequence[Span]) -> Floats2d:
        marked = [(-1, -1), *spans]  # never the key of ``encode([text])``
        return self._remembered([text], marked, lambda: self._span_encoder.encode_spans(text, spans))


class _Timeout:
    """Runs calls on threads of their own, and waits for each only so long; while one is late, the others fail at once.
    Thread-safe. A thread that waits for a server cannot be stopped: it ends with the timeouts of its call. There are at
    most 64. ``subject``: of the errors: the name of the model."""

    def __init__(self, subject: str, wait_s: float) -> None:
        self._subject = subject
        self._wait_s = wait_s
        self._lock = Lock()
        self._running: dict[int, float] = {}  # number of a call → its start, in their order
        self._numbers = itertools.count()

    def call(self, attempt: Callable[[], _T]) -> _T:
        result: Future[_T] = Future()
        started = time.monotonic()
        with self._lock:
            late_s = started - next(iter(self._running.values()), started)
            if late_s > self._wait_s or len(self._running) >= _MOST_CALLS:
                problem = f"the model has not answered an earlier request for {late_s:.0f} s"
                raise ModelError(problem, subject=self._subject, remedy=_REMEDY)
            number = next(self._numbers)
            self._running[number] = started
        threading.Thread(target=self._run, args=(attempt, result, number), name="egotools-model", daemon=True).start()
        wait((result,), self._wait_s)
        if not result.done():
            problem = f"the model did not answer within {self._wait_s:g} s"
            raise ModelError(problem, subject=self._subject, remedy=_REMEDY)
        return result.result()

    def _run(self, attempt: Callable[[], _T], result: Future[_T], number: int) -> None:
        try:
            result.set_result(attempt())
        except BaseException as error:
            result.set_exception(error)
        finally:
            with self._lock:
                del self._running[number]


class TimeoutEncoder(WrappedEncoder):
    """An encoder that is waited for at most ``wait_s`` seconds; ``encode`` raises ModelError also when the answer is late."""

    def __init__(self, encoder: Encoder, wait_s: float) -> None:
        super().__init__(encoder)
        self._timeout = _Timeout(encoder.name, wait_s)

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`."""
        return self._timeout.call(lambda: self._encoder.encode(texts))


class TimeoutReranker:
    """A reranker that is waited for at most ``wait_s`` seconds; ``score`` raises ModelError also when the answer is late."""

    def __init__(self, reranker: Reranker, wait_s: float) -> None:
        self._reranker = reranker
        self._timeout = _Timeout(reranker.name, wait_s)
        self.name = reranker.name

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.encoder.Reranker`."""
        return self._timeout.call(lambda: self._reranker.score(query, documents))


class SharedModels:
    """Loads each encoder and reranker once, and keeps it only as long as something uses it. Thread-safe. A model behind
    an address is waited for ``wait_s`` seconds; None: as long as its own timeouts."""

    def __init__(self, wait_s: float | None = None) -> None:
        self._wait_s = wait_s
        self._encoders: WeakValueDictionary[str, Encoder] = WeakValueDictionary()
        self._rerankers: WeakValueDictionary[str, Reranker] = WeakValueDictionary()
        self._lock = Lock()  # held while a model is loaded: two catalogues that start together load it once

    def encoder(self, name: str) -> Encoder:
        """Return the encoder with this name; errors as of :func:`inference.registry.load_encoder`."""
        with self._lock:
            encoder = self._encoders.get(name)
            if encoder is None:
                encoder = load_encoder(name)
                if self._wait_s is not None and name.startswith("openai:"):
                    encoder = TimeoutEncoder(encoder, self._wait_s)
                self._encoders[name] = encoder
            return encoder

    def reranker(self, name: str) -> Reranker:
        """Return the reranker with this name; errors as of :func:`inference.registry.load_reranker`."""
        with self._lock:
            reranker = self._rerankers.get(name)
            if reranker is None:
                reranker = load_reranker(name)
                if self._wait_s is not None and name.startswith("http:"):
                    reranker = TimeoutReranker(reranker, self._wait_s)
                self._rerankers[name] = reranker
            return reranker
