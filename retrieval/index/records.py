"""Records and texts: one a line with an offset table, read one at a time from a memory map."""

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
from retrieval.index.mapped_array import mapped

__all__ = ["Records", "Texts", "write_records", "write_texts"]

_T = TypeVar("_T")


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


class Records(Generic[_T]):
    """Rows of a JSON-lines file by number, decoded one at a time.

    :param path: the file's path without an ending.
    :param decode: makes a record of a row's JSON value.
    :raises SnapshotCorruptError: when the offsets do not fit the file.
    """

    def __init__(self, path: Path, decode: Callable[[Any], _T]) -> None:
        self._lines = Texts(path, ".jsonl")
        self._decode = decode
        self._numbers: NDArray[np.int64] = np.arange(len(self._lines))

    def only(self, numbers: NDArray[np.int64]) -> Records[_T]:
        """Some of the records, numbered anew in the order given.

        :param numbers: of these records, [rows].
        """
        some = copy.copy(self)
        some._numbers = self._numbers[numbers]
        return some

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: int) -> _T:
        return self._decode(self.json_value(row))

    def json_value(self, row: int) -> Any:
        """The JSON value of a row, for callers that need a part of it and not the record."""
        return json.loads(self._lines[int(self._numbers[row])])

    def __iter__(self) -> Iterator[_T]:
        return (self[row] for row in range(len(self)))
