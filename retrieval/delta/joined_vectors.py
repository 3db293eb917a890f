"""Vectors of a snapshot and of a segment under one numbering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.delta.numbering import Numbering
from retrieval.index.vectors import Nearest, NodeVectors

__all__ = ["JoinedVectors"]


class JoinedVectors(NodeVectors):
    """The vectors of a snapshot, some of them left out, and added ones, which are searched exactly. Thread-safe.

    :param added_AD: float16 [added, D], in the order of the numbering.
    :param tools_only: for vectors of tools alone.
    """

    def __init__(
        self, base: NodeVectors, added_AD: NDArray[np.float16], numbering: Numbering, *, tools_only: bool = False
    ) -> None:
        size = numbering.tool_count if tools_only else numbering.size
        self._base = base
        self._added_AD: Floats2d = added_AD.astype(np.float32)
        self._origins = numbering.origins[:size]
        self._of_base = numbering.of_base[: len(base)]
        self._of_added = numbering.of_added[: len(added_AD)]
        self._kept = self._of_base >= 0
        self._all_kept = bool(self._kept.all())
        self._added_tools = numbering.added_tools

    def __len__(self) -> int:
        return len(self._origins)

    def rows(self, numbers: NDArray[np.integer[Any]]) -> Floats2d:
        """Return the stored vectors of these rows, float32 [rows, D]."""
        origins = self._origins[numbers]
        added = origins < 0
        if not added.any():
            return self._base.rows(origins)
        rows = self._base.rows(np.where(added, 0, origins)).copy() if len(self._base) else self._added_AD[-1 - origins]
        rows[added] = self._added_AD[-1 - origins[added]]
        return rows

    def similarities(self, query_D: Floats1d, rows: NDArray[np.integer[Any]]) -> Floats1d:
        """Return the cosine of the query with each of the rows, float32 [rows], in [-1, 1]."""
        return np.asarray(self.rows(rows) @ query_D, dtype=np.float32)

    def nearest(
        self,
        query_D: Floats1d,
        k: int,
        *,
        allowed: NDArray[np.bool_] | None = None,
        ef_search: int = 0,
        tools: Nearest | None = None,
    ) -> Nearest:
        """As :meth:`NodeVectors.nearest`; the tools are searched again."""
        found = self._base.nearest(query_D, k, allowed=self._of_snapshot(allowed), ef_search=ef_search)
        return self._with_added(found, query_D, k, allowed, len(self._of_added))

    def nearest_tools(
        self, query_D: Floats1d, k: int, *, allowed: NDArray[np.bool_] | None = None, ef_search: int = 0
    ) -> Nearest:
        """As :meth:`NodeVectors.nearest_tools`."""
        found = self._base.nearest_tools(query_D, k, allowed=self._of_snapshot(allowed), ef_search=ef_search)
        return self._with_added(found, query_D, k, allowed, self._added_tools)

    def _of_snapshot(self, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """The mask of the rows of the snapshot that may be returned; None for all."""
        if allowed is None:
            return None if self._all_kept else self._kept
        mask = np.zeros(len(self._of_base), dtype=bool)
        inside = self._kept & (self._of_base < len(allowed))
        mask[inside] = allowed[self._of_base[inside]]
        return mask

    def _with_added(
        self, found: Nearest, query_D: Floats1d, k: int, allowed: NDArray[np.bool_] | None, added: int
    ) -> Nearest:
        numbers = self._of_added[:added]
        cosines = np.asarray(self._added_AD[:added] @ query_D, dtype=np.float32)
        if allowed is not None:
            numbers, cosines = numbers[allowed[numbers]], cosines[allowed[numbers]]
        rows = np.concatenate((self._of_base[found[0]], numbers))
        scores = np.concatenate((found[1], cosines))
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]
