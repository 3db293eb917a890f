"""The searches of one snapshot, divided by namespace.

A shard holds the postings and the vectors of its tools. What one answer needs of the whole is in the snapshot already: BM25 weights
are made of the frequencies of all tools when a snapshot is built, and the statistics of score normalisation are those of its
background queries. So the best tools of the whole are the best of the best of each shard, and nothing has to be corrected.
The graph, the texts and the other nodes stay on the node that is asked: a request walks edges across namespaces.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d
from retrieval.index.bm25 import Bm25Index
from retrieval.index.vectors import Nearest, NodeVectors
from retrieval.snapshot.reader import Snapshot

__all__ = ["divided", "shards_of"]

Mask = NDArray[np.bool_]


def shards_of(snapshot: Snapshot, count: int) -> list[Mask]:
    """Return the tools of each shard, bool [tools]: every namespace is in one of them."""
    shards = [np.zeros(snapshot.tool_count, dtype=bool) for _ in range(count)]
    for number in range(snapshot.tool_count):
        namespace = snapshot.tool_id(number).partition("/")[0]
        shards[zlib.crc32(namespace.encode()) % count][number] = True
    return shards


def divided(snapshot: Snapshot, shards: Sequence[Mask]) -> Snapshot:
    """Return a snapshot with the same answers, whose tools are searched shard by shard."""
    view = copy.copy(snapshot)
    vars(view).update(
        fields={name: _DividedPostings(index, shards) for name, index in snapshot.fields.items()},
        vectors=_divided_vectors(snapshot.vectors, shards),
    )
    return view


class _DividedPostings(Bm25Index):
    """Postings of which each shard has those of its tools."""

    def __init__(self, whole: Bm25Index, shards: Sequence[Mask]) -> None:
        vars(self).update(vars(whole))
        self._shards = [whole.restricted(shard, rescaled=False) for shard in shards]

    def best(
        self, query_terms: Sequence[str] | Mapping[str, float], count: int, *, allowed: Mask | None = None
    ) -> NDArray[np.int64]:
        """As :meth:`Bm25Index.best`: the best of the best of each shard."""
        found = [shard.best(query_terms, count, allowed=allowed) for shard in self._shards]
        tools = np.concatenate(found)
        scores = np.concatenate(
            [shard.scores_of(tools, query_terms) for shard, tools in zip(self._shards, found, strict=True)]
        )
        return np.sort(tools[np.lexsort((tools, -scores))[:count]])


def _divided_vectors(whole: NodeVectors, shards: Sequence[Mask]) -> NodeVectors:
    view = copy.copy(whole)
    view.__class__ = _DividedVectors
    vars(view)["_shards"] = tuple(shards)
    return view


class _DividedVectors(NodeVectors):
    """Vectors of which each shard searches those of its tools."""

    _shards: tuple[Mask, ...]

    def nearest_tools(self, query_D: Floats1d, k: int, *, allowed: Mask | None = None, ef_search: int = 0) -> Nearest:
        """As :meth:`NodeVectors.nearest_tools`: the nearest of the nearest of each shard."""
        found = []
        for shard in self._shards:
            mask = shard if allowed is None else shard & allowed[: len(shard)]
            if mask.any():
                found.append(super().nearest_tools(query_D, k, allowed=mask, ef_search=ef_search))
        tools = np.concatenate([np.empty(0, dtype=np.int64), *(part[0] for part in found)])
        cosines = np.concatenate([np.empty(0, dtype=np.float32), *(part[1] for part in found)])
        order = np.lexsort((tools, -cosines))[:k]
        return tools[order], cosines[order]
