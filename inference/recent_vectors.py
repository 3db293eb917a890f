"""A bounded memory of the vectors of recent requests, for one tenant."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from inference.arrays import Floats2d
from inference.clause_vectors import Span, SpanEncoder
from inference.encoder import Encoder
from inference.wrapped_encoder import WrappedEncoder

__all__ = ["MAX_ROWS", "RecentSpanVectors", "RecentVectors", "with_recent_vectors"]

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
        """Encode a text and parts of it; see :class:`inference.clause_vectors.SpanEncoder`."""
        key = self._key([text], [(-1, -1), *spans])  # never the key of ``encode([text])``
        known = self._find(key)
        return known if known is not None else self._keep(key, self._span_encoder.encode_spans(text, spans))
