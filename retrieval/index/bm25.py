"""BM25 over postings: one index for each field, scores for all tools in one pass. A snapshot's postings are memory-mapped.

Okapi BM25 with ``k1 = 1.5``, ``b = 0.75`` and the non-negative inverse document frequency
``ln(1 + (N - df + 0.5) / (df + 0.5))``. The weight of a term in a document does not depend on the request, so it is
computed once and stored. A score is then a sum of stored weights.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.index.mapped_array import load_mapped

__all__ = ["Bm25Index", "Postings", "hash_text", "make_postings", "pack_postings", "read_bm25", "write_postings"]

_K1 = 1.5
_B = 0.75


def hash_text(text: str) -> int:
    """Return a stable 64-bit hash of a text (BLAKE2b): the key of every lookup table in a snapshot."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """The inverted index of one field of all tools.

    :param terms: hashes of the terms, ascending, uint64 [terms].
    :param pointers: start and end of the postings of each term, int64 [terms + 1].
    :param docs: tool numbers, ascending for each term, int32 [postings].
    :param weights: score that the term adds to the tool, > 0, float32 [postings].
    """

    terms: NDArray[np.uint64]
    pointers: NDArray[np.int64]
    docs: NDArray[np.int32]
    weights: NDArray[np.float32]


def make_postings(documents: Iterable[Sequence[str]]) -> Postings:
    """Return the BM25 postings of one field; ``documents`` are the index terms of each tool, in tool order."""
    postings: dict[str, list[tuple[int, int]]] = {}
    lengths: list[int] = []
    for number, document in enumerate(documents):
        lengths.append(len(document))
        for term, count in Counter(document).items():
            postings.setdefault(term, []).append((number, count))
    total = len(lengths)
    mean = sum(lengths) / total if total and sum(lengths) else 1.0
    weighted: dict[str, list[tuple[int, float]]] = {}
    for term, entries in postings.items():
        idf = math.log(1.0 + (total - len(entries) + 0.5) / (len(entries) + 0.5))
        weighted[term] = [
            (number, idf * count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * lengths[number] / mean)))
            for number, count in entries
        ]
    return pack_postings(weighted)


def pack_postings(entries: Mapping[str, Sequence[tuple[int, float]]]) -> Postings:
    """Return the postings for given weights.

    :param entries: map from a term to its (tool number, weight > 0) pairs, ascending by number.
    """
    keyed = sorted((hash_text(term), rows) for term, rows in entries.items())
    pointers = np.zeros(len(keyed) + 1, dtype=np.int64)
    np.cumsum([len(rows) for _, rows in keyed], out=pointers[1:])
    flat = [row for _, rows in keyed for row in rows]
    return Postings(
        terms=np.asarray([key for key, _ in keyed], dtype=np.uint64),
        pointers=pointers,
        docs=np.asarray([number for number, _ in flat], dtype=np.int32),
        weights=np.asarray([weight for _, weight in flat], dtype=np.float32),
    )


def write_postings(folder: Path, field: str, postings: Postings) -> None:
    """Write the postings of one field."""
    for part in fields(Postings):
        np.save(folder / f"bm25.{field}.{part.name}.npy", getattr(postings, part.name))


def read_bm25(folder: Path, field: str, size: int) -> Bm25Index:
    """Open the memory-mapped index of one field of ``size`` tools."""
    parts = {part.name: load_mapped(folder / f"bm25.{field}.{part.name}.npy") for part in fields(Postings)}
    return Bm25Index(Postings(**parts), size)


class Bm25Index:
    """Scores all ``size`` tools by the postings of one field."""

    def __init__(self, postings: Postings, size: int) -> None:
        self.size = size
        self._postings = postings

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, > 0."""
        terms, key = self._postings.terms, hash_text(term)
        at = int(np.searchsorted(terms, np.uint64(key)))
        known = at < len(terms) and int(terms[at]) == key
        count = int(self._postings.pointers[at + 1] - self._postings.pointers[at]) if known else 0
        return math.log(1.0 + (self.size - count + 0.5) / (count + 0.5))

    def scores(self, query_terms: Sequence[str] | Mapping[str, float]) -> Floats1d:
        """Return the BM25 score of every tool, float32 [size], >= 0.

        :param query_terms: terms, of which a repeated one counts each time; or term → how much it counts, > 0.
        """
        scores = np.zeros(self.size, dtype=np.float32)
        postings = self._postings
        counts: Mapping[str, float] = query_terms if isinstance(query_terms, Mapping) else Counter(query_terms)
        keys = np.asarray([hash_text(term) for term in counts], dtype=np.uint64)
        if not len(keys) or not len(postings.terms):
            return scores
        positions = np.searchsorted(postings.terms, keys)
        for key, position, count in zip(keys, positions, counts.values(), strict=True):
            if position < len(postings.terms) and postings.terms[position] == key:
                start, stop = int(postings.pointers[position]), int(postings.pointers[position + 1])
                scores[postings.docs[start:stop]] += count * postings.weights[start:stop]
        return scores
