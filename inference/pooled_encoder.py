"""An embedded encoder that runs in the workers of a pool: processes, or tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from inference.arrays import Floats2d
from inference.encoder import Encoder
from inference.registry import load_encoder
from inference.wrapped_encoder import WrappedEncoder
from ontology.errors import ModelError

__all__ = ["PooledEncoder"]

_TEXTS = 64  # of one piece of work, about a second of an embedded model


class PooledEncoder(WrappedEncoder):
    """Encodes in the workers of a pool. The row of a text depends on that text alone, so each row is that of the encoder itself.

    :param name: as for :func:`inference.load_encoder`.
    :param pool: makes the pool, from the number of workers, ``initializer`` and ``initargs``.
    """

    def __init__(self, name: str, pool: Callable[..., Executor]) -> None:
        super().__init__(load_encoder(name))
        self._pool = pool(1, initializer=_load, initargs=(name, self._encoder.digest))

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`.

        :raises ModelError: when a worker has other weights.
        """
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
