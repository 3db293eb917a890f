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
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import disk_errors, flush_to_disk, write_file
from ontology.json_object import canonical_text

__all__ = ["RunJournal", "RunRecord", "Sync", "open_run_journal", "read_run_journal"]

Sync: TypeAlias = Literal["record", "batch"]
"""When records reach the disk: each before the run goes on, or every hundred and at the end (the system's crash loses the last)."""
_BATCH = 100
_PAYLOADS = ("arguments", "body", "tools", "answer")  # the fields of records that name one
_FIRST = b'{"n":0,"kind":"'
_SUM = ',"sum":"'
_SUM_CHARS = 16
_REMEDY = "Give another file; what was written before the damage is still readable by eye"


class RunRecord(BaseModel):
    """One line.

    :param n: its number, from 0.
    :param kind: what happened: ``run_begun``, ``found``, ``call_begun``, ``call_ended``, ``call_failed``, ``prompt``, ``event`` (of the planner, under
        ``what``), ``run_ended``.
    :param at: when, UTC, ISO 8601.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int
    kind: str
    at: str
    data: Mapping[str, Any]


class RunJournal:
    """Records of earlier processes of a run, and of this one. Made by :func:`open_run_journal` or :func:`read_run_journal`.

    :ivar records: all records so far, in order.
    """

    def __init__(self, path: Path, records: list[RunRecord], file: int | None, sync: Sync = "record") -> None:
        self.records = records
        self._path = path
        self._payloads = path.with_name(f"{path.name}.payloads")
        self._file = file
        self._sync = sync
        self._unsynced = 0

    def append(self, kind: str, **data: Any) -> RunRecord:
        """Append a record.

        :param data: JSON values.
        :raises StorageError: when it cannot be written; the journal then takes no more.
        """
        if self._file is None:
            raise StorageError("the journal is not open for writing", subject=str(self._path))
        record = RunRecord(n=len(self.records), kind=kind, at=datetime.now(UTC).isoformat(), data=data)
        rest = memoryview(_line(record))
        try:
            with disk_errors(self._path):
                while rest:  # on a nearly full disk a write may be partial
                    rest = rest[os.write(self._file, rest) :]
                self._unsynced += 1
                if self._sync == "record" or self._unsynced >= _BATCH:
                    self.flush()
        except StorageError:
            self._file = None  # a record after half a line could not be read
            raise
        self.records.append(record)
        return record

    def flush(self) -> None:
        """Wait until all records are on the disk."""
        if self._file is not None and self._unsynced:
            os.fsync(self._file)
            self._unsynced = 0

    def close(self) -> None:
        """Take no more records; the file is its opener's to close."""
        self._file = None

    def keep(self, payload: Any) -> str:
        """Keep a JSON value and return its SHA-256; equal values are kept once.

        :raises StorageError: when it cannot be written.
        """
        content = canonical_text(payload).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(content).hexdigest()
        path = self._payloads / digest
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
        for digest in {each.data[name] for each in self.records for name in _PAYLOADS if name in each.data}:
            self.payload(digest)

    def payload(self, digest: str) -> Any:
        """Return a value that was kept.

        :raises InvalidArgumentError: when it is gone, or another one.
        """
        path = self._payloads / digest
        try:
            if not path.is_file():  # reading a pipe would wait for ever
                raise FileNotFoundError
            content = path.read_bytes()
        except OSError:
            raise InvalidArgumentError("a payload of the journal is gone", subject=str(path), remedy=_REMEDY) from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise InvalidArgumentError("a payload of the journal was altered", subject=str(path), remedy=_REMEDY)
        return json.loads(content.decode("utf-8", "surrogatepass"))


@contextlib.contextmanager
def open_run_journal(path: Path, *, sync: Sync = "record") -> Iterator[RunJournal]:
    """Open a journal to append to it; one that is not there is begun. One process at a time writes it.

    :raises InvalidArgumentError: when it is no journal, or damaged before its end.
    :raises StorageError: when it cannot be written, or another process writes it.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _lock(file, path)
        content = _content(path)
        records, good = _records(content, path)
        with disk_errors(path):
            if good < len(content):
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


def read_run_journal(path: Path) -> RunJournal:
    """Read a journal, without a half-written last line; nothing can be appended.

    :raises InvalidArgumentError: when there is none, or it is damaged before its end.
    """
    return RunJournal(path, _records(_content(path), path)[0], None)


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            raise OSError(errno.ENOENT, "there is no such file")
        return path.read_bytes()
    except OSError as error:
        problem = f"the journal cannot be read: {error.strerror}"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name the journal of a run") from error


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StorageError(
            "another process writes this journal", subject=str(path), remedy="Wait until it has ended"
        ) from error


def _records(content: bytes, path: Path) -> tuple[list[RunRecord], int]:
    """Return the records, and the number of bytes up to the end of the last whole one."""
    records: list[RunRecord] = []
    good = 0
    lines = content.split(b"\n")
    for line in lines[:-1]:  # after the last line feed nothing stands, or half a line
        record = _record(line, len(records))
        if record is None:
            if good + len(line) + 1 == len(content) and records:
                break  # the last line: written in parts of which not all reached the disk
            problem = "this is no line of a journal, or it is damaged"
            raise InvalidArgumentError(problem, subject=f"{path}:{len(records) + 1}", remedy=_REMEDY)
        records.append(record)
        good += len(line) + 1
    if not records and not _FIRST.startswith(content[: len(_FIRST)]):
        raise InvalidArgumentError("this is no journal of a run", subject=str(path), remedy="Give another file")
    return records, good


def _record(line: bytes, n: int) -> RunRecord | None:
    try:
        text, _, given = line.decode("ascii").rpartition(_SUM)
        record = RunRecord.model_validate(json.loads(text + "}"))
    except (ValueError, ValidationError, RecursionError):
        return None
    return record if given == f'{_checksum(text)}"}}' and record.n == n else None


def _line(record: RunRecord) -> bytes:
    text = json.dumps(record.model_dump(), separators=(",", ":"))[:-1]  # in ASCII any text of a tool can be written
    return f'{text}{_SUM}{_checksum(text)}"}}\n'.encode("ascii")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_SUM_CHARS]
