"""Lookup tables from a text to numbers: sorted 64-bit hashes in memory-mapped arrays.

One format serves node keys (``tool:hr/getEmployee`` → node), names (n-gram → nodes) and filters
(``department=finance`` → tools).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.index.bm25 import hash_text, hash_texts
from retrieval.index.mapped_array import load_mapped

__all__ = ["Lookup", "write_lookup"]

_EMPTY: NDArray[np.int32] = np.empty(0, dtype=np.int32)


def write_lookup(folder: Path, name: str, entries: Iterable[tuple[str, int]]) -> None:
    """Write the table ``name``. One text may map to several numbers; they are stored in ascending order."""
    pairs = sorted({(hash_text(text), number) for text, number in entries})
    np.save(folder / f"{name}.keys.npy", np.asarray([key for key, _ in pairs], dtype=np.uint64))
    np.save(folder / f"{name}.values.npy", np.asarray([value for _, value in pairs], dtype=np.int32))


class Lookup:
    """A lookup table of a snapshot."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys: NDArray[np.uint64] = load_mapped(folder / f"{name}.keys.npy")
        self._values: NDArray[np.int32] = load_mapped(folder / f"{name}.values.npy")

    def __getitem__(self, text: str) -> NDArray[np.int32]:
        """Return the numbers of one text, ascending, int32; empty for an unknown text."""
        return self.many((text,))[0]

    def many(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the numbers of each text, in the order of the texts."""
        if not len(self._keys) or not texts:
            return [_EMPTY] * len(texts)
        keys = hash_texts(texts)
        starts = np.searchsorted(self._keys, keys, side="left")
        stops = np.searchsorted(self._keys, keys, side="right")
        return [self._values[start:stop] for start, stop in zip(starts, stops, strict=True)]

    def kept(self, numbers: NDArray[np.bool_]) -> Lookup:
        """Return the table without the other numbers: a text that has only these is then unknown.

        :param numbers: the numbers that stay, bool [numbers of the table].
        """
        table = copy.copy(self)
        stay = numbers[self._values]
        table._keys, table._values = self._keys[stay], self._values[stay]
        return table
