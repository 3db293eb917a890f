"""The lines of a journal: how a record is written, and how a file is read record by record, with the memory of one line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, overload

from pydantic import BaseModel, ConfigDict, ValidationError

from ontology.errors import InvalidArgumentError

__all__ = ["DAMAGED", "JournalLines", "Placed", "RunRecord", "journal_line", "scan_journal"]

_FIRST = b'{"n":0,"kind":"'
_SUM = ',"sum":"'
_SUM_CHARS = 16
DAMAGED = "Give another file; what was written before the damage is still readable by eye"
"""What to do about a damaged journal."""


class RunRecord(BaseModel):
    """One line.

    :param n: its number, from 0.
    :param kind: what happened: ``run_begun``, ``found``, ``call_begun``, ``call_ended``, ``call_failed``, ``prompt``,
        ``model_ended``, ``model_failed``, ``sandbox_ended``, ``sandbox_failed``, ``graph_ended``, ``graph_failed``,
        ``find_failed``, ``step_ended``, ``event`` (of the planner, under ``what``),
        ``run_stopped``, ``run_ended``.
    :param at: when, UTC, ISO 8601.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int
    kind: str
    at: str
    data: Mapping[str, Any]


class Placed(NamedTuple):
    """A record and where it stands: the bytes before it, and those up to its end."""

    start: int
    end: int
    record: RunRecord


class JournalLines(Sequence[RunRecord]):
    """The records of a file, read from it each time: nothing of them is kept in memory.

    :param length: how many there are; whoever appends one counts it.
    """

    def __init__(self, path: Path, length: int) -> None:
        self._path = path
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[RunRecord]:
        return (placed.record for placed in self.placed())

    @overload
    def __getitem__(self, index: int) -> RunRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RunRecord]: ...
    def __getitem__(self, index: int | slice) -> RunRecord | Sequence[RunRecord]:
        """Return records by number; the file is read up to them."""
        wanted = range(self.length)[index]
        if isinstance(wanted, int):
            return next(record for record in self if record.n == wanted)
        found = {record.n: record for record in self if record.n in wanted}
        return [found[n] for n in wanted]

    def placed(self) -> Iterator[Placed]:
        """Yield each record with its place."""
        with self._path.open("rb") as file:
            yield from scan_journal(file, self._path)

    def at(self, start: int) -> RunRecord:
        """Return the record at a place."""
        with self._path.open("rb") as file:
            file.seek(start)
            return RunRecord.model_validate(_unsealed(file.readline().rstrip(b"\n"))[0])


def journal_line(record: RunRecord) -> bytes:
    """Return the line of a record, with its checksum and line feed. It is ASCII: any text of a tool can be written."""
    text = json.dumps(record.model_dump(), separators=(",", ":"))[:-1]
    return f'{text}{_SUM}{_checksum(text)}"}}\n'.encode("ascii")


def scan_journal(file: BinaryIO, path: Path) -> Iterator[Placed]:
    """Yield the records of an open journal. What a killed process left half-written at the end is left out.

    :param path: for errors.
    :raises InvalidArgumentError: when it is no journal, or is damaged before its end.
    """
    start = n = 0
    for line in file:
        if not line.endswith(b"\n"):
            if n == 0 and not _FIRST.startswith(line[: len(_FIRST)]):
                raise InvalidArgumentError("this is no journal of a run", subject=str(path), remedy="Give another file")
            return
        record = _record(line[:-1], n)
        if record is None:
            if n and not file.read(1):
                return  # the last line: written in parts of which not all reached the disk
            problem = "this is no line of a journal, or it is damaged"
            raise InvalidArgumentError(problem, subject=f"{path}:{n + 1}", remedy=DAMAGED)
        yield Placed(start, start + len(line), record)
        start, n = start + len(line), n + 1


def _record(line: bytes, n: int) -> RunRecord | None:
    try:
        value, sound = _unsealed(line)
        record = RunRecord.model_validate(value)
    except (ValueError, ValidationError, RecursionError):
        return None
    return record if sound and record.n == n else None


def _unsealed(line: bytes) -> tuple[Any, bool]:
    """Return the JSON value of a line, and whether its checksum is right."""
    text, _, given = line.decode("ascii").rpartition(_SUM)
    return json.loads(text + "}"), given == f'{_checksum(text)}"}}'


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_SUM_CHARS]
