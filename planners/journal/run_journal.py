"""The journal of a run: JSON Lines that are only ever appended, one record a line, and the account of what the records say.

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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import disk_errors, flush_to_disk

# What to do about a damaged journal
DAMAGED = "Give another file; what was written before the damage is still readable by eye"
_BATCH = 100  # records, after which they are forced to the disk
_FIRST = b'{"v":2,"n":0,"kind":"'
_SUM, _SUM_CHARS = ',"sum":"', 16
_STEP = ("begun", "ended", "failed")
_Place: TypeAlias = tuple[str, str, int]


class RunRecord(BaseModel):
    """One line, of format ``v``; ``n`` is its number from 0, ``at`` the time in UTC.

    :param kind: ``run_begun``, ``run_stopped``, ``run_ended``; or a kind of step (``call``, ``find``,
        ``graph``, ``model``, ``sandbox``, ``step``) with ``_begun``, ``_ended`` or ``_failed``.
    :param data: JSON values. Of a step ``key`` and ``nth`` among equal ones; what it ``gave``, or its ``problem``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    v: Literal[2] = 2
    n: int
    kind: str
    at: str
    data: Mapping[str, Any]

    @property
    def place(self) -> _Place:
        """Kind of the step, its key, and its number among equal ones."""
        return self.kind.rpartition("_")[0], self.data.get("key", ""), self.data.get("nth", 0)


class RunJournal:
    """The records of a run, of earlier processes and of this one. Made by :func:`open_run_journal` or :func:`read_run_journal`. Several
    threads may append to it.

    :ivar records: all so far, in order.
    :ivar size: bytes of whole records when it was opened.
    """

    def __init__(self, path: Path, file: int | None = None) -> None:
        self.path = path
        self.records: list[RunRecord] = []
        self.size = 0
        self._file = file
        self._unsynced = 0
        self._broken: StorageError | None = None
        self._appending = Lock()
        self._earlier: dict[_Place, RunRecord] = {}  # the last record of each step
        silent: list[_Place] = []  # a run that a silent model stopped asks again for what failed since its last answer
        for record, end in _scan(path):
            self.size = end
            self.records.append(record)
            kind, _, how = record.kind.rpartition("_")
            if kind == "run":
                for place in silent if record.data.get("outcome") == "model" else ():
                    self._earlier.pop(place, None)
            elif how in _STEP:
                self._earlier[record.place] = record
                if kind == "model":
                    silent = [*silent, record.place] if how == "failed" else []

    @property
    def first(self) -> RunRecord | None:
        """The record of the run's beginning; None of an empty journal."""
        return self.records[0] if self.records else None

    @property
    def end(self) -> Mapping[str, Any] | None:
        """What the record of the run's end says; None where the run has not ended."""
        return next((each.data for each in reversed(self.records) if each.kind == "run_ended"), None)

    def last(self, kind: str, key: str, nth: int) -> RunRecord | None:
        """Return what an earlier process wrote last about a step; not what failed of a model that was silent."""
        return self._earlier.get((kind, key, nth))

    def append(self, kind: str, **data: Any) -> RunRecord:
        """Append a record of JSON values. A crash of the system may lose the last hundred that were not flushed.

        :raises StorageError: when it cannot be written; the journal then takes no more, and says the same again.
        """
        with self._appending:
            if self._broken is not None:  # anew: an error that is raised twice grows a traceback of both
                raise StorageError(self._broken.problem, subject=self._broken.subject, remedy=self._broken.remedy)
            if self._file is None:
                raise StorageError("the journal is not open for writing", subject=str(self.path))
            record = RunRecord(n=len(self.records), kind=kind, at=datetime.now(UTC).isoformat(), data=data)
            text = json.dumps(record.model_dump(), separators=(",", ":"))[:-1]  # ASCII: any text can be written
            rest = memoryview(f'{text}{_SUM}{_checksum(text)}"}}\n'.encode("ascii"))
            try:
                with disk_errors(self.path):
                    while rest:  # on a nearly full disk a write may be partial
                        rest = rest[os.write(self._file, rest) :]
                    self._unsynced += 1
                    if self._unsynced >= _BATCH:
                        self._flush()
            except StorageError as error:
                self._file, self._broken = None, error  # a record after half a line could not be read
                raise
            self.records.append(record)
            return record

    def flush(self) -> None:
        """Wait until all records are on the disk."""
        with self._appending, disk_errors(self.path):
            self._flush()

    def close(self) -> None:
        """Take no more records, also of threads that a run left behind; the file is its opener's to close."""
        with self._appending:
            self._file = None

    def _flush(self) -> None:
        if self._file is not None and self._unsynced:
            os.fsync(self._file)
            self._unsynced = 0


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_SUM_CHARS]


def _scan(path: Path) -> Iterator[tuple[RunRecord, int]]:
    """Yield the records of a journal, with the place behind each. What a killed process left half-written is left out;
    another format, or damage before the end, raises InvalidArgumentError."""
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            raise OSError(errno.ENOENT, "there is no such file")
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        problem = f"the journal cannot be read: {error.strerror}"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name the journal of a run") from error
    end = 0
    for n, line in enumerate(lines):
        is_first, is_whole = n == 0, line.endswith(b"\n")
        if record := _record(line[:-1], n) if is_whole else None:
            end += len(line)
            yield record, end
            continue
        # The last line may be one of which not all reached the disk; any other is refused.
        if is_first and not is_whole and not _FIRST.startswith(line[: len(_FIRST)]):
            raise InvalidArgumentError("this is no journal of a run", subject=str(path), remedy="Give another file")
        if n + 1 < len(lines) or (is_first and is_whole):
            problem = "this is no line of a journal, or it is damaged"
            raise InvalidArgumentError(problem, subject=f"{path}:{n + 1}", remedy=DAMAGED)
        return


def _record(line: bytes, n: int) -> RunRecord | None:
    """Return the record of a line, or None where it is not whole."""
    try:
        text, _, given = line.decode("ascii").rpartition(_SUM)
        record = RunRecord.model_validate(json.loads(text + "}"))
    except (ValueError, RecursionError):
        return None
    return record if given == f'{_checksum(text)}"}}' and record.n == n else None


@contextlib.contextmanager
def open_run_journal(path: Path) -> Iterator[RunJournal]:
    """Open a journal to append to it; one that is not there is begun. One process at a time writes it.

    :raises InvalidArgumentError: when it is no journal, or of another format, or damaged before its end.
    :raises StorageError: when it cannot be written, or another process writes it.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)  # it holds what mails say
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            problem = "another process writes this journal"
            raise StorageError(problem, subject=str(path), remedy="Wait until it has ended") from error
        journal = RunJournal(path, file)
        with disk_errors(path):
            if journal.size < os.fstat(file).st_size:
                os.ftruncate(file, journal.size)
            os.fsync(file)
            flush_to_disk(path.parent)
        try:
            yield journal
        finally:
            journal.flush()
            journal.close()
    finally:
        os.close(file)


def read_run_journal(path: Path) -> RunJournal:
    """Read a journal, without a half-written last line; nothing can be appended. Raises as :func:`open_run_journal`."""
    return RunJournal(path)


@dataclass(slots=True)
class ModelUse:
    """What the calls of a model took together: ``failed`` are those without an answer; ``usd`` are 0 without prices."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class RunAccount:
    """What the calls of tools took together: ``failed`` are those without an answer, and answers that were not ``ok``; ``seconds`` are a
    sum over calls which may have overlapped.
    """

    calls: int = 0
    failed: int = 0
    rows: int = 0
    seconds: float = 0.0
    model: ModelUse = field(default_factory=ModelUse)  # of all calls of a model whose answers are in the journal


def account_of(records: Iterable[RunRecord]) -> RunAccount:
    """Return the account of a run, of all processes that worked on it."""
    account = RunAccount()
    for record in records:
        data = record.data
        kind, _, how = record.kind.rpartition("_")
        if kind == "call" and how != "begun":
            account.failed += not data.get("ok", False)
            _add(account, data, "rows")
        elif kind == "model":
            account.model.failed += how == "failed"
            _add(account.model, data, "prompt_tokens", "completion_tokens", "usd")
    return account


def _add(use: RunAccount | ModelUse, data: Mapping[str, Any], *names: str) -> None:
    use.calls += 1
    for name in (*names, "seconds"):
        setattr(use, name, getattr(use, name) + data.get(name, 0))
