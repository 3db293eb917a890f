"""Diversity: the share of distinct n-grams in a set of texts, and the similarity of its most similar texts."""

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


def measure_diversity(texts: Sequence[str], encoder: Encoder) -> Diversity:
    """Measure the diversity of these texts.

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
    """Return distinct word n-grams divided by all word n-grams of the texts, in [0, 1]; 0 without n-grams.

    It decreases with the size of the set, so compare only sets of the same size.

    >>> distinct_n(["pay the bill", "pay the rent"], 2)
    0.75
    """
    grams = list(chain.from_iterable(_ngrams(words(text), n) for text in texts))
    return len(set(grams)) / len(grams) if grams else 0.0


def nearest_cosines(texts: Sequence[str], encoder: Encoder) -> Floats1d:
    """Return the cosine of each text to its nearest other text, float32 [texts]; empty for fewer than two texts."""
    if len(texts) < 2:
        return np.zeros(0, dtype=np.float32)
    vectors = encoder.encode(texts)
    nearest = np.empty(len(texts), dtype=np.float32)
    for start in range(0, len(texts), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -1.0  # without the text itself
        nearest[start : start + _BLOCK] = cosines.max(axis=1)
    return np.clip(nearest, -1.0, 1.0)


def _ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
