"""Everyday phrases of tools: what people say who want a tool and do not know its document's words.

Phrases come from outside the documents (:mod:`ingest.phrases`). A tool keeps them in its metadata, apart from its description. They have
a BM25 field of their own, and vectors of their own, of which the best of each tool counts. A tool without phrases has its own text in
place of the vectors and no words in the field: its cosine stays as it was, and tools with phrases pass it where theirs fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder, Floats1d, Floats2d
from ontology.tool import PHRASES, Tool, tool_text
from retrieval.index.bm25 import make_postings, terms, write_postings
from retrieval.index.records import load_mapped
from retrieval.index.vectors import NodeVectors, write_vectors

PHRASES_FIELD = "phrases"  # Name of the BM25 field and of the vectors
_POINTERS = "phrases.pointers"


def phrases_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The phrases in the metadata of a tool; none where it has no phrases."""
    return tuple(metadata.get(PHRASES, {}).get("texts", ()))


def write_phrases(folder: Path, tools: Sequence[Tool], encoder: Encoder, tools_TD: Floats2d) -> None:
    """Write the BM25 field and the vectors of the phrases. ``tools_TD``: the vectors of the tools' own texts, float32
    [tools, D]."""
    texts = [phrases_of(tool.metadata) for tool in tools]
    words = (terms("\n".join(phrases_of(tool.metadata)) or tool_text(tool)) for tool in tools)
    write_postings(folder, PHRASES_FIELD, make_postings(words))
    encoded = iter(encoder.encode([phrase for each in texts for phrase in each]))
    rows = [row for each, own in zip(texts, tools_TD, strict=True) for row in ([next(encoded) for _ in each] or [own])]
    write_vectors(folder, PHRASES_FIELD, np.asarray(rows, dtype=np.float32), tool_count=len(rows))
    pointers = [0, *accumulate(max(1, len(each)) for each in texts)]
    np.save(folder / f"{_POINTERS}.npy", np.asarray(pointers, dtype=np.int64))


def read_phrases(folder: Path) -> PhraseVectors:
    """Open the memory-mapped vectors of the phrases."""
    pointers = load_mapped(folder / f"{_POINTERS}.npy")
    return PhraseVectors(NodeVectors(folder, PHRASES_FIELD, tool_count=int(pointers[-1])), pointers)


class PhraseVectors:
    """The vectors of the phrases of all tools; the cosine of a tool is that of its best phrase. Thread-safe.
    ``pointers``: first row of each tool, and the number of rows, int64 [tools + 1]; every tool has a row."""

    def __init__(self, rows: NodeVectors, pointers: NDArray[np.int64]) -> None:
        self._rows = rows
        self._pointers = pointers

    def similarities(self, query_D: Floats1d, tools: NDArray[np.int64]) -> Floats1d:
        """The cosine of a query with the best phrase of each of the tools, float32 [tools], in [-1, 1]."""
        return self.similarities_of([query_D], tools)[0]

    def similarities_of(self, queries: Sequence[Floats1d], tools: NDArray[np.int64]) -> list[Floats1d]:
        """The same for several queries."""
        if not len(tools):
            return [np.empty(0, dtype=np.float32) for _ in queries]
        starts, counts = self._pointers[tools], self._pointers[tools + 1] - self._pointers[tools]
        firsts = np.cumsum(counts) - counts
        rows = np.arange(int(counts.sum())) + np.repeat(starts - firsts, counts)
        return [np.maximum.reduceat(each, firsts) for each in self._rows.similarities_of(queries, rows)]

    def nearest_tools(
        self, query_D: Floats1d, size: int, *, allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """The tools with the ``size`` phrases nearest to a query, ascending and distinct, int64. ``allowed``: the tools
        that may be returned, bool, at least [tools]; None allows all."""
        mask = None if allowed is None else np.repeat(allowed[: len(self._pointers) - 1], np.diff(self._pointers))
        rows, _ = self._rows.nearest_tools(query_D, size, allowed=mask)
        return np.unique(np.searchsorted(self._pointers, rows, side="right") - 1)
