"""Records and texts: one on each line, with a table of offsets; each is read alone from a memory-mapped file."""

from __future__ import annotations

import contextlib
import copy
import json
import mmap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ontology.errors import DocumentError, SnapshotCorruptError
from ontology.json_values import canonical_text

_T = TypeVar("_T")
_R = TypeVar("_R")
MAPPED_FROM_BYTES = 64 * 1024  # smaller files are read: those of one snapshot are 3 MB at most

# Held by whoever reads an array's header, which NumPy parses as Python. CPython before 3.11.8 and 3.12.2 now and then
# fails where two threads parse at once (its issue 106905), and a server loads the catalogues of several tenants at
# once.
READING_HEADERS = threading.RLock()


def load_mapped(path: Path) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, read-only and memory-mapped unless it is small. Pickled objects are refused
    with ``ValueError``. It is a plain array over the mapping: each slice of NumPy's ``memmap`` costs a microsecond
    more."""
    small = path.stat().st_size < MAPPED_FROM_BYTES
    with READING_HEADERS:
        array = np.asarray(np.load(path, mmap_mode=None if small else "r"))
    array.flags.writeable = False
    return array


def write_columns(folder: Path, name: str, table: Any) -> None:
    """Write the arrays among the fields of a dataclass, a file ``NAME.FIELD.npy`` each."""
    for part in fields(table):
        if isinstance(column := getattr(table, part.name), np.ndarray):
            np.save(folder / f"{name}.{part.name}.npy", column)


def read_columns(folder: Path, name: str, kind: type[_T], **others: Any) -> _T:
    """Return a dataclass of memory-mapped arrays as :func:`write_columns` wrote them; ``others`` are its fields that are none."""
    parts = (part.name for part in fields(cast("Any", kind)) if part.name not in others)
    return kind(**others, **{part: load_mapped(folder / f"{name}.{part}.npy") for part in parts})


def map_bytes(path: Path) -> mmap.mmap | bytes:
    """Return the content of a file, memory-mapped unless it is small."""
    if path.stat().st_size < MAPPED_FROM_BYTES:
        return path.read_bytes()
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


# What reading a row of another form raises: of a file that was altered together with the manifest, which guards its content.
_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, DocumentError)


def _invalid(error: Exception, subject: str) -> SnapshotCorruptError:
    deep = isinstance(error, RecursionError)
    problem = "nested too deeply" if deep else f"{type(error).__name__}: {str(error)[:100]}"
    return SnapshotCorruptError(f"a row is invalid ({problem})", subject=subject, remedy="Build again")


@contextlib.contextmanager
def refuse_invalid(subject: str) -> Iterator[None]:
    """Raise :class:`SnapshotCorruptError` where the block meets a row that has another form than is written."""
    try:
        yield
    except _FAULTS as error:
        raise _invalid(error, subject) from error


def write_records(path: Path, rows: Iterable[Any]) -> None:
    """Write ``path.jsonl`` and its offsets ``path.offsets.npy``; with sorted keys, so equal rows give equal bytes."""
    write_lines(path, map(canonical_text, rows))


def write_lines(path: Path, lines: Iterable[str], suffix: str = ".jsonl") -> None:
    """The same of rows that are JSON texts on one line already, or with the suffix ``.txt`` of texts."""
    offsets = [0]
    with open(path.with_suffix(suffix), "wb") as file:
        for text in lines:
            line = text.encode() + b"\n"
            file.write(line)
            offsets.append(offsets[-1] + len(line))
    np.save(path.with_suffix(".offsets.npy"), np.asarray(offsets, dtype=np.int64))


class Texts(Sequence[str]):
    """Texts by number, from the memory-mapped file ``path`` with this suffix.

    :raises SnapshotCorruptError: when the offsets do not match the size of the file.
    """

    def __init__(self, path: Path, suffix: str = ".txt") -> None:
        self.path = file_path = path.with_suffix(suffix)
        self._offsets: NDArray[np.int64] = load_mapped(path.with_suffix(".offsets.npy"))
        size = file_path.stat().st_size
        if len(self._offsets) < 1 or int(self._offsets[-1]) != size:
            raise SnapshotCorruptError("the offsets do not match the size of the file", subject=str(file_path))
        self._map = map_bytes(file_path)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> str:  # type: ignore[override]  # no slices
        if not 0 <= number < len(self):
            raise _invalid(IndexError(f"there is no row {number}"), str(self.path))
        try:
            return self._map[int(self._offsets[number]) : int(self._offsets[number + 1]) - 1].decode()
        except UnicodeDecodeError as error:
            raise _invalid(error, str(self.path)) from error

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))


class Records(Generic[_T]):
    """Rows of the JSON-lines file ``path.jsonl`` by number, decoded one at a time.

    :raises SnapshotCorruptError: when the offsets do not match the size of the file.
    """

    def __init__(self, path: Path, decode: Callable[[Any], _T]) -> None:
        self._lines = Texts(path, ".jsonl")
        self._decode = decode

    def changed(self, change: Callable[[_T], _T]) -> Records[_T]:
        """Return the records with a change to each, made when it is read."""
        view, decode = copy.copy(self), self._decode
        view._decode = lambda row: change(decode(row))
        return view

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, row: int) -> _T:
        return self.read(row, self._decode)

    def read(self, row: int, decode: Callable[[Any], _R]) -> _R:
        """Return what ``decode`` makes of the JSON value of a row, for callers that need only a part of the record.

        :raises SnapshotCorruptError: when the row is no JSON, has another form, or is not there.
        """
        with refuse_invalid(str(self._lines.path)):
            return decode(json.loads(self.text(row)))

    def text(self, row: int) -> str:
        """Return the line of a row: equal rows have equal lines."""
        return self._lines[row]

    def __iter__(self) -> Iterator[_T]:
        return (self[row] for row in range(len(self)))
