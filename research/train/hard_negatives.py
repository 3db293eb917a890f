"""Hard negatives: tools of the same catalogue that look right by words or by vector, and are not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder, Floats1d, Floats2d
from retrieval.index.bm25 import Bm25Index, make_postings, terms

__all__ = ["Miner"]

_DEEPEST = 30
_BY_VECTOR, _BY_WORDS = 5, 3
_TWIN = 0.90


class Miner:
    """Finds hard negatives among the documents of one catalogue.

    :param documents: what stands for each tool, by tool number.
    :param encoder: the model that is to be tuned, before tuning.
    """

    def __init__(self, documents: Sequence[str], encoder: Encoder) -> None:
        self._vectors: Floats2d = encoder.encode(documents)
        self._words = Bm25Index(make_postings(terms(text) for text in documents), len(documents))

    def mine(self, query: str, vector: Floats1d, gold: Sequence[int], rng: random.Random) -> list[int]:
        """Up to eight tool numbers: five among the 30 best by cosine, three among those by BM25, hardest first.

        Left out are the gold tools, and their twins: documents at a cosine of 0.90 or more to a gold one.
        """
        twins = (self._vectors[list(gold)] @ self._vectors.T).max(axis=0) >= _TWIN
        twins[list(gold)] = True
        chosen: list[int] = []
        lists = ((self._vectors @ vector, _BY_VECTOR), (self._words.scores(terms(query)), _BY_WORDS))
        for scores, wanted in lists:
            found = _best(scores, twins, chosen)
            picked = sorted(rng.sample(range(len(found)), min(wanted, len(found))))
            chosen += [found[place] for place in picked]
        return chosen


def _best(scores: Floats1d, left_out: NDArray[np.bool_], chosen: list[int]) -> list[int]:
    """Positions 2 to 30 of what is not left out; the very first is as often right as wrong."""
    ranked = [
        int(number) for number in np.argsort(-scores, kind="stable")[: _DEEPEST + len(chosen)] if scores[number] > 0
    ]
    return [number for number in ranked[1:] if not left_out[number] and number not in chosen]
