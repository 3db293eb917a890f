"""Diversity: how many different n-grams a set of texts has, and how close its closest texts are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from datagen.measures.histogram import Histogram, histogram_of
from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.names import words

__all__ = ["Diversity", "distinct_n", "measure_diversity", "nearest_cosines"]

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_BINS = 20
_BLOCK = 1_024  # rows compared at once


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """How varied a set of texts is; shares and cosines to four digits.

    :param words_a_text: on average.
    :param distinct_1: different words over all words, in [0, 1]; ``distinct_2`` and ``distinct_3`` likewise of n-grams.
    :param distinct_openings: different first two words over texts, in [0, 1].
    :param nearest_cosine: quantiles (``p50``) of the cosine of each text to its closest one; none for fewer than two.
    :param max_cosine: the highest cosine of two texts; 0 for fewer than two.
    :param encoder: name of the one that made the vectors.
    :param histogram: of the cosines to the closest text.
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


def measure_diversity(texts: Sequence[str], encoder: Encoder) -> Diversity:
    """The diversity of these texts.

    :raises ModelError: when the encoder's model is unavailable.
    """
    tokens = [words(text) for text in texts]
    count = max(len(texts), 1)
    nearest = nearest_cosines(texts, encoder)
    quantiles = np.quantile(nearest, _QUANTILES) if len(nearest) else ()
    return Diversity(
        texts=len(texts),
        words_a_text=round(sum(map(len, tokens)) / count, 2),
        distinct_1=round(distinct_n(texts, 1), 4),
        distinct_2=round(distinct_n(texts, 2), 4),
        distinct_3=round(distinct_n(texts, 3), 4),
        distinct_openings=round(len({tuple(each[:2]) for each in tokens}) / count, 4),
        nearest_cosine={
            f"p{share * 100:g}": round(float(cosine), 4) for share, cosine in zip(_QUANTILES, quantiles, strict=False)
        },
        max_cosine=round(float(nearest.max()), 4) if len(nearest) else 0.0,
        encoder=encoder.name,
        histogram=histogram_of(nearest, _BINS),
    )


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Different word n-grams over all word n-grams of the texts, in [0, 1]; 0 where there are none.

    It falls as a set grows, so that only sets of one size compare.

    >>> distinct_n(["pay the bill", "pay the rent"], 2)
    0.75
    """
    grams = list(chain.from_iterable(_ngrams(words(text), n) for text in texts))
    return len(set(grams)) / len(grams) if grams else 0.0


def nearest_cosines(texts: Sequence[str], encoder: Encoder) -> Floats1d:
    """The cosine of each text to the one closest to it, float32 [texts]; empty for fewer than two texts."""
    if len(texts) < 2:
        return np.zeros(0, dtype=np.float32)
    vectors = encoder.encode(texts)
    nearest = np.empty(len(texts), dtype=np.float32)
    for start in range(0, len(texts), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -1.0  # each is closest to itself
        nearest[start : start + _BLOCK] = cosines.max(axis=1)
    return np.clip(nearest, -1.0, 1.0)


def _ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
