"""Rows on the disk: the accepted requests and the rejections of a run, of which memory holds the positions only."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, overload

from datagen.run.scratch_file import ScratchFile
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from ontology.files import row_line

__all__ = ["StoredRows", "stored_rejections", "stored_requests"]

Row = TypeVar("Row")


class StoredRows(Sequence[Row]):
    """A sequence that reads each row from the disk when it is asked for: 16 bytes of memory a row.

    The rows are ordered by group, then as they were appended.

    :param to_json: returns the JSON form of a row; ``from_json`` is its inverse.
    :param groups: in their order.
    :param folder: the folder of the scratch file; see :class:`~datagen.run.scratch_file.ScratchFile`.
    """

    def __init__(
        self,
        to_json: Callable[[Row], Mapping[str, Any]],
        from_json: Callable[[Mapping[str, Any]], Row],
        *,
        groups: Sequence[str] = ("",),
        folder: Path | None = None,
    ) -> None:
        self._to_json = to_json
        self._from_json = from_json
        self._file = ScratchFile(folder)
        self._starts = {group: array("Q") for group in groups}
        self._lengths = {group: array("Q") for group in groups}

    def append(self, row: Row, group: str = "") -> None:
        """Write a row, as the last of its group.

        :raises StorageError: when it cannot be written.
        """
        line = row_line(self._to_json(row))
        self._starts[group].append(self._file.append(line))
        self._lengths[group].append(len(line))

    def lines(self) -> Iterator[bytes]:
        """The rows as lines of JSON, as :func:`ontology.files.write_rows` writes them."""
        for group, starts in self._starts.items():
            for start, length in zip(starts, self._lengths[group], strict=True):
                yield self._file.read(start, length)

    def __len__(self) -> int:
        return sum(map(len, self._starts.values()))

    def __iter__(self) -> Iterator[Row]:
        return (self._from_json(json.loads(line)) for line in self.lines())

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        places = range(len(self))[index]
        return self._at(places) if isinstance(places, int) else [self._at(place) for place in places]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # more rows may follow

    def _at(self, place: int) -> Row:
        ends = accumulate(map(len, self._starts.values()))
        for group, end in zip(self._starts, ends, strict=True):
            if place < end:
                at = place - end  # from the end of the group
                line = self._file.read(self._starts[group][at], self._lengths[group][at])
                return self._from_json(json.loads(line))
        raise IndexError(place)


def stored_requests(classes: Sequence[str], folder: Path | None = None) -> StoredRows[SyntheticRequest]:
    """Return an empty sequence of requests, in the order of their classes."""
    return StoredRows(SyntheticRequest.to_json, SyntheticRequest.from_json, groups=classes, folder=folder)


def stored_rejections(folder: Path | None = None) -> StoredRows[RejectedRequest]:
    """Return an empty sequence of rejections."""
    return StoredRows(asdict, _rejection, folder=folder)


def _rejection(row: Mapping[str, Any]) -> RejectedRequest:
    return RejectedRequest(**{**row, "subject": tuple(row["subject"])})
