"""Records and texts: one on each line, with a table of offsets; each is read alone from a memory-mapped file."""

from __future__ import annotations

import copy
import json
import mmap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ontology.errors import SnapshotCorruptError
from ontology.json_object import canonical_text
from retrieval.index.mapped_array import load_mapped

__all__ = ["Records", "Texts", "write_lines", "write_records", "write_texts"]

_T = TypeVar("_T")


def write_records(path: Path, rows: Iterable[Any]) -> None:
    """Write ``path.jsonl`` and its offsets ``path.offsets.npy``.

    Rows are written with sorted keys, so equal rows give equal bytes.
    """
    write_lines(path, map(canonical_text, rows))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write ``path.jsonl`` and its offsets from rows that are JSON texts on one line already."""
    _write_lines(path.with_suffix(".jsonl"), path, lines)


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write ``path.txt`` and its offsets."""
    _write_lines(path.with_suffix(".txt"), path, texts)


def _write_lines(file_path: Path, path: Path, texts: Iterable[str]) -> None:
    offsets = [0]
    with open(file_path, "wb") as file:
        for text in texts:
            line = text.encode() + b"\n"
            file.write(line)
            offsets.append(offsets[-1] + len(line))
    np.save(path.with_suffix(".offsets.npy"), np.asarray(offsets, dtype=np.int64))


class Texts:
    """Texts by number, from a memory-mapped file.

    :param path: path of the file without its extension.
    :param suffix: its extension.
    :raises SnapshotCorruptError: when the offsets do not match the size of the file.
    """

    def __init__(self, path: Path, suffix: str = ".txt") -> None:
        file_path = path.with_suffix(suffix)
        self._offsets: NDArray[np.int64] = load_mapped(path.with_suffix(".offsets.npy"))
        size = file_path.stat().st_size
        if len(self._offsets) < 1 or int(self._offsets[-1]) != size:
            raise SnapshotCorruptError("the offsets do not match the size of the file", subject=str(file_path))
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


class Records(Generic[_T]):
    """Rows of a JSON-lines file by number, decoded one at a time.

    :param path: path of the file without its extension.
    :param decode: converts the JSON value of a row to a record.
    :raises SnapshotCorruptError: when the offsets do not match the size of the file.
    """

    def __init__(self, path: Path, decode: Callable[[Any], _T]) -> None:
        self._lines = Texts(path, ".jsonl")
        self._decode = decode
        self._numbers: NDArray[np.int64] = np.arange(len(self._lines))

    def subset(self, numbers: NDArray[np.int64]) -> Records[_T]:
        """Return some of the records, renumbered in the given order.

        :param numbers: numbers of these records, int64 [rows].
        """
        view = copy.copy(self)
        view._numbers = self._numbers[numbers]
        return view

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: int) -> _T:
        return self._decode(self.json_value(row))

    def json_value(self, row: int) -> Any:
        """Return the JSON value of a row, for callers that need only a part of the record."""
        return json.loads(self.text(row))

    def text(self, row: int) -> str:
        """Return the line of a row: equal rows have equal lines."""
        return self._lines[int(self._numbers[row])]

    def __iter__(self) -> Iterator[_T]:
        return (self[row] for row in range(len(self)))
