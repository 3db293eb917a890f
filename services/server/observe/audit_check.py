"""Verify an audit log: every line is as it was written, none is missing, and none was put in or moved."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import NotFoundError
from ontology.files import disk_errors, lock_within
from services.server.observe.audit_log import (
    GENESIS,
    LOCK_REMEDY,
    LOCK_S,
    ChainEnd,
    canonical,
    head_of,
    read_head,
    segments_of,
)

__all__ = ["AuditFault", "AuditVerdict", "verify_audit_log"]

_MOST_FAULTS = 100
_MAX_LINE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class AuditFault:
    """Where a log is not as it was written.

    :param place: ``file:line``.
    :param problem: one sentence without a full stop.
    """

    place: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict:
    """The result of a verification.

    :param files: number of files.
    :param entries: number of lines.
    :param end: the last line.
    :param faults: the first 100; empty for a log that is whole.
    """

    files: int
    entries: int
    end: ChainEnd
    faults: tuple[AuditFault, ...]


def verify_audit_log(path: Path, *, known: ChainEnd | None = None, first: int = 1) -> AuditVerdict:
    """Verify the chain of a log over all its files, up to the line that was the last when this began.

    Whoever can write the log *and* the file ``….head`` can cut the end of both without a trace here. A line that was noted
    elsewhere shows it: the server logs the number and the hash of each entry.

    :param known: number and hash of such a line.
    :param first: number of the first line that must be here; larger than 1 where older files were moved away.
    :raises NotFoundError: when there is no such log.
    :raises StorageError: when a file cannot be read.
    """
    with disk_errors(path, remedy="Run it as a user who may read the log and the folder it is in", done="read"):
        if not path.parent.is_dir() or not any(found.exists() for found in (*segments_of(path), head_of(path))):
            raise NotFoundError(
                "there is no audit log", subject=str(path), remedy="Name the file of the setting audit_log"
            )
        head, files = _standing(path)
        return _Chain(head, known, first).verified(files)


def _standing(path: Path) -> tuple[ChainEnd | None, list[tuple[Path, int]]]:
    """The last line that the head file says, and the files with their sizes in bytes, between two writes."""
    try:
        lock = os.open(head_of(path), os.O_RDONLY)
    except FileNotFoundError:
        return None, [(file, file.stat().st_size) for file in segments_of(path) if file.exists()]
    try:
        lock_within(lock, LOCK_S, head_of(path), shared=True, remedy=LOCK_REMEDY)
        return read_head(lock), [(file, file.stat().st_size) for file in segments_of(path) if file.exists()]
    finally:
        os.close(lock)


class _Chain:
    """The chain so far.

    :param head: what the head file says; None where it is gone.
    """

    def __init__(self, head: ChainEnd | None, known: ChainEnd | None, first: int) -> None:
        self.head = head
        self.noted = {end.number: end.digest for end in (head, known) if end is not None and end.number}
        self.end = GENESIS if first == 1 else ChainEnd(first - 1, "")
        self.entries = 0
        self.faults: list[AuditFault] = []

    def verified(self, files: list[tuple[Path, int]]) -> AuditVerdict:
        place = ""
        for file, size in files:
            for number, raw in enumerate(_lines(file, size), start=1):
                place = f"{file}:{number}"
                self._line(place, raw)
        last = max(self.noted, default=0)
        if last > self.end.number:
            self._fault(place, f"the lines {self.end.number + 1:,} to {last:,} are missing at the end")
        if self.head is None:
            self._fault(place, "the file .head is missing, so that a cut at the end cannot be seen")
        return AuditVerdict(files=len(files), entries=self.entries, end=self.end, faults=tuple(self.faults))

    def _line(self, place: str, raw: bytes) -> None:
        self.entries += 1
        entry = _entry(raw)
        if entry is None:
            self._fault(place, "this is no entry of an audit log")
            return
        number, digest = entry["n"], entry.pop("hash")
        same = canonical({**entry, "hash": digest}) + b"\n" == raw
        if not same or hashlib.sha256(canonical(entry)).hexdigest() != digest:
            self._fault(place, f"entry {number:,} was altered")
        if number != self.end.number + 1:
            self._fault(place, f"entry {number:,} follows entry {self.end.number:,}")
        elif self.end.digest and entry["previous"] != self.end.digest:
            self._fault(place, f"entry {number:,} does not continue the entry before it")
        if self.noted.get(number, digest) != digest:
            self._fault(place, f"entry {number:,} is another one than was noted")
        self.end = ChainEnd(number, digest)

    def _fault(self, place: str, problem: str) -> None:
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(AuditFault(place, problem))


def _lines(file: Path, size: int) -> Iterator[bytes]:
    """The lines in the first ``size`` bytes of a file; one without an end, or of more than 1 MiB, comes as it is."""
    with open(file, "rb") as opened:
        while size > 0 and (line := opened.readline(min(size, _MAX_LINE_BYTES))):
            size -= len(line)
            yield line


def _entry(raw: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or type(entry.get("n")) is not int:
        return None
    return entry if all(isinstance(entry.get(name), str) for name in ("hash", "previous")) else None
