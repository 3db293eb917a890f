"""Diversity: the share of distinct n-grams in a set of texts, and the similarity of its most similar texts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from datagen.measures.histogram import Histogram, histogram_of
from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from ontology.names import words

__all__ = ["Diversity", "distinct_n", "measure_diversity", "nearest_cosines"]

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_BINS = 20
_BLOCK = 1_024  # rows compared in one matrix product


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """The diversity of a set of texts; shares and cosines are rounded to four digits.

    :param words_a_text: mean number of words in a text.
    :param distinct_1: distinct words divided by all words, in [0, 1]; ``distinct_2`` and ``distinct_3``: of n-grams.
    :param distinct_openings: distinct pairs of first two words divided by the number of texts, in [0, 1].
    :param nearest_cosine: quantiles (``p50``) of the cosine of each text to its nearest text; empty for fewer than two.
    :param max_cosine: the highest cosine of two texts; 0 for fewer than two texts.
    :param encoder: name of the encoder of the vectors.
    :param histogram: histogram of the cosines to the nearest text.
    """

    texts: int
    words_a_text: float
    distinct_1: float
    distinct_2: float
    distinct_3: float
    distinct_openings: float
    nearest_cosine: Mapping[str, float]
    max_cosine: float
    encoder: str
    histogram: Histogram


def measure_diversity(
    texts: Iterable[str], encoder: Encoder, *, vectors: Callable[[], Iterable[Floats2d]] | None = None
) -> Diversity:
    """Measure the diversity of these texts.

    :param vectors: returns the vectors of the texts in any order, in blocks; without it the texts are encoded.
    :raises ModelError: when the encoder's model is unavailable.
    """
    if vectors is None:
        texts = list(texts)
        encoded = encoder.encode(texts) if texts else np.zeros((0, encoder.dimensions), dtype=np.float32)
        vectors = partial(_blocks, encoded)
    grams = {n: _Grams(n) for n in (1, 2, 3)}
    openings: set[int] = set()  # hashes
    made = 0
    for text in texts:
        tokens = words(text)
        made += 1
        openings.add(hash(tuple(tokens[:2])))
        for each in grams.values():
            each.add(tokens)
    count = max(made, 1)
    nearest = _nearest(vectors)
    quantiles = np.quantile(nearest, _QUANTILES) if len(nearest) else ()
    return Diversity(
        texts=made,
        words_a_text=round(len(grams[1].hashes) / count, 2),
        distinct_1=round(grams[1].distinct, 4),
        distinct_2=round(grams[2].distinct, 4),
        distinct_3=round(grams[3].distinct, 4),
        distinct_openings=round(len(openings) / count, 4),
        nearest_cosine={
            f"p{share * 100:g}": round(float(cosine), 4) for share, cosine in zip(_QUANTILES, quantiles, strict=False)
        },
        max_cosine=round(float(nearest.max()), 4) if len(nearest) else 0.0,
        encoder=encoder.name,
        histogram=histogram_of(nearest, _BINS),
    )


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Return distinct word n-grams divided by all word n-grams of the texts, in [0, 1]; 0 without n-grams.

    It decreases with the size of the set, so compare only sets of the same size.

    >>> distinct_n(["pay the bill", "pay the rent"], 2)
    0.75
    """
    grams = _Grams(n)
    for text in texts:
        grams.add(words(text))
    return grams.distinct


def nearest_cosines(texts: Sequence[str], encoder: Encoder) -> Floats1d:
    """Return the cosine of each text to its nearest other text, float32 [texts]; empty for fewer than two texts."""
    if len(texts) < 2:
        return np.zeros(0, dtype=np.float32)
    return _nearest(partial(_blocks, encoder.encode(texts)))


def _nearest(vectors: Callable[[], Iterable[Floats2d]]) -> Floats1d:
    """Return the cosine of each vector to its nearest other one; memory holds two blocks of vectors and their cosines."""
    nearest: list[Floats1d] = []
    for row, block in enumerate(vectors()):
        best = np.full(len(block), -1.0, dtype=np.float32)
        for column, other in enumerate(vectors()):
            cosines = block @ other.T
            if row == column:
                np.fill_diagonal(cosines, -1.0)  # without the text itself
            np.maximum(best, cosines.max(axis=1), out=best)
        nearest.append(best)
    found = np.concatenate(nearest) if nearest else np.zeros(0, dtype=np.float32)
    return np.clip(found, -1.0, 1.0) if len(found) > 1 else found[:0]


def _blocks(vectors: Floats2d) -> Iterator[Floats2d]:
    return (vectors[start : start + _BLOCK] for start in range(0, len(vectors), _BLOCK))


class _Grams:
    """The n-grams of texts, of each its hash: 8 bytes."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.hashes = array("q")

    def add(self, tokens: Sequence[str]) -> None:
        """Add those of a text."""
        self.hashes.extend(hash(tuple(tokens[at : at + self._n])) for at in range(len(tokens) - self._n + 1))

    @property
    def distinct(self) -> float:
        """Distinct n-grams divided by all, in [0, 1]; 0 without n-grams."""
        return len(np.unique(np.asarray(self.hashes))) / len(self.hashes) if self.hashes else 0.0
