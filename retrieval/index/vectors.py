"""Vectors of graph nodes, and nearest-neighbour search in them.

The tools are the first rows. Tools and other nodes are searched apart, each in an index of its own: a search for tools does not
lose them among three times as many other nodes. A search of all nodes joins both.

Up to :data:`EXACT_LIMIT` rows are searched exactly. For more, an HNSW graph over 8-bit vectors proposes neighbours, or, where filters leave
few rows, a scan of these; the stored 16-bit vectors give their scores. The indexes are built on one thread, so FAISS writes the same bytes
every time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d
from retrieval.index.records import load_mapped

if TYPE_CHECKING:
    from inference.result_cache import ResultCache


EXACT_LIMIT = 4_000
# A filtered walk takes time in proportion to rows / allowed, a scan in proportion to allowed. They are equal where the square of
# allowed is this many times the rows: a fourth of 100,000 rows, 8 % of a million. Found on 100,000 vectors of 44,435 real tools.
SCAN_FACTOR = 6_000
_NEIGHBOURS = 32  # HNSW M
_EF_CONSTRUCTION = 160  # efConstruction
# efSearch grows with the size of the index; recall@10 was above 0.99 at every size measured.
_MIN_EF_SEARCH, _MAX_EF_SEARCH, _ROWS_PER_EF_SEARCH = 128, 400, 100
_EXTRA_PROPOSALS = 30  # proposals in addition to the k neighbours, to be scored exactly
_BLOCK = 256  # rows of 384 float32: 400 KB
_INDEX_KIND, _MAX_CACHED = "vector-index.v1", 2**28
Nearest: TypeAlias = tuple[NDArray[np.int64], Floats1d]  # rows, best first, and their cosines
_TOOLS, _OTHERS = "tools", "others"


def write_vectors(
    folder: Path,
    name: str,
    vectors_ND: Floats2d,
    *,
    tool_count: int = 0,
    exact_limit: int = EXACT_LIMIT,
    with_index: bool = True,
    cache: ResultCache | None = None,
) -> None:
    """Write float16 vectors and, for more than ``exact_limit`` tools or other nodes, an approximate index over them.
    ``vectors_ND``: L2-normalised rows, or zero rows, float32 [N, D]. ``tool_count``: how many of the first rows are
    tools."""
    np.save(folder / f"{name}.vectors.npy", vectors_ND.astype(np.float16))
    for part, rows_PD in ((_TOOLS, vectors_ND[:tool_count]), (_OTHERS, vectors_ND[tool_count:])):
        if with_index and len(rows_PD) > exact_limit:
            _write_index(folder / f"{name}.{part}.hnsw", rows_PD, cache)


def _write_index(path: Path, rows_PD: Floats2d, cache: ResultCache | None) -> None:
    faiss = _faiss()
    made_with = f"{faiss.__version__} {_NEIGHBOURS} {_EF_CONSTRUCTION} {rows_PD.shape}".encode()
    hashed = hashlib.sha256(made_with)
    hashed.update(np.ascontiguousarray(rows_PD).reshape(-1).data)  # without a copy of the rows
    digest = hashed.digest()
    known = cache.get(_INDEX_KIND, path.name) if cache is not None else None
    if known is not None and known.startswith(digest):
        path.write_bytes(known[len(digest) :])
        return
    index = faiss.IndexHNSWSQ(rows_PD.shape[1], faiss.ScalarQuantizer.QT_8bit, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _EF_CONSTRUCTION
    index.train(rows_PD)
    index.add(rows_PD)
    faiss.write_index(index, str(path))
    if cache is not None and path.stat().st_size <= _MAX_CACHED:
        cache.put(_INDEX_KIND, path.name, digest + path.read_bytes())


class NodeVectors:
    """The vectors of a snapshot, and their nearest-neighbour search. Thread-safe. ``tool_count``: how many of the first
    rows are tools."""

    def __init__(self, folder: Path, name: str, *, tool_count: int = 0) -> None:
        self._vectors: NDArray[np.float16] = load_mapped(folder / f"{name}.vectors.npy")
        self._tools = _Part(self._vectors[:tool_count], 0, folder / f"{name}.{_TOOLS}.hnsw")
        self._others = _Part(self._vectors[tool_count:], tool_count, folder / f"{name}.{_OTHERS}.hnsw")

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, numbers: NDArray[np.integer[Any]]) -> Floats2d:
        """Return the stored vectors of these rows, float32 [rows, D]."""
        if len(numbers) and int(numbers.max()) < len(self._tools):
            return self._tools.rows(numbers)
        return np.asarray(self._vectors[numbers], dtype=np.float32)

    def similarities(self, query_D: Floats1d, rows: NDArray[np.integer[Any]]) -> Floats1d:
        """Return the cosine of the query with each of the rows, float32 [rows], in [-1, 1]."""
        if len(rows) and int(rows.max()) < len(self._tools):
            return self._tools.cosines(query_D, rows)
        return np.asarray(self.rows(rows) @ query_D, dtype=np.float32)

    def similarities_of(self, queries: Sequence[Floats1d], rows: NDArray[np.integer[Any]]) -> list[Floats1d]:
        """The same for several queries: each row is read once, in blocks that stay in the cache of the processor."""
        found = [np.empty(len(rows), dtype=np.float32) for _ in queries]
        for start in range(0, len(rows), _BLOCK):
            block_BD = self.rows(rows[start : start + _BLOCK])
            for query_D, cosines in zip(queries, found, strict=True):
                cosines[start : start + _BLOCK] = block_BD @ query_D
        return found

    def nearest(
        self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None, tools: Nearest | None = None
    ) -> Nearest:
        """Return the ``k`` nearest rows by cosine, best first, ties by row, and their cosines; fewer if fewer are
        allowed. ``allowed``: the rows that may be returned, bool [N]; None allows all. ``tools``: the nearest tools,
        ``k`` or more, where they are known."""
        found = (tools or self._tools.nearest(query_D, k, allowed, 0), self._others.nearest(query_D, k, allowed, 0))
        rows = np.concatenate([part[0] for part in found])
        cosines = np.concatenate([part[1] for part in found])
        order = np.lexsort((rows, -cosines))[:k]
        return rows[order], cosines[order]

    def nearest_tools(
        self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None, ef_search: int = 0
    ) -> Nearest:
        """The same of the tools alone; ``allowed`` has at least [tools]. ``ef_search``: ``efSearch`` of the approximate
        index; 0 chooses it by the number of rows."""
        return self._tools.nearest(query_D, k, allowed, ef_search)


class _Part:
    """Some consecutive rows with a search of their own. ``stored``: their vectors, float16 [P, D]. ``first``: the
    number of the first of them. ``index_path``: of the approximate index, which is there for many rows."""

    def __init__(self, stored: NDArray[np.float16], first: int, index_path: Path) -> None:
        self._first = first
        # Rows that every request reads are held as float32.
        self._vectors: NDArray[Any] = stored.astype(np.float32) if len(stored) <= EXACT_LIMIT else stored
        self._index: Any = None
        if index_path.exists():
            faiss = _faiss()
            self._index = faiss.read_index(str(index_path), faiss.IO_FLAG_MMAP_IFC)

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, rows: NDArray[np.integer[Any]]) -> Floats2d:
        """Return the vectors of these rows of the part, float32 [rows, D]."""
        return np.asarray(self._vectors[rows], dtype=np.float32)

    def cosines(self, query_D: Floats1d, rows: NDArray[np.integer[Any]] | None) -> Floats1d:
        """Return the cosine of the query with these rows of the part, or with all, float32 [rows]."""
        chosen = self._vectors if rows is None else self._vectors[rows]
        return np.asarray(np.asarray(chosen, dtype=np.float32) @ query_D, dtype=np.float32)

    def nearest(self, query_D: Floats1d, k: int, allowed: NDArray[np.bool_] | None, ef_search: int) -> Nearest:
        """Return the nearest rows of the part, numbered in the whole; see :meth:`NodeVectors.nearest`."""
        mask = None if allowed is None else allowed[self._first : self._first + len(self)]
        rows = self._proposals(query_D, k, mask, ef_search)
        cosines = self.cosines(query_D, rows)
        if rows is None:
            rows = np.arange(len(self))
        if len(rows) > k:  # ties with the last one stay, for the order by number
            near = np.flatnonzero(cosines >= np.partition(cosines, -k)[-k])
            rows, cosines = rows[near], cosines[near]
        order = np.lexsort((rows, -cosines))[:k]
        return rows[order] + self._first, cosines[order]

    def _proposals(
        self, query_D: Floats1d, k: int, mask: NDArray[np.bool_] | None, ef_search: int
    ) -> NDArray[np.int64] | None:
        """Return the rows of the part that are scored exactly; None for all."""
        count = len(self) if mask is None else int(np.count_nonzero(mask))
        if self._index is None or count <= EXACT_LIMIT:
            return None if mask is None else np.flatnonzero(mask)
        faiss = _faiss()
        wanted = min(k + _EXTRA_PROPOSALS, count)
        # Parameters belong to the call, not to the index: the index is shared by threads.
        selector = None if mask is None else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        if mask is not None and count * count <= SCAN_FACTOR * len(self):
            searched, parameters = faiss.downcast_index(self._index.storage), faiss.SearchParameters(sel=selector)
        else:
            by_size = min(_MAX_EF_SEARCH, max(_MIN_EF_SEARCH, len(self) // _ROWS_PER_EF_SEARCH))
            # Rows that are not allowed take their share of the walk.
            depth = max(ef_search or by_size, wanted) * len(self) // count
            searched, parameters = self._index, faiss.SearchParametersHNSW(efSearch=depth, sel=selector)
        _, found = searched.search(query_D[None, :], wanted, params=parameters)
        rows = np.asarray(found[0], dtype=np.int64)
        return rows[rows >= 0]


def _faiss() -> Any:
    """Return FAISS, limited to one thread. The type is Any, because the published types of FAISS are wrong."""
    module: Any = import_module("faiss")
    module.omp_set_num_threads(1)
    return module
