"""The journal of a run: JSON Lines that are only ever appended, and a folder of payloads named by their SHA-256.

Each line ends with a checksum of the rest. A line that a killed process left half-written, at the end, is cut off when the journal is
opened again; a damaged line elsewhere is an error, because what follows it would be believed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import disk_errors, flush_to_disk, write_file
from ontology.json_object import canonical_text
from planners.journal.journal_lines import DAMAGED, JournalLines, RunRecord, journal_line, scan_journal

__all__ = [
    "Kept",
    "RunJournal",
    "RunRecord",
    "Sync",
    "as_kept",
    "open_run_journal",
    "read_run_journal",
    "seconds_since",
]

Sync: TypeAlias = Literal["record", "batch"]
"""When records reach the disk: each before the run goes on, or every hundred and at the end (the system's crash loses the last)."""
Kept: TypeAlias = Literal["memory", "file"]
"""Where the records are while the journal is open: all in memory, or read from the file when they are asked for."""
_BATCH = 100
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PAYLOADS = ("arguments", "body", "tools", "answer", "prompt", "completion", "state", "result")
"""The fields of records that name one."""


class RunJournal:
    """Records of earlier processes of a run, and of this one. Made by :func:`open_run_journal` or :func:`read_run_journal`. Several
    threads may append to it.

    :ivar records: all records so far, in order.
    """

    def __init__(
        self, path: Path, records: list[RunRecord] | JournalLines, file: int | None, sync: Sync = "record"
    ) -> None:
        self.records: Sequence[RunRecord] = records
        self._path = path
        self._payloads = path.with_name(f"{path.name}.payloads")
        self._file = file
        self._sync = sync
        self._unsynced = 0
        self._closed = False
        self._broken: StorageError | None = None
        self._appending = Lock()
        self._keeping = Lock()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def end(self) -> Mapping[str, Any] | None:
        """What the record of the run's end says; None where the run has not ended."""
        return next((record.data for record in self.records if record.kind == "run_ended"), None)

    def append(self, kind: str, **data: Any) -> RunRecord:
        """Append a record.

        :param data: JSON values.
        :raises StorageError: when it cannot be written; the journal then takes no more, and says the same again.
        """
        with self._appending:
            return self._append(kind, data)

    def _append(self, kind: str, data: dict[str, Any]) -> RunRecord:
        if self._broken is not None:
            raise _again(self._broken)
        if self._file is None:
            raise StorageError("the journal is not open for writing", subject=str(self._path))
        record = RunRecord(n=len(self.records), kind=kind, at=datetime.now(UTC).isoformat(), data=data)
        rest = memoryview(journal_line(record))
        try:
            with disk_errors(self._path):
                while rest:  # on a nearly full disk a write may be partial
                    rest = rest[os.write(self._file, rest) :]
                self._unsynced += 1
                if self._sync == "record" or self._unsynced >= _BATCH:
                    self._flush()
        except StorageError as error:
            self._file, self._broken = None, error  # a record after half a line could not be read
            raise
        if isinstance(self.records, JournalLines):
            self.records.length += 1
        elif isinstance(self.records, list):
            self.records.append(record)
        return record

    def flush(self) -> None:
        """Wait until all records are on the disk."""
        with self._appending:
            self._flush()

    def _flush(self) -> None:
        if self._file is not None and self._unsynced:
            os.fsync(self._file)
            self._unsynced = 0

    def close(self) -> None:
        """Take no more records and payloads, also of threads that a run left behind; the file is its opener's to close."""
        with self._appending, self._keeping:
            self._file, self._closed = None, True

    def placed(self) -> Iterator[tuple[int, RunRecord]]:
        """Yield each record with its place, for :meth:`at`."""
        if isinstance(self.records, JournalLines):
            yield from ((placed.start, placed.record) for placed in self.records.placed())
        else:
            yield from enumerate(self.records)

    def at(self, place: int) -> RunRecord:
        """Return the record at a place."""
        return self.records.at(place) if isinstance(self.records, JournalLines) else self.records[place]

    def keep(self, payload: Any) -> str:
        """Keep a JSON value and return its SHA-256; equal values are kept once.

        :raises StorageError: when it cannot be written, or the journal was closed.
        """
        content = canonical_text(payload).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(content).hexdigest()
        path = self._payloads / digest
        with self._keeping:
            if self._closed:
                raise StorageError("the journal is not open for writing", subject=str(self._path))
            if not path.exists():
                with disk_errors(self._payloads):
                    self._payloads.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds what mails say
                write_file(path, content)
                if self._sync == "record":
                    with disk_errors(self._payloads):
                        flush_to_disk(self._payloads)
        return digest

    def check_payloads(self) -> None:
        """Read each payload that a record names: a run that met a damaged one in its middle would take it for a tool that failed.

        :raises InvalidArgumentError: when one is gone, or another one.
        """
        names = (each.data[name] for each in self.records for name in _PAYLOADS if name in each.data)
        for digest in names if isinstance(self.records, JournalLines) else set(names):
            self.payload(digest)

    def payload(self, digest: str) -> Any:
        """Return a value that was kept.

        :param digest: as :meth:`keep` returns it; a journal of somebody else may say anything.
        :raises InvalidArgumentError: when it is gone, another one, or no JSON.
        """
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            raise InvalidArgumentError("the journal names no payload there", subject=str(self._path), remedy=DAMAGED)
        path = self._payloads / digest
        try:
            if not path.is_file():  # reading a pipe would wait for ever
                raise FileNotFoundError
            content = path.read_bytes()
        except OSError:
            raise InvalidArgumentError("a payload of the journal is gone", subject=str(path), remedy=DAMAGED) from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise InvalidArgumentError("a payload of the journal was altered", subject=str(path), remedy=DAMAGED)
        try:
            return json.loads(content.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            raise InvalidArgumentError(
                "a payload of the journal is no JSON", subject=str(path), remedy=DAMAGED
            ) from None


def _again(error: StorageError) -> StorageError:
    """Return the same error anew: one that is raised twice grows a traceback of both."""
    return StorageError(error.problem, subject=error.subject, remedy=error.remedy)


def as_kept(payload: Any) -> Any:
    """Return a JSON value as it is read from a journal that keeps it: lists for tuples, keys in order."""
    return json.loads(canonical_text(payload))


def seconds_since(started: float) -> float:
    """Return the seconds since a moment of ``time.perf_counter``, as records have them."""
    return round(time.perf_counter() - started, 6)


@contextlib.contextmanager
def open_run_journal(path: Path, *, sync: Sync = "record", kept: Kept = "memory") -> Iterator[RunJournal]:
    """Open a journal to append to it; one that is not there is begun. One process at a time writes it.

    :param kept: ``file`` for runs of many steps: the memory of the journal does not grow with its records.
    :raises InvalidArgumentError: when it is no journal, or damaged before its end.
    :raises StorageError: when it cannot be written, or another process writes it.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _lock(file, path)
        records, good = _records(path, kept)
        with disk_errors(path):
            if good < os.fstat(file).st_size:
                os.ftruncate(file, good)
            os.fsync(file)
            flush_to_disk(path.parent)
        journal = RunJournal(path, records, file, sync)
        try:
            yield journal
        finally:
            with disk_errors(path):
                journal.flush()
            journal.close()
    finally:
        os.close(file)


def read_run_journal(path: Path, *, kept: Kept = "memory") -> RunJournal:
    """Read a journal, without a half-written last line; nothing can be appended.

    :raises InvalidArgumentError: when there is none, or it is damaged before its end.
    """
    return RunJournal(path, _records(path, kept)[0], None)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StorageError(
            "another process writes this journal", subject=str(path), remedy="Wait until it has ended"
        ) from error


def _records(path: Path, kept: Kept) -> tuple[list[RunRecord] | JournalLines, int]:
    """Return the records, and the number of bytes up to the end of the last whole one."""
    records: list[RunRecord] = []
    count = good = 0
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            raise OSError(errno.ENOENT, "there is no such file")
        with path.open("rb") as file:
            for placed in scan_journal(file, path):
                count, good = count + 1, placed.end
                if kept == "memory":
                    records.append(placed.record)
    except OSError as error:
        problem = f"the journal cannot be read: {error.strerror}"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name the journal of a run") from error
    return (records if kept == "memory" else JournalLines(path, count)), good
