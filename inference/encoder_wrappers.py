"""Encoders that remember recent vectors."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from inference.encoder import Encoder, Floats2d, WrappedEncoder
from inference.minilm import Span, SpanEncoder

MAX_ROWS = 8_192  # 12.6 MB of 384 dimensions. Chosen, not tuned


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
