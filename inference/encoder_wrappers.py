"""Encoders around an encoder, in a server: with recent vectors, with joined calls, with bounded waits; shared by all catalogues."""

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

__all__ = [
    "MAX_ROWS",
    "BoundedWait",
    "JoinedCalls",
    "PunctualEncoder",
    "PunctualReranker",
    "RecentVectors",
    "SharedModels",
    "load_joined_encoder",
    "load_punctual_encoder",
    "load_punctual_reranker",
    "with_recent_vectors",
]

MAX_ROWS = 8_192
"""12.6 MB of 384 dimensions. Chosen, not tuned."""


def with_recent_vectors(encoder: Encoder, *, max_rows: int = MAX_ROWS) -> Encoder:
    """The encoder with a memory of its own; the encoder itself where ``max_rows`` is 0.

    Make one for each tenant: who shares a memory can tell from the time of an answer whether a text was asked before.
    """
    if max_rows < 1:
        return encoder
    if isinstance(encoder, SpanEncoder):
        return RecentSpanVectors(encoder, max_rows=max_rows)
    return RecentVectors(encoder, max_rows=max_rows)


class RecentVectors(WrappedEncoder):
    """An encoder that keeps the vectors of the last calls. Thread-safe. Equal calls give equal bits.

    The keys are hashes under a secret of this object, so that no text stays in memory.

    :param max_rows: vectors that are kept; the least recently used ones are dropped first.
    """

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
        key = self._key(texts)
        known = self._find(key)
        return known if known is not None else self._keep(key, self._encoder.encode(texts))

    def _key(self, texts: Sequence[str], spans: Sequence[Span] = ()) -> bytes:
        found = hashlib.blake2b(key=self._secret, digest_size=16)
        for text in texts:
            raw = text.encode("utf-8", "surrogatepass")
            found.update(len(raw).to_bytes(8, "little") + raw)
        found.update(np.asarray(spans, dtype=np.int64).tobytes())
        return found.digest()

    def _find(self, key: bytes) -> Floats2d | None:
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
            return known

    def _keep(self, key: bytes, vectors: Floats2d) -> Floats2d:
        vectors.flags.writeable = False  # callers share it
        with self._lock:
            if key not in self._kept and len(vectors) <= self._max_rows:
                self._kept[key] = vectors
                self._rows += len(vectors)
            while self._rows > self._max_rows:
                self._rows -= len(self._kept.popitem(last=False)[1])
        return vectors


class RecentSpanVectors(RecentVectors):
    """The same for an encoder that also gives the vectors of parts of a text."""

    def __init__(self, encoder: SpanEncoder, *, max_rows: int = MAX_ROWS) -> None:
        super().__init__(encoder, max_rows=max_rows)
        self._span_encoder = encoder

    def encode_spans(self, text: str, spans: Sequence[Span]) -> Floats2d:
        """Encode a text and parts of it; see :class:`inference.minilm.SpanEncoder`."""
        key = self._key([text], [(-1, -1), *spans])  # never the key of ``encode([text])``
        known = self._find(key)
        return known if known is not None else self._keep(key, self._span_encoder.encode_spans(text, spans))


MAX_TEXTS = 64
"""Texts in one joined call."""


class JoinedCalls(WrappedEncoder):
    """An encoder that joins the calls that wait. Thread-safe.

    A call that finds the encoder idle runs at once. Those that arrive meanwhile wait for at most the call that runs, and
    are then encoded together, by the thread of the first of them. An error of a joined call is raised in each of its callers.

    :param max_texts: texts in one joined call; one call with more of them runs by itself.
    """

    def __init__(self, encoder: Encoder, *, max_texts: int = MAX_TEXTS) -> None:
        super().__init__(encoder)
        self._max_texts = max_texts
        self._lock = Lock()
        self._running = False
        self.waiting: list[tuple[list[str], Future[Floats2d | None]]] = []

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`."""
        own: Future[Floats2d | None] = Future()
        with self._lock:
            leads = not self._running
            self._running = True
            if not leads:
                self.waiting.append((list(texts), own))
        if not leads:
            vectors = own.result()
            if vectors is not None:
                return vectors  # another thread encoded them; None: this thread leads the next call
            return self._lead(list(texts), own)
        return self._lead(list(texts), own)

    def _lead(self, texts: list[str], own: Future[Floats2d | None]) -> Floats2d:
        joined = self._join(texts, own)
        try:
            vectors = self._encoder.encode([text for each, _ in joined for text in each])
        except BaseException as error:
            for _, future in joined[1:]:
                future.set_exception(error)
            raise
        finally:
            self._hand_on()
        rows: list[Floats2d] = []
        start = 0
        for each, _ in joined:
            rows.append(vectors[start : start + len(each)])
            start += len(each)
        for (_, future), part in zip(joined[1:], rows[1:], strict=True):
            future.set_result(part)
        return rows[0]

    def _join(self, texts: list[str], own: Future[Floats2d | None]) -> list[tuple[list[str], Future[Floats2d | None]]]:
        """This call with those that wait, as many as fit."""
        joined, count = [(texts, own)], len(texts)
        with self._lock:
            while self.waiting and count + len(self.waiting[0][0]) <= self._max_texts:
                joined.append(self.waiting.pop(0))
                count += len(joined[-1][0])
        return joined

    def _hand_on(self) -> None:
        """Let the first of those that wait lead the next call."""
        with self._lock:
            if not self.waiting:
                self._running = False
                return
            _, future = self.waiting.pop(0)
        future.set_result(None)


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


_Model = TypeVar("_Model")
_JOINED = ("openai:", "sentence-transformers:")  # a call costs more than its texts


def load_joined_encoder(name: str) -> Encoder:
    """Load an encoder by name; calls of one behind an address, or on a GPU, are joined where they wait.

    :raises EgotoolsError: as :func:`inference.registry.load_encoder`.
    """
    encoder = load_encoder(name)
    return JoinedCalls(encoder) if name.startswith(_JOINED) else encoder


class SharedModels:
    """Loads each encoder and reranker once, and keeps it only as long as something uses it. Thread-safe.

    :param encoders: how an encoder is loaded by its name.
    :param rerankers: likewise.
    """

    def __init__(
        self,
        encoders: Callable[[str], Encoder] = load_joined_encoder,
        rerankers: Callable[[str], Reranker] = load_reranker,
    ) -> None:
        self._load_encoder, self._load_reranker = encoders, rerankers
        self._encoders: WeakValueDictionary[str, Encoder] = WeakValueDictionary()
        self._rerankers: WeakValueDictionary[str, Reranker] = WeakValueDictionary()
        self._lock = threading.Lock()

    def encoder(self, name: str) -> Encoder:
        """Return the encoder with this name.

        :raises EgotoolsError: as :func:`inference.registry.load_encoder`.
        """
        return self._shared(self._encoders, name, self._load_encoder)

    def reranker(self, name: str) -> Reranker:
        """Return the reranker with this name.

        :raises EgotoolsError: as :func:`inference.registry.load_reranker`.
        """
        return self._shared(self._rerankers, name, self._load_reranker)

    def _shared(self, kept: WeakValueDictionary[str, _Model], name: str, load: Callable[[str], _Model]) -> _Model:
        with self._lock:  # held while it loads: two catalogues that start together load it once
            model = kept.get(name)
            if model is None:
                model = kept[name] = load(name)
            return model
