"""Everyday phrases of tools: what people say who want a tool and do not know its document's words.

Phrases come from outside the documents (:mod:`ingest.phrases`). A tool keeps them in its metadata, apart from its description. They have
a BM25 field of their own, and vectors of their own, of which the best of each tool counts. A tool without phrases has its own words in the
field and no vector there: its cosine stays as it was, and tools with phrases pass it where theirs fit.

The vectors are kept in 8 bits a dimension, each row with a scale of its own: on the fourteen sets that have phrases no figure at 3, 5 or 10 was
another than with 16 bits. They score candidates and propose none: a search of all of them took a third of a request of 44,435 tools, and the
same requests were complete without it, but for one in a hundred, half of them for the better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder, Floats1d, Floats2d
from ontology.errors import SnapshotCorruptError
from ontology.tool import PHRASES, Tool, tool_text
from retrieval.index.bm25 import make_postings, terms, write_postings
from retrieval.index.records import read_columns, write_columns
from retrieval.index.vectors import dot_products

PHRASES_FIELD = "phrases"  # Name of the BM25 field and of the vectors
_BLOCK = 256  # rows of 384 float32: 400 KB


def phrases_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The phrases in the metadata of a tool; none where it has no phrases."""
    return tuple(metadata.get(PHRASES, {}).get("texts", ()))


def write_phrases(folder: Path, tools: Sequence[Tool], encoder: Encoder) -> None:
    """Write the BM25 field and the vectors of the phrases."""
    texts = [phrases_of(tool.metadata) for tool in tools]
    words = (terms("\n".join(each) or tool_text(tool)) for each, tool in zip(texts, tools, strict=True))
    write_postings(folder, PHRASES_FIELD, make_postings(words))
    write_columns(
        folder,
        PHRASES_FIELD,
        phrase_vectors(encoder.encode([phrase for each in texts for phrase in each]), map(len, texts)),
    )


def phrase_vectors(vectors_RD: Floats2d, counts: Iterable[int]) -> PhraseVectors:
    """The vectors of phrases, which stand in the order of the tools, in 8 bits. ``counts``: how many each tool has."""
    scales_R = np.maximum(vectors_RD.max(axis=1, initial=0.0), -vectors_RD.min(axis=1, initial=0.0)) / np.float32(127)
    values_RD = np.empty(vectors_RD.shape, dtype=np.int8)
    for start in range(0, len(vectors_RD), _BLOCK):  # more at once would be the peak of a build
        block = slice(start, start + _BLOCK)
        values_RD[block] = np.rint(vectors_RD[block] / np.where(scales_R[block] > 0, scales_R[block], 1.0)[:, None])
    return PhraseVectors(values_RD, scales_R, np.fromiter(accumulate(counts, initial=0), np.int64))


def read_phrases(folder: Path, *, tools: int, dimensions: int) -> PhraseVectors:
    """Open the memory-mapped vectors of the phrases. Raises SnapshotCorruptError where the files are none of so many tools and dimensions."""
    found = read_columns(folder, PHRASES_FIELD, PhraseVectors)
    ends, rows = found.pointers, len(found.values)
    if (
        (found.values.shape, found.scales.shape, ends.shape) != ((rows, dimensions), (rows,), (tools + 1,))
        or [str(each.dtype) for each in (found.values, found.scales, ends)] != ["int8", "float32", "int64"]
        or (ends[0], ends[-1]) != (0, rows)
        or np.any(ends[1:] < ends[:-1])
        or not (np.isfinite(found.scales) & (found.scales >= 0)).all()
    ):
        raise SnapshotCorruptError("the vectors of phrases do not match", subject=str(folder), remedy="Build again")
    return found


@dataclass(frozen=True, slots=True)
class PhraseVectors:
    """The vectors of the phrases of all tools; the cosine of a tool is that of its best phrase. Thread-safe."""

    values: NDArray[np.int8]  # [phrases, D]
    scales: Floats1d  # what the values of each phrase are multiplied by, float32 [phrases]
    pointers: NDArray[np.int64]  # the first phrase of each tool, and the number of phrases, [tools + 1]

    def similarities_of(self, queries: Sequence[Floats1d], tools: NDArray[np.int64]) -> list[Floats1d]:
        """The cosine of each query with the best phrase of each of the tools, float32 [tools], in [-1, 1]; -1 for a tool without phrases."""
        best = [np.full(len(tools), -1.0, dtype=np.float32) for _ in queries]
        starts, counts = self.pointers[tools], self.pointers[tools + 1] - self.pointers[tools]
        having = np.flatnonzero(counts)
        starts, counts = starts[having], counts[having]
        firsts = np.cumsum(counts) - counts
        rows = np.arange(int(counts.sum())) + np.repeat(starts - firsts, counts)
        found = dot_products(queries, rows, lambda block: self.values[block].astype(np.float32))
        if len(having):
            for each, products in zip(best, found, strict=True):
                each[having] = np.maximum.reduceat(products * self.scales[rows], firsts)
        return best
