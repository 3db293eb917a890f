"""Records and texts: one a line with an offset table, read one at a time from a memory map."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.errors import SnapshotCorruptError
from retrieval.index.mapped_array import mapped

__all__ = ["Picked", "Records", "Texts", "write_records", "write_texts"]


def write_records(path: Path, rows: Iterable[Any]) -> int:
    """Write ``path.jsonl`` and its offsets ``path.offsets.npy``; returns the number of rows.

    Rows are written with sorted keys, so equal rows give equal bytes.
    """
    texts = (json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return _write_lines(path.with_suffix(".jsonl"), path, texts)


def write_texts(path: Path, texts: Iterable[str]) -> int:
    """Write ``path.txt`` and its offsets; returns the number of texts."""
    return _write_lines(path.with_suffix(".txt"), path, texts)


def _write_lines(file_path: Path, path: Path, texts: Iterable[str]) -> int:
    offsets = [0]
    with open(file_path, "wb") as file:
        for text in texts:
            line = text.encode() + b"\n"
            file.write(line)
            offsets.append(offsets[-1] + len(line))
    np.save(path.with_suffix(".offsets.npy"), np.asarray(offsets, dtype=np.int64))
    return len(offsets) - 1


class Texts:
    """Texts by number, without reading the file.

    :param path: the file's path without an ending.
    :param suffix: its ending.
    :raises SnapshotCorruptError: when the offsets do not fit the file.
    """

    def __init__(self, path: Path, suffix: str = ".txt") -> None:
        file_path = path.with_suffix(suffix)
        self._offsets: NDArray[np.int64] = mapped(path.with_suffix(".offsets.npy"))
        size = file_path.stat().st_size
        if len(self._offsets) < 1 or int(self._offsets[-1]) != size:
            raise SnapshotCorruptError("the offsets do not fit the file", subject=str(file_path))
        self._map: mmap.mmap | bytes = b""
        if size:
            with open(file_path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._map[int(self._offsets[number]) : int(self._offsets[number + 1]) - 1].decode()

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))


class Records:
    """Rows of a JSON-lines file by number, without reading the file.

    :param path: the file's path without an ending.
    :raises SnapshotCorruptError: when the offsets do not fit the file.
    """

    def __init__(self, path: Path) -> None:
        self._lines = Texts(path, ".jsonl")

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, row: int) -> Any:
        return json.loads(self._lines[row])

    def __iter__(self) -> Iterator[Any]:
        return map(json.loads, self._lines)


class Picked:
    """Some of the records, numbered anew in the order given.

    :param numbers: of the records, [picked].
    """

    def __init__(self, records: Records | Picked, numbers: NDArray[np.int64]) -> None:
        self._records = records
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: int) -> Any:
        return self._records[int(self._numbers[row])]

    def __iter__(self) -> Iterator[Any]:
        return (self._records[number] for number in self._numbers.tolist())
