"""BM25 over postings: one index for each field, scores for all tools in one pass. A snapshot's postings are memory-mapped.

Okapi BM25 with ``k1 = 1.5``, ``b = 0.75`` and the non-negative inverse document frequency
``ln(1 + (N - df + 0.5) / (df + 0.5))``. The weight of a term in a document does not depend on the request, so it is
computed once and stored. A score is then a sum of stored weights.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.index.mapped_array import load_mapped

__all__ = [
    "Bm25Index",
    "Postings",
    "hash_text",
    "hash_texts",
    "make_postings",
    "pack_postings",
    "read_bm25",
    "read_postings",
    "write_postings",
]

_K1 = 1.5
_B = 0.75
_SPARSE_FROM = 64  # tools of the index for each tool that is asked for


def hash_text(text: str) -> int:
    """Return a stable 64-bit hash of a text (BLAKE2b): the key of every lookup table in a snapshot."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def hash_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """The hashes of several texts, as :func:`hash_text` gives them, uint64 [texts]."""
    digests = b"".join([hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, dtype="<u8")


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
        weighted[term] = [(number, term_weight(idf, count, lengths[number], mean)) for number, count in entries]
    return pack_postings(weighted)


def term_weight(idf: float, count: int, length: int, mean: float) -> float:
    """Return what a term adds to the score of a tool.

    :param count: how often the tool's field has the term; ``length``: how many terms it has; ``mean``: how many on average.
    """
    return idf * count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * length / mean))


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
    return Bm25Index(read_postings(folder, field), size)


def read_postings(folder: Path, field: str) -> Postings:
    """Open the memory-mapped postings of one field."""
    return Postings(**{part.name: load_mapped(folder / f"bm25.{field}.{part.name}.npy") for part in fields(Postings)})


class Bm25Index:
    """Scores all ``size`` tools by the postings of one field."""

    def __init__(self, postings: Postings, size: int) -> None:
        self.size = size
        self._postings = postings
        self._visible: NDArray[np.bool_] | None = None
        self._counted = size
        self._rescaled = False

    def restricted(self, visible: NDArray[np.bool_], *, rescaled: bool = True) -> Bm25Index:
        """Return the index of some of the tools alone, under the same numbers: the others have no terms.

        Frequencies are those among these tools; the mean length of the field stays that of all.

        :param visible: these tools, bool [size].
        :param rescaled: whether the weights follow the frequencies; False for weights that are not made of them.
        """
        index = copy.copy(self)
        index._visible, index._counted, index._rescaled = visible, int(np.count_nonzero(visible)), rescaled
        return index

    @property
    def mean_terms(self) -> float:
        """Mean number of distinct terms in the field of a tool, of all tools, >= 0."""
        return len(self._postings.docs) / max(1, self.size)

    def frequency(self, term: str) -> int:
        """Return the number of tools that have a term."""
        postings, key = self._postings, np.uint64(hash_text(term))
        at = int(np.searchsorted(postings.terms, key))
        if at >= len(postings.terms) or postings.terms[at] != key:
            return 0
        docs = postings.docs[int(postings.pointers[at]) : int(postings.pointers[at + 1])]
        return len(docs) if self._visible is None else int(np.count_nonzero(self._visible[docs]))

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, > 0."""
        return _idf(self._counted, self.frequency(term))

    def scores(self, query_terms: Sequence[str] | Mapping[str, float]) -> Floats1d:
        """Return the BM25 score of every tool, float32 [size], >= 0.

        :param query_terms: terms, of which a repeated one counts each time; or term → how much it counts, > 0.
        """
        return self._added_up(self._found(query_terms))

    def scores_of(self, tools: NDArray[np.int64], query_terms: Sequence[str] | Mapping[str, float]) -> Floats1d:
        """Return the BM25 scores of these tools, float32 [tools]; the same bits as :meth:`scores` gives.

        A few of many tools are looked up in the postings, which takes no time for the tools that are not asked for.
        """
        if self.size <= _SPARSE_FROM * len(tools):
            return self.scores(query_terms)[tools]
        scores = np.zeros(len(tools), dtype=np.float32)
        for docs, weights in self._found(query_terms):
            places = np.minimum(np.searchsorted(docs, tools.astype(docs.dtype)), len(docs) - 1)
            having = np.flatnonzero(docs[places] == tools)
            scores[having] += weights[places[having]]
        return scores

    def best(
        self, query_terms: Sequence[str] | Mapping[str, float], count: int, *, allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Return the ``count`` tools with the highest scores, ascending by number, int64; fewer where fewer have any term.

        Of equal scores at the end, those of the lower numbers.

        :param count: from 1.
        :param allowed: the tools that may be returned, bool, at least [size]; None allows all.
        """
        added = list(self._found(query_terms))
        scores = self._added_up(added)
        if allowed is not None:
            scores[~allowed[: self.size]] = 0.0
        having = np.flatnonzero(scores >= _bound(scores, [docs for docs, _ in added], count))
        if len(having) <= count:
            return having
        found = scores[having]
        last = np.partition(found, -count)[-count]
        above, equal = having[found > last], having[found == last]
        return np.sort(np.concatenate((above, equal[: count - len(above)])))

    def _added_up(self, found: Iterable[tuple[NDArray[np.int32], Floats1d]]) -> Floats1d:
        scores = np.zeros(self.size, dtype=np.float32)
        for docs, weights in found:
            scores[docs] += weights
        return scores

    def _found(self, query_terms: Sequence[str] | Mapping[str, float]) -> Iterator[tuple[NDArray[np.int32], Floats1d]]:
        """Yield for each known term of a request, in its order, the tools that have it and what it adds to their scores."""
        postings = self._postings
        counts: Mapping[str, float] = query_terms if isinstance(query_terms, Mapping) else Counter(query_terms)
        keys = hash_texts(counts)
        if not len(keys) or not len(postings.terms):
            return
        positions = np.minimum(np.searchsorted(postings.terms, keys), len(postings.terms) - 1)
        known = postings.terms[positions] == keys
        starts, stops = postings.pointers[positions[known]], postings.pointers[positions[known] + 1]
        for start, stop, count in zip(
            starts.tolist(), stops.tolist(), compress(counts.values(), known.tolist()), strict=True
        ):
            docs, weights = postings.docs[start:stop], count * postings.weights[start:stop]
            if self._visible is not None:
                docs, weights = self._only_visible(docs, weights, self._visible)
            if len(docs):
                yield docs, weights

    def _only_visible(
        self, docs: NDArray[np.int32], weights: Floats1d, visible: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], Floats1d]:
        having = np.flatnonzero(visible[docs])
        factor = _idf(self._counted, len(having)) / _idf(self.size, len(docs)) if self._rescaled else 1.0
        return docs[having], weights[having] * np.float32(factor)


def _idf(tools: int, having: int) -> float:
    return math.log(1.0 + (tools - having + 0.5) / (having + 0.5))


def _bound(scores: Floats1d, terms: Iterable[NDArray[np.int32]], count: int) -> np.float32:
    """A score above 0 that the ``count`` best tools reach, so that few of the others need be sorted.

    It is the ``count``-th score among the tools of the rarest term that enough tools have.

    :param terms: the tools of each term.
    """
    for docs in sorted((docs for docs in terms if len(docs) >= count), key=len):
        reached = np.partition(scores[docs], -count)[-count]
        if reached > 0:
            return np.float32(reached)
    return np.finfo(np.float32).tiny
