"""BM25 over postings, memory-mapped where they are a snapshot's: one index a field, scores for all tools in one pass.

Okapi BM25 with ``k1 = 1.5``, ``b = 0.75`` and the non-negative inverse document frequency
``ln(1 + (N - df + 0.5) / (df + 0.5))``. The weight of a term in a document does not depend on the request, so it is
computed once and stored; asking is adding up postings.
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
from retrieval.index.mapped_array import mapped

__all__ = ["Bm25Index", "Postings", "gather_postings", "hash_text", "make_postings", "read_bm25", "write_postings"]

_K1 = 1.5
_B = 0.75


def hash_text(text: str) -> int:
    """A stable 64-bit hash of a text (BLAKE2b): the key of every lookup table in a snapshot."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """One field of every tool, by term.

    :param terms: hashes of the terms, ascending.
    :param pointers: where the postings of each term start and stop, [terms + 1].
    :param docs: tool numbers, ascending within a term.
    :param weights: what the term adds to each of these tools, > 0.
    """

    terms: NDArray[np.uint64]
    pointers: NDArray[np.int64]
    docs: NDArray[np.int32]
    weights: NDArray[np.float32]


def make_postings(documents: Iterable[Sequence[str]]) -> Postings:
    """The postings of one field; ``documents`` are the index terms of each tool, in tool order."""
    postings: dict[str, list[tuple[int, int]]] = {}
    lengths: list[int] = []
    for number, document in enumerate(documents):
        lengths.append(len(document))
        for term, count in Counter(document).items():
            postings.setdefault(term, []).append((number, count))
    total = len(lengths)
    mean = sum(lengths) / total if total and sum(lengths) else 1.0
    weighed: dict[str, list[tuple[int, float]]] = {}
    for term, entries in postings.items():
        idf = math.log(1.0 + (total - len(entries) + 0.5) / (len(entries) + 0.5))
        weighed[term] = [
            (number, idf * count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * lengths[number] / mean)))
            for number, count in entries
        ]
    return gather_postings(weighed)


def gather_postings(entries: Mapping[str, Sequence[tuple[int, float]]]) -> Postings:
    """Postings of weights that are known.

    :param entries: term → (tool number, weight > 0), ascending by number.
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
    """The memory-mapped index of one field of ``size`` tools."""
    parts = {part.name: mapped(folder / f"bm25.{field}.{part.name}.npy") for part in fields(Postings)}
    return Bm25Index(Postings(**parts), size)


class Bm25Index:
    """Scores every one of ``size`` tools by the postings of one field."""

    def __init__(self, postings: Postings, size: int) -> None:
        self.size = size
        self._postings = postings

    def scores(self, query_terms: Sequence[str]) -> Floats1d:
        """BM25 of every tool, float32 [size], >= 0; a term that is asked twice counts twice."""
        scores = np.zeros(self.size, dtype=np.float32)
        known = self._postings
        counts = Counter(query_terms)
        keys = np.asarray([hash_text(term) for term in counts], dtype=np.uint64)
        if not len(keys) or not len(known.terms):
            return scores
        places = np.searchsorted(known.terms, keys)
        for key, place, count in zip(keys, places, counts.values(), strict=True):
            if place < len(known.terms) and known.terms[place] == key:
                start, stop = int(known.pointers[place]), int(known.pointers[place + 1])
                scores[known.docs[start:stop]] += count * known.weights[start:stop]
        return scores
