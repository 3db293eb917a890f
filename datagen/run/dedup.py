"""The near-duplicate filter: whether a text is nearly the same as an accepted one."""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.names import words

__all__ = ["MAX_COSINE", "NearDuplicateFilter"]

MAX_COSINE = 0.95
"""A text with a higher cosine to an accepted one is a near-duplicate."""
_ROWS = 1_024


class NearDuplicateFilter:
    """The accepted texts, by their words and by their vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._ids: list[str] = []
        self._by_words: dict[str, str] = {}
        self._vectors = np.zeros((_ROWS, encoder.dimensions), dtype=np.float32)

    def encode(self, texts: list[str]) -> list[Floats1d]:
        """Return one vector for each text.

        :raises ModelError: when the encoder's model is unavailable.
        """
        return list(self._encoder.encode(texts)) if texts else []

    def find_duplicate(self, text: str, vector: Floats1d) -> str:
        """Return why a text is a near-duplicate, one sentence without a full stop; empty when it is not."""
        same = self._by_words.get(" ".join(words(text)))
        if same is not None:
            return f"it says the same as {same}"
        if not self._ids:
            return ""
        cosines = self._vectors[: len(self._ids)] @ vector
        closest = int(cosines.argmax())
        if cosines[closest] <= MAX_COSINE:
            return ""
        return f"its cosine to {self._ids[closest]} is {cosines[closest]:.3f}, above {MAX_COSINE}"

    def add(self, text_id: str, text: str, vector: Floats1d) -> None:
        """Add an accepted text."""
        if len(self._ids) == len(self._vectors):
            self._vectors = np.vstack([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[len(self._ids)] = vector
        self._ids.append(text_id)
        self._by_words[" ".join(words(text))] = text_id
