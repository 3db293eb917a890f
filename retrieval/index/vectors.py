"""Vectors of graph nodes, and the nearest of them to a request.

Up to :data:`EXACT_LIMIT` nodes are searched exactly. Beyond, an HNSW graph over 8-bit vectors proposes, and the stored
16-bit vectors decide: the scores are those of the exact search, only the proposal is approximate.
Built on one thread: FAISS then writes the same bytes every time.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.index.mapped_array import mapped

__all__ = ["EXACT_LIMIT", "NodeVectors", "write_vectors"]

EXACT_LIMIT = 4_000
_NEIGHBOURS = 32  # HNSW M
_BUILD_EFFORT = 160  # efConstruction
# efSearch: as hard as the index is large; recall@10 was above 0.99 at every size measured.
_LEAST_EFFORT, _MOST_EFFORT, _ROWS_PER_EFFORT = 128, 400, 100
_SPARE = 30  # proposals beyond the wanted neighbours, before exact scores decide


def write_vectors(
    folder: Path, name: str, vectors_ND: Floats2d, *, exact_limit: int = EXACT_LIMIT, searched: bool = True
) -> None:
    """Write float16 vectors and, beyond ``exact_limit`` rows, the approximate index over them.

    :param vectors_ND: L2-normalised rows, or zero rows, float32 [N, D].
    :param searched: whether neighbours are ever asked for; without it there is no index.
    """
    np.save(folder / f"{name}.vectors.npy", vectors_ND.astype(np.float16))
    if not searched or len(vectors_ND) <= exact_limit:
        return
    faiss = _faiss()
    index = faiss.IndexHNSWSQ(
        vectors_ND.shape[1], faiss.ScalarQuantizer.QT_8bit, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT
    )
    index.hnsw.efConstruction = _BUILD_EFFORT
    index.train(vectors_ND)
    index.add(vectors_ND)
    faiss.write_index(index, str(folder / f"{name}.hnsw"))


class NodeVectors:
    """The vectors of a snapshot, and their nearest-neighbour search. Thread-safe.

    :param often: so many first rows are asked for at every request: kept in float32 where they are no more than
        :data:`EXACT_LIMIT`.
    """

    def __init__(self, folder: Path, name: str, *, often: int = 0) -> None:
        self._vectors: NDArray[np.float16] = mapped(folder / f"{name}.vectors.npy")
        self._index: Any = None
        rows = len(self._vectors) if len(self._vectors) <= EXACT_LIMIT else often
        self._kept: Floats2d = self._vectors[: rows if rows <= EXACT_LIMIT else 0].astype(np.float32)
        path = folder / f"{name}.hnsw"
        if path.exists():
            faiss = _faiss()
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, numbers: NDArray[np.integer[Any]]) -> Floats2d:
        """The stored vectors of these rows, float32 [rows, D]."""
        return np.asarray(self._vectors[numbers], dtype=np.float32)

    def similarities(self, query_D: Floats1d, rows: NDArray[np.integer[Any]]) -> Floats1d:
        """Cosine of the query with each of the rows, float32 [rows]."""
        if len(rows) and int(rows.max()) < len(self._kept):
            return np.asarray(self._kept[rows] @ query_D, dtype=np.float32)
        return np.asarray(self._vectors[rows].astype(np.float32) @ query_D, dtype=np.float32)

    def nearest(
        self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None, effort: int = 0
    ) -> tuple[NDArray[np.int64], Floats1d]:
        """The ``k`` rows nearest to the query by cosine, best first, ties by row; fewer where fewer are allowed.

        :param allowed: bool [N], rows that may be returned.
        :param effort: how many rows the approximate index keeps in view; 0 lets the size decide.
        """
        effort = effort or min(_MOST_EFFORT, max(_LEAST_EFFORT, len(self) // _ROWS_PER_EFFORT))
        rows = self._proposals(query_D, k, allowed, effort)
        scores = self.similarities(query_D, rows)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]

    def _proposals(
        self, query_D: Floats1d, k: int, allowed: NDArray[np.bool_] | None, effort: int
    ) -> NDArray[np.int64]:
        if self._index is None or (allowed is not None and np.count_nonzero(allowed) <= EXACT_LIMIT):
            return np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        faiss = _faiss()
        wanted = min(k + _SPARE, len(self))
        # Parameters belong to the call, not to the index: the index is shared by threads.
        parameters = faiss.SearchParametersHNSW(efSearch=max(effort, wanted))
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            parameters.sel = faiss.IDSelectorBitmap(bits)
        _, found = self._index.search(query_D[None, :], wanted, params=parameters)
        rows = np.asarray(found[0], dtype=np.int64)
        return rows[rows >= 0]


def _faiss() -> Any:
    """FAISS on one thread: its published types do not fit what it offers, hence Any."""
    module: Any = import_module("faiss")
    module.omp_set_num_threads(1)
    return module
