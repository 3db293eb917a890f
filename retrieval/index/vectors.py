"""Vectors of graph nodes, and nearest-neighbour search in them.

The tools are the first rows. Tools and other nodes are searched apart, each in an index of its own: a search for tools does not
lose them among three times as many other nodes. A search of all nodes joins both.

Up to :data:`EXACT_LIMIT` rows are searched exactly. Of more, codes of one bit a dimension (RaBitQ, arXiv 2405.12497, without its rotation)
propose some, which the stored 16-bit vectors score. All codes are scanned, so that they are made in a moment when one row changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d
from retrieval.index.records import load_mapped

EXACT_LIMIT = 4_000
# How many rows are proposed: so many times those asked for, and at least so many and that share of all. Found on the tools (4,629) and other
# nodes (36,760) of real documents, with 400 requests and needs: of the 10, 25 and 100 nearest rows 1, .999 and .994 are found. The share was
# found on 110,280 rows drawn around these.
_PROPOSED, _LEAST_PROPOSED, _SHARE_PROPOSED = 5, 300, 100
# Scoring all allowed rows takes time in proportion to them, the codes in proportion to rows / allowed: equal where the square of allowed is this
# many times the rows. Found on 4,629, 36,760 and 100,000 rows.
_EXACT_FACTOR = 130
_BLOCK = 256  # rows of 384 float32: 400 KB
_SIGN_AND_VALUE, _BIAS = np.int32(-0x70002000), np.float32(2.0**112)  # of a float16 in the bits of a float32
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
) -> None:
    """Write float16 vectors and, for more than ``exact_limit`` tools or other nodes, their codes.
    ``vectors_ND``: L2-normalised rows, or zero rows, float32 [N, D]. ``tool_count``: how many of the first rows are
    tools."""
    with (folder / f"{name}.vectors.npy").open("wb") as file:  # in blocks: a copy of all would be the peak of a build
        np.lib.format.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": vectors_ND.shape})
        for start in range(0, len(vectors_ND), _BLOCK):
            file.write(vectors_ND[start : start + _BLOCK].astype(np.float16).tobytes())
    for part, rows_PD in ((_TOOLS, vectors_ND[:tool_count]), (_OTHERS, vectors_ND[tool_count:])):
        if with_index and len(rows_PD) > exact_limit:
            index = _faiss().IndexRaBitQFastScan(rows_PD.shape[1], _faiss().METRIC_INNER_PRODUCT)
            index.train(rows_PD)
            index.add(rows_PD)
            _faiss().write_index(index, str(folder / f"{name}.{part}.rabitq"))


def dot_products(
    queries: Sequence[Floats1d],
    rows: NDArray[np.integer[Any]],
    read: Callable[[NDArray[np.integer[Any]]], Floats2d],
) -> list[Floats1d]:
    """The dot product of each query with each of the rows, float32 [rows]. ``read`` gives some rows, float32 [rows, D]: each row is read once, in
    blocks that stay in the cache of the processor."""
    found = [np.empty(len(rows), dtype=np.float32) for _ in queries]
    for start in range(0, len(rows), _BLOCK):
        block_BD = read(rows[start : start + _BLOCK])
        for query_D, products in zip(queries, found, strict=True):
            products[start : start + _BLOCK] = block_BD @ query_D
    return found


class NodeVectors:
    """The vectors of a snapshot, and their nearest-neighbour search. Thread-safe. ``tool_count``: how many of the first
    rows are tools."""

    def __init__(self, folder: Path, name: str, *, tool_count: int = 0) -> None:
        self._vectors: NDArray[np.float16] = load_mapped(folder / f"{name}.vectors.npy")
        self._tools = _Part(self._vectors[:tool_count], 0, folder / f"{name}.{_TOOLS}.rabitq")
        self._others = _Part(self._vectors[tool_count:], tool_count, folder / f"{name}.{_OTHERS}.rabitq")

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, numbers: NDArray[np.integer[Any]]) -> Floats2d:
        """Return the stored vectors of these rows, float32 [rows, D]."""
        if len(numbers) and int(numbers.max()) < len(self._tools):
            return self._tools.rows(numbers)
        return _float32(self._vectors[numbers])

    def similarities_of(self, queries: Sequence[Floats1d], rows: NDArray[np.integer[Any]]) -> list[Floats1d]:
        """The cosine of each query with each of the rows, float32 [rows], in [-1, 1]."""
        return dot_products(queries, rows, self.rows)

    def nearest(
        self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None, tools: Nearest | None = None
    ) -> Nearest:
        """Return the ``k`` nearest rows by cosine, best first, ties by row among the rows that are scored, and their cosines; fewer if fewer are
        allowed. ``allowed``: the rows that may be returned, bool [N]; None allows all. ``tools``: the nearest tools,
        ``k`` or more, where they are known."""
        found = (tools or self._tools.nearest(query_D, k, allowed), self._others.nearest(query_D, k, allowed))
        rows = np.concatenate([part[0] for part in found])
        cosines = np.concatenate([part[1] for part in found])
        order = np.lexsort((rows, -cosines))[:k]
        return rows[order], cosines[order]

    def nearest_tools(self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None) -> Nearest:
        """The same of the tools alone; ``allowed`` has at least [tools]."""
        return self._tools.nearest(query_D, k, allowed)


class _Part:
    """Some consecutive rows with a search of their own. ``stored``: their vectors, float16 [P, D]. ``first``: the
    number of the first of them. ``codes``: the file of their codes, which is there for many rows."""

    def __init__(self, stored: NDArray[np.float16], first: int, codes: Path) -> None:
        self._first = first
        # Rows that every request reads are held as float32.
        self._vectors: NDArray[Any] = stored.astype(np.float32) if len(stored) <= EXACT_LIMIT else stored
        self._codes: Any = _faiss().read_index(str(codes)) if codes.exists() else None

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, rows: NDArray[np.integer[Any]]) -> Floats2d:
        """Return the vectors of these rows of the part, float32 [rows, D]."""
        return _float32(self._vectors[rows])

    def cosines(self, query_D: Floats1d, rows: NDArray[np.integer[Any]] | None) -> Floats1d:
        """Return the cosine of the query with these rows of the part, or with all, float32 [rows]."""
        chosen = self._vectors if rows is None else self._vectors[rows]
        return np.asarray(_float32(chosen) @ query_D, dtype=np.float32)

    def nearest(self, query_D: Floats1d, k: int, allowed: NDArray[np.bool_] | None) -> Nearest:
        """Return the nearest rows of the part, numbered in the whole; see :meth:`NodeVectors.nearest`."""
        mask = None if allowed is None else allowed[self._first : self._first + len(self)]
        rows = self._proposals(query_D, k, mask)
        cosines = self.cosines(query_D, rows)
        if rows is None:
            rows = np.arange(len(self))
        if len(rows) > k:  # ties with the last one stay, for the order by number
            near = np.flatnonzero(cosines >= np.partition(cosines, -k)[-k])
            rows, cosines = rows[near], cosines[near]
        order = np.lexsort((rows, -cosines))[:k]
        return rows[order] + self._first, cosines[order]

    def _proposals(self, query_D: Floats1d, k: int, mask: NDArray[np.bool_] | None) -> NDArray[np.int64] | None:
        """Return the rows of the part that are scored exactly; None for all."""
        count = len(self) if mask is None else int(np.count_nonzero(mask))
        size = wanted = max(_PROPOSED * k, _LEAST_PROPOSED, len(self) // _SHARE_PROPOSED)
        if self._codes is None or count <= max(2 * wanted, math.isqrt(_EXACT_FACTOR * len(self))):
            return None if mask is None else np.flatnonzero(mask)
        if mask is not None:
            size = 2 * wanted * len(self) // count
        while True:  # the rows near a query may be others than the allowed ones
            _, found = self._codes.search(query_D[None, :], min(size, len(self)))
            rows = np.asarray(found[0], dtype=np.int64)
            rows = rows[(rows >= 0) & (True if mask is None else mask[rows])]
            if len(rows) >= wanted or size >= len(self):
                return rows
            size *= 4


def _float32(vectors: NDArray[Any]) -> Floats2d:
    """The same values as float32; those of float16 in a sixth of NumPy's time. Their bits are shifted to where float32 has them, and a product
    corrects the exponent, which counts from 15 and not from 127: exact for every finite value."""
    if vectors.dtype != np.float16:
        return np.asarray(vectors, dtype=np.float32)
    bits = vectors.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_VALUE
    return np.multiply(bits.view(np.float32), _BIAS, dtype=np.float32)


def _faiss() -> Any:
    """Return FAISS, limited to one thread for the calling thread. The type is Any, because the published types of FAISS are wrong."""
    module: Any = import_module("faiss")
    module.omp_set_num_threads(1)
    return module
