"""Encoders around an encoder, in a build: cached by content, or in several processes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from inference.encoder import Encoder, Floats2d, WrappedEncoder
from inference.registry import load_encoder
from inference.result_cache import ResultCache
from ontology.errors import ModelError
from ontology.reporting import now

_CACHE_KIND = "vector"
_CHUNK = 1_024


class CachedEncoder(WrappedEncoder):
    """An encoder behind a cache of vectors. ``reused`` and ``encoded`` count texts, ``seconds`` is the time spent
    encoding. ``progress`` is called with the numbers of texts encoded and to be encoded."""

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
        vectors_ND = np.empty((len(texts), self.dimensions), dtype=np.float32)
        missing: defaultdict[str, list[int]] = defaultdict(list)  # rows by key
        order = sorted(range(len(keys)), key=keys.__getitem__)  # as the cache has them: each of its pages is read once
        for start in range(0, len(order), _CHUNK):
            rows = order[start : start + _CHUNK]
            known = self._cache.get_many(_CACHE_KIND, [keys[row] for row in rows]) if self._cache else {}
            for row in rows:
                if keys[row] in known:
                    vectors_ND[row] = np.frombuffer(known[keys[row]], dtype=np.float32)
                else:
                    missing[keys[row]].append(row)
        self.reused += len(texts) - sum(map(len, missing.values()))
        self.encoded += len(missing)
        started, fresh = now(), list(missing)
        for start in range(0, len(fresh), _CHUNK):
            chunk = fresh[start : start + _CHUNK]
            made = dict(zip(chunk, self._encoder.encode([texts[missing[key][0]] for key in chunk]), strict=True))
            for key, vector in made.items():
                vectors_ND[missing[key]] = vector
            if self._cache:
                self._cache.put_many(_CACHE_KIND, {key: vector.tobytes() for key, vector in made.items()})
            self._progress(start + len(chunk), len(fresh))
        self.seconds += now() - started
        return vectors_ND


_TEXTS = 64  # of one piece of work, about a second of an embedded model


class PooledEncoder(WrappedEncoder):
    """Encodes in the workers of a pool. The row of a text depends on that text alone, so each row is that of the
    encoder itself. ``pool`` makes the pool, from ``initializer`` and ``initargs``."""

    def __init__(self, name: str, pool: Callable[..., Executor]) -> None:
        super().__init__(load_encoder(name))
        self._pool = pool(initializer=_load, initargs=(name, self._encoder.digest))

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`. A ModelError when a worker has other weights."""
        parts = [texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS)]
        futures = [self._pool.submit(_encode, part) for part in parts]
        return np.concatenate([self._encoder.encode(()), *(future.result() for future in futures)])


_encoder: list[Encoder] = []  # of the worker


def _load(name: str, digest: str) -> None:
    encoder = load_encoder(name)
    if encoder.digest != digest:
        raise ModelError("a worker has other weights", subject=name, remedy="Install the same version on every node")
    _encoder[:] = [encoder]


def _encode(texts: Sequence[str]) -> Floats2d:
    return _encoder[0].encode(texts)
