"""Text features: what each field of a tool says about a request, before any of it is weighed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.index.name_coverage import covered
from retrieval.query.query import Clause
from retrieval.snapshot.reader import Snapshot

__all__ = ["TEXT_FEATURES", "text_features"]

Tools = NDArray[np.int64]


def _bm25(field: str) -> Callable[[Snapshot, Clause, Tools], Floats1d | None]:
    return lambda snapshot, asked, tools: snapshot.fields[field].scores(asked.terms)[tools]


def _cosine_text(snapshot: Snapshot, asked: Clause, tools: Tools) -> Floats1d | None:
    return None if asked.vector_D is None else snapshot.vectors.similarities(asked.vector_D, tools)


def _cosine_name(snapshot: Snapshot, asked: Clause, tools: Tools) -> Floats1d | None:
    return None if asked.vector_D is None else snapshot.name_vectors.similarities(asked.vector_D, tools)


def _name_coverage(snapshot: Snapshot, asked: Clause, tools: Tools) -> Floats1d | None:
    return covered(snapshot.names_index, asked.terms)[tools]


_MAKERS: Mapping[str, Callable[[Snapshot, Clause, Tools], Floats1d | None]] = {
    "bm25_text": _bm25("text"),
    "bm25_params": _bm25("params"),
    "bm25_returns": _bm25("returns"),
    "bm25_values": _bm25("values"),
    "bm25_whole": _bm25("whole"),
    "cosine_text": _cosine_text,
    "cosine_name": _cosine_name,
    "name_coverage": _name_coverage,
}
TEXT_FEATURES = tuple(_MAKERS)
"""The names of all there are."""


def text_features(snapshot: Snapshot, asked: Clause, tools: Tools, names: Collection[str]) -> dict[str, Floats1d]:
    """The raw features of these names, float32 [tools] each: BM25 >= 0, cosines in [-1, 1], coverage in [0, 1].

    A cosine is left out where the encoder is down.
    """
    found: dict[str, Floats1d] = {}
    for name in names:
        values = _MAKERS[name](snapshot, asked, tools)
        if values is not None:
            found[name] = values
    return found
