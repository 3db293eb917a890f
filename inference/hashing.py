"""A deterministic encoder without a model: hashed words and character trigrams."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from inference.arrays import Floats2d, unit_rows

__all__ = ["HashingEncoder"]

WORD = re.compile(r"[^\W_]+|[^\w\s]")
"""Words, split at underscores too; another character is a word of its own."""
CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NGRAM = 3
NGRAM_WEIGHT = 0.3
MAX_CHARS = 8_192


class HashingEncoder:
    """Similarity of spelling in 256 dimensions, for tests and for installs without a model.

    Texts that share words or parts of words are similar. Meaning has no influence.
    """

    name = "hashing.v1"
    dimensions = 256
    digest = ""

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text.lstrip()[:MAX_CHARS]):
                # Unlike hash(), crc32 gives the same value in every run and on every machine.
                code = zlib.crc32(feature.encode("utf-8", "replace"))
                row[code % self.dimensions] += weight if code & 0x8000_0000 else -weight
        return unit_rows(rows, subject=self.name)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = WORD.findall(CAMEL_CASE_BOUNDARY.sub(" ", text).casefold()) or text.split()
    for word in words:
        yield f"w {word}", 1.0
        padded = f"<{word}>"
        for start in range(len(padded) - NGRAM + 1):
            yield f"g {padded[start : start + NGRAM]}", NGRAM_WEIGHT
