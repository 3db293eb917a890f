"""Vectors of graph nodes, and nearest-neighbour search in them.

Up to :data:`EXACT_LIMIT` nodes are searched exactly. For more nodes, an HNSW graph over 8-bit vectors proposes neighbours,
and the stored 16-bit vectors give their scores: the scores are exact, only the proposals are approximate.
The index is built on one thread, so FAISS writes the same bytes every time.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.index.mapped_array import load_mapped

__all__ = ["EXACT_LIMIT", "NodeVectors", "write_vectors"]

EXACT_LIMIT = 4_000
_NEIGHBOURS = 32  # HNSW M
_EF_CONSTRUCTION = 160  # efConstruction
# efSearch grows with the size of the index; recall@10 was above 0.99 at every size measured.
_MIN_EF_SEARCH, _MAX_EF_SEARCH, _ROWS_PER_EF_SEARCH = 128, 400, 100
_EXTRA_PROPOSALS = 30  # proposals in addition to the k neighbours, to be scored exactly


def write_vectors(
    folder: Path, name: str, vectors_ND: Floats2d, *, exact_limit: int = EXACT_LIMIT, with_index: bool = True
) -> None:
    """Write float16 vectors and, for more than ``exact_limit`` rows, an approximate index over them.

    :param vectors_ND: L2-normalised rows, or zero rows, float32 [N, D].
    :param with_index: False for vectors without nearest-neighbour search.
    """
    np.save(folder / f"{name}.vectors.npy", vectors_ND.astype(np.float16))
    if not with_index or len(vectors_ND) <= exact_limit:
        return
    faiss = _faiss()
    index = faiss.IndexHNSWSQ(
        vectors_ND.shape[1], faiss.ScalarQuantizer.QT_8bit, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT
    )
    index.hnsw.efConstruction = _EF_CONSTRUCTION
    index.train(vectors_ND)
    index.add(vectors_ND)
    faiss.write_index(index, str(folder / f"{name}.hnsw"))


class NodeVectors:
    """The vectors of a snapshot, and their nearest-neighbour search. Thread-safe.

    :param frequent_rows: number of first rows that every request reads: they are held as float32 in memory, unless they
        are more than :data:`EXACT_LIMIT`.
    """

    def __init__(self, folder: Path, name: str, *, frequent_rows: int = 0) -> None:
        self._vectors: NDArray[np.float16] = load_mapped(folder / f"{name}.vectors.npy")
        self._index: Any = None
        rows = len(self._vectors) if len(self._vectors) <= EXACT_LIMIT else frequent_rows
        self._float32_rows: Floats2d = self._vectors[: rows if rows <= EXACT_LIMIT else 0].astype(np.float32)
        path = folder / f"{name}.hnsw"
        if path.exists():
            faiss = _faiss()
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, numbers: NDArray[np.integer[Any]]) -> Floats2d:
        """Return the stored vectors of these rows, float32 [rows, D]."""
        return np.asarray(self._vectors[numbers], dtype=np.float32)

    def similarities(self, query_D: Floats1d, rows: NDArray[np.integer[Any]]) -> Floats1d:
        """Return the cosine of the query with each of the rows, float32 [rows], in [-1, 1]."""
        if len(rows) and int(rows.max()) < len(self._float32_rows):
            return np.asarray(self._float32_rows[rows] @ query_D, dtype=np.float32)
        return np.asarray(self._vectors[rows].astype(np.float32) @ query_D, dtype=np.float32)

    def nearest(
        self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None, ef_search: int = 0
    ) -> tuple[NDArray[np.int64], Floats1d]:
        """Return the ``k`` nearest rows by cosine, best first, ties by row, and their cosines; fewer if fewer are allowed.

        :param allowed: the rows that may be returned, bool [N]; None allows all.
        :param ef_search: ``efSearch`` of the approximate index; 0 chooses it by the number of rows.
        """
        ef_search = ef_search or min(_MAX_EF_SEARCH, max(_MIN_EF_SEARCH, len(self) // _ROWS_PER_EF_SEARCH))
        rows = self._proposals(query_D, k, allowed, ef_search)
        scores = self.similarities(query_D, rows)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]

    def _proposals(
        self, query_D: Floats1d, k: int, allowed: NDArray[np.bool_] | None, ef_search: int
    ) -> NDArray[np.int64]:
        if self._index is None or (allowed is not None and np.count_nonzero(allowed) <= EXACT_LIMIT):
            return np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        faiss = _faiss()
        wanted = min(k + _EXTRA_PROPOSALS, len(self))
        # Parameters belong to the call, not to the index: the index is shared by threads.
        parameters = faiss.SearchParametersHNSW(efSearch=max(ef_search, wanted))
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            parameters.sel = faiss.IDSelectorBitmap(bits)
        _, found = self._index.search(query_D[None, :], wanted, params=parameters)
        rows = np.asarray(found[0], dtype=np.int64)
        return rows[rows >= 0]


def _faiss() -> Any:
    """Return FAISS, limited to one thread. The type is Any, because the published types of FAISS are wrong."""
    module: Any = import_module("faiss")
    module.omp_set_num_threads(1)
    return module
