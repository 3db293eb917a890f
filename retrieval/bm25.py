"""BM25 over memory-mapped postings: one index a field, scores for all tools in one pass.

Okapi BM25 with ``k1 = 1.5``, ``b = 0.75`` and the non-negative inverse document frequency
``ln(1 + (N - df + 0.5) / (df + 0.5))``. The weight of a term in a document does not depend on the request, so it is
computed once and stored; asking is adding up postings.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.arrays import mapped

__all__ = ["Bm25Index", "hash_text", "write_bm25"]

_K1 = 1.5
_B = 0.75


def hash_text(text: str) -> int:
    """A stable 64-bit hash of a text (BLAKE2b): the key of every lookup table in a snapshot."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def write_bm25(folder: Path, field: str, documents: Iterable[Sequence[str]]) -> None:
    """Write the postings of one field; ``documents`` are the index terms of each tool, in tool order."""
    postings: dict[str, list[tuple[int, int]]] = {}
    lengths: list[int] = []
    for number, document in enumerate(documents):
        lengths.append(len(document))
        for term, count in Counter(document).items():
            postings.setdefault(term, []).append((number, count))
    total = len(lengths)
    mean = sum(lengths) / total if total and sum(lengths) else 1.0
    keyed = sorted((hash_text(term), entries) for term, entries in postings.items())
    pointers = np.zeros(len(keyed) + 1, dtype=np.int64)
    np.cumsum([len(entries) for _, entries in keyed], out=pointers[1:])
    docs = np.empty(int(pointers[-1]), dtype=np.int32)
    weights = np.empty(int(pointers[-1]), dtype=np.float32)
    sizes = np.asarray(lengths, dtype=np.float64)
    for (_, entries), start, stop in zip(keyed, pointers[:-1], pointers[1:], strict=True):
        rows = np.asarray(entries, dtype=np.int64)
        idf = math.log(1.0 + (total - len(rows) + 0.5) / (len(rows) + 0.5))
        counts = rows[:, 1].astype(np.float64)
        norm = counts + _K1 * (1.0 - _B + _B * sizes[rows[:, 0]] / mean)
        docs[start:stop] = rows[:, 0]
        weights[start:stop] = idf * counts * (_K1 + 1.0) / norm
    np.save(folder / f"bm25.{field}.terms.npy", np.asarray([key for key, _ in keyed], dtype=np.uint64))
    np.save(folder / f"bm25.{field}.pointers.npy", pointers)
    np.save(folder / f"bm25.{field}.docs.npy", docs)
    np.save(folder / f"bm25.{field}.weights.npy", weights)


class Bm25Index:
    """The postings of one field of a snapshot."""

    def __init__(self, folder: Path, field: str, size: int) -> None:
        self.size = size
        self._terms: NDArray[np.uint64] = mapped(folder / f"bm25.{field}.terms.npy")
        self._pointers: NDArray[np.int64] = mapped(folder / f"bm25.{field}.pointers.npy")
        self._docs: NDArray[np.int32] = mapped(folder / f"bm25.{field}.docs.npy")
        self._weights: NDArray[np.float32] = mapped(folder / f"bm25.{field}.weights.npy")

    def scores(self, query_terms: Sequence[str]) -> Floats1d:
        """BM25 of every tool, float32 [size], >= 0; a term that is asked twice counts twice."""
        scores = np.zeros(self.size, dtype=np.float32)
        counts = Counter(query_terms)
        keys = np.asarray([hash_text(term) for term in counts], dtype=np.uint64)
        if not len(keys) or not len(self._terms):
            return scores
        places = np.searchsorted(self._terms, keys)
        for key, place, count in zip(keys, places, counts.values(), strict=True):
            if place < len(self._terms) and self._terms[place] == key:
                start, stop = int(self._pointers[place]), int(self._pointers[place + 1])
                scores[self._docs[start:stop]] += count * self._weights[start:stop]
        return scores
