"""Records: JSON lines with an offset table, read one at a time from a memory map."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.errors import SnapshotCorruptError

__all__ = ["Records", "write_records"]


def write_records(path: Path, rows: Iterable[Any]) -> int:
    """Write ``path.jsonl`` and its offsets ``path.offsets.npy``; returns the number of rows.

    Rows are written with sorted keys, so equal rows give equal bytes.
    """
    offsets = [0]
    with open(path.with_suffix(".jsonl"), "wb") as file:
        for row in rows:
            line = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            file.write(line)
            offsets.append(offsets[-1] + len(line))
    np.save(path.with_suffix(".offsets.npy"), np.asarray(offsets, dtype=np.int64))
    return len(offsets) - 1


class Records:
    """Rows of a JSON-lines file by number, without reading the file.

    :param path: the file's path without an ending.
    :raises SnapshotCorruptError: when the offsets do not fit the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_suffix(".jsonl")
        self._offsets: NDArray[np.int64] = np.load(path.with_suffix(".offsets.npy"), mmap_mode="r")
        size = self._path.stat().st_size
        if len(self._offsets) < 1 or int(self._offsets[-1]) != size:
            raise SnapshotCorruptError("the offsets do not fit the file", subject=str(self._path))
        self._map: mmap.mmap | None = None
        if size:
            with open(self._path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> Any:
        if not 0 <= row < len(self):
            raise IndexError(row)
        if self._map is None:
            raise IndexError(row)
        return json.loads(self._map[int(self._offsets[row]) : int(self._offsets[row + 1])])

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))
