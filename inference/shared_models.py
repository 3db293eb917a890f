"""The models of one process: engines of several catalogues, and of old and new snapshots, use each model together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from inference.encoder import Encoder
from inference.joined_calls import JoinedCalls
from inference.registry import load_encoder, load_reranker
from inference.reranker import Reranker

__all__ = ["SharedModels", "load_joined_encoder"]

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
