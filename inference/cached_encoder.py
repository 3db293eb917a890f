"""The embedding cache: texts that were encoded before are not encoded again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from inference.wrapped_encoder import WrappedEncoder
from ontology.progress import now

__all__ = ["CachedEncoder"]

_CACHE_KIND = "vector"
_CHUNK = 1_024


class CachedEncoder(WrappedEncoder):
    """An encoder behind a cache of vectors.

    Attributes: ``reused`` and ``encoded`` count texts, ``seconds`` is the time spent encoding.

    :param progress: called with the numbers of texts encoded and to be encoded.
    """

    def __init__(
        self,
        encoder: Encoder,
        cache: ResultCache | None,
        *,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        super().__init__(encoder)
        self._cache = cache
        self._progress = progress
        self.reused = 0
        self.encoded = 0
        self.seconds = 0.0

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Vectors of the texts, equal to those of the encoder, float32 [texts, dimensions]."""
        model = f"{self.name} {self.digest}"
        keys = [hashlib.sha256(f"{model}\n{text}".encode()).hexdigest() for text in texts]
        known = self._cache.get_many(_CACHE_KIND, keys) if self._cache else {}
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        missing: dict[str, str] = {}
        for row, key in enumerate(keys):
            if key in known:
                vectors[row] = np.frombuffer(known[key], dtype=np.float32)
            else:
                missing[key] = texts[row]
        fresh = self._encode_missing(missing)
        for row, key in enumerate(keys):
            if key in fresh:
                vectors[row] = fresh[key]
        self.reused += len(texts) - sum(key in fresh for key in keys)
        self.encoded += len(missing)
        return vectors

    def _encode_missing(self, missing: dict[str, str]) -> dict[str, Floats1d]:
        fresh: dict[str, Floats1d] = {}
        started = now()
        keys = list(missing)
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            vectors = self._encoder.encode([missing[key] for key in chunk])
            fresh.update(zip(chunk, vectors, strict=True))
            if self._cache:
                self._cache.put_many(_CACHE_KIND, {key: fresh[key].tobytes() for key in chunk})
            self._progress(len(fresh), len(keys))
        self.seconds += now() - started
        return fresh
