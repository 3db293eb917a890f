"""The near-duplicate filter: whether a text is nearly the same as an accepted one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from datagen.run.stored_vectors import BLOCK, StoredVectors
from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from ontology.names import words

__all__ = ["MAX_COSINE", "Candidate", "NearDuplicateFilter"]

MAX_COSINE = 0.95
"""A text with a higher cosine to an accepted one is a near-duplicate."""


@dataclass(slots=True)
class Candidate:
    """A text's vector, and the accepted text closest to it of those that it was compared with.

    :param place: number of the closest text, in the order of acceptance; -1 where it was compared with none.
    :param compared: number of blocks of accepted vectors that it was compared with.
    """

    vector: Floats1d
    cosine: float = -2.0
    place: int = -1
    compared: int = 0


class NearDuplicateFilter:
    """The accepted texts, by the hash of their words and by their vectors, which are on the disk.

    :ivar vectors: of the accepted texts, in the order of acceptance.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        self._encoder = encoder
        self._ids: list[str] = []
        self._by_words: dict[int, int] = {}
        self.vectors = StoredVectors(encoder.dimensions, folder)

    def encode(self, texts: Sequence[str]) -> list[Candidate]:
        """Return a candidate for each text, compared with the accepted ones on the disk: those are read once for all texts.

        :raises ModelError: when the encoder's model is unavailable.
        """
        return self.candidates(self._encoder.encode(texts)) if texts else []

    def candidates(self, vectors: Iterable[Floats1d]) -> list[Candidate]:
        """Return the candidates of texts with these vectors; see :meth:`encode`."""
        candidates = [Candidate(vector) for vector in vectors]
        full = len(self.vectors) // BLOCK
        for number, block in enumerate(self.vectors.blocks()):
            for candidate in candidates if number < full else ():
                _compare(candidate, block, number)
        return candidates

    def find_duplicate(self, text: str, candidate: Candidate) -> str:
        """Return why a text is a near-duplicate, one sentence without a full stop; empty when it is not."""
        same = self._by_words.get(_hash(text))
        if same is not None:
            return f"it says the same as {self._ids[same]}"
        first = candidate.compared
        for number, block in enumerate(self.vectors.blocks(first), first):
            _compare(candidate, block, number)
        if candidate.cosine <= MAX_COSINE:
            return ""
        return f"its cosine to {self._ids[candidate.place]} is {candidate.cosine:.3f}, above {MAX_COSINE}"

    def add(self, text_id: str, text: str, candidate: Candidate) -> None:
        """Add an accepted text."""
        self._by_words[_hash(text)] = len(self._ids)
        self._ids.append(text_id)
        self.vectors.add(candidate.vector)


def _compare(candidate: Candidate, block: Floats2d, number: int) -> None:
    cosines = block @ candidate.vector
    closest = int(cosines.argmax())
    if cosines[closest] > candidate.cosine:
        candidate.cosine, candidate.place = float(cosines[closest]), number * BLOCK + closest
    candidate.compared = number + (len(block) == BLOCK)  # the last block may get more rows


def _hash(text: str) -> int:
    """Return 64 bits of the hash of a text's words."""
    return int.from_bytes(
        hashlib.blake2b(" ".join(words(text)).encode("utf-8", "backslashreplace"), digest_size=8).digest(), "big"
    )
