"""Diversity: how many different n-grams a set of texts has, and how close its closest texts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.names import words

__all__ = ["Diversity", "distinct_n", "measure_diversity", "nearest_cosines"]

_SIZES = (1, 2, 3)
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_BLOCK = 1_024  # rows compared at once


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """How varied a set of texts is.

    :param words: words a text, on average.
    :param distinct: n → different n-grams over all n-grams, in [0, 1].
    :param openings: different first two words over texts, in [0, 1].
    :param nearest: cosine of each text to the one closest to it, float32 [texts]; empty for fewer than two.
    :param encoder: who made the vectors.
    """

    texts: int
    words: float
    distinct: dict[int, float]
    openings: float
    nearest: Floats1d
    encoder: str

    @property
    def closest(self) -> float:
        """The highest cosine between two texts; 0 for fewer than two."""
        return float(self.nearest.max()) if len(self.nearest) else 0.0

    def to_json(self) -> dict[str, Any]:
        """The JSON form, the cosines as quantiles."""
        quantiles = np.quantile(self.nearest, _QUANTILES) if len(self.nearest) else ()
        return {
            "texts": self.texts,
            "words_a_text": round(self.words, 2),
            **{f"distinct_{size}": round(share, 4) for size, share in self.distinct.items()},
            "distinct_openings": round(self.openings, 4),
            "nearest_cosine": {
                f"p{share * 100:g}": round(float(at), 4) for share, at in zip(_QUANTILES, quantiles, strict=False)
            },
            "max_cosine": round(self.closest, 4),
            "encoder": self.encoder,
        }


def measure_diversity(texts: Sequence[str], encoder: Encoder) -> Diversity:
    """The diversity of these texts.

    :raises ModelError: when the encoder's model is dead.
    """
    tokens = [words(text) for text in texts]
    openings = {tuple(each[:2]) for each in tokens}
    return Diversity(
        texts=len(texts),
        words=sum(map(len, tokens)) / max(len(texts), 1),
        distinct={size: distinct_n(texts, size) for size in _SIZES},
        openings=len(openings) / max(len(texts), 1),
        nearest=nearest_cosines(texts, encoder),
        encoder=encoder.name,
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
