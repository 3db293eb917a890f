"""Vectors on the disk, read in blocks; memory holds the last block only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from datagen.run.scratch_file import ScratchFile
from inference.arrays import Floats1d, Floats2d

__all__ = ["BLOCK", "StoredVectors"]

BLOCK = 1_024
"""Rows a block: 1.5 MB of 384 dimensions."""


class StoredVectors:
    """Vectors in the order in which they were added.

    :param folder: the folder of the scratch file; see :class:`~datagen.run.scratch_file.ScratchFile`.
    """

    def __init__(self, dimensions: int, folder: Path | None = None) -> None:
        self._file = ScratchFile(folder)
        self._last = np.zeros((BLOCK, dimensions), dtype=np.float32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, vector: Floats1d) -> None:
        """Add a vector.

        :raises StorageError: when a full block cannot be written.
        """
        self._last[self._count % BLOCK] = vector
        self._count += 1
        if self._count % BLOCK == 0:
            self._file.append(self._last.tobytes())

    def blocks(self, first: int = 0) -> Iterator[Floats2d]:
        """Yield the vectors from a block on, in blocks of :data:`BLOCK` rows; the last may have fewer, and none is empty."""
        size = self._last.nbytes
        for number in range(first, self._count // BLOCK):
            yield np.frombuffer(self._file.read(number * size, size), dtype=np.float32).reshape(self._last.shape)
        if rest := self._count % BLOCK:
            yield self._last[:rest]
