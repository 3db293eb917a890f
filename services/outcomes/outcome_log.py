"""The durable log of outcomes: a folder of JSON lines. Each process appends to files of its own, so replicas need no common lock.

A report is acknowledged after its line is on the disk (fsync); reports that arrive meanwhile share the next fsync. The files that were
written longest ago are removed when the folder is larger than its bound.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ontology.errors import NotReadyError, OverloadedError, StorageError
from ontology.files import append, flush_to_disk, is_named

_FILE_BYTES = 16 * 1024 * 1024
_WAITING, _TOGETHER = 1_000, 256
_KNOWN_KEYS = 100_000
_REMEDY = "Check permissions and free space; report again later"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSeen:
    """An output that a tool returned: its name and JSON type, never its value; and the input that took it, if one did."""

    tool: str
    name: str
    type: str
    taken_by: str = ""
    taken_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is kept of a report."""

    key: str  # of the request, unique; a report with a known key is the same report
    time: int  # when the request was answered, seconds since 1970
    snapshot: str  # that answered, as in its request id
    reporter: str  # pseudonym of who reported it, hexadecimal
    used: tuple[str, ...]  # ids of the tools that were called, in order
    succeeded: bool | None = None  # None where it is not known
    outputs: tuple[OutputSeen, ...] = ()
    terms: tuple[str, ...] = ()  # words of the request that the catalogue has too, sorted; empty where none is kept
    query: str = ""  # text of the request; empty unless the operator has it kept


class OutcomeLog:
    """Appends outcomes to the folder of one catalogue. Thread-safe. Nothing is opened before the first outcome.

    :param max_bytes: bound of the whole folder.
    :param fsync: waits until a file is on the disk.
    """

    def __init__(self, folder: Path, *, max_bytes: int, fsync: Callable[[int], None] = os.fsync) -> None:
        self.folder = folder
        self._max_bytes, self._file_bytes, self._fsync = max_bytes, min(_FILE_BYTES, max(1, max_bytes // 4)), fsync
        self._waiting: queue.Queue[tuple[Outcome, Future[None]] | None] = queue.Queue(_WAITING)
        self._known: OrderedDict[str, Future[None]] = OrderedDict()  # reported to this process
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closed = False
        self._descriptor, self._path, self._size = -1, folder, 0

    def append(self, outcome: Outcome) -> Future[None]:
        """Append an outcome; one with a known key is not appended again.

        :returns: done when it is on the disk; it then has a StorageError where that failed.
        :raises OverloadedError: when too many wait for the disk.
        :raises NotReadyError: after :meth:`close`.
        """
        with self._lock:
            if self._closed:
                raise NotReadyError("the log of outcomes is closed", remedy="Use another replica")
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="outcomes", daemon=True)
                self._writer.start()
            known = self._known.get(outcome.key)
            if known is not None:
                return known
            done: Future[None] = Future()
            done.set_running_or_notify_cancel()  # a caller that gives up cannot cancel it: the line is written
            try:
                self._waiting.put_nowait((outcome, done))
            except queue.Full:
                raise OverloadedError("too many reports wait for the disk", remedy="Report again later") from None
            self._known[outcome.key] = done
            if len(self._known) > _KNOWN_KEYS:
                self._known.popitem(last=False)
            return done

    def close(self) -> None:
        """Write what waits."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._writer is not None:
            self._waiting.put(None)
            self._writer.join()
        self._close_file()

    def _write_all(self) -> None:
        ended = False
        while not ended:
            batch = [self._waiting.get()]
            while len(batch) < _TOGETHER and not self._waiting.empty():
                batch.append(self._waiting.get())
            ended = None in batch
            rows = [each for each in batch if each is not None]
            if rows:
                self._write(rows)

    def _write(self, rows: list[tuple[Outcome, Future[None]]]) -> None:
        try:
            self._write_lines(b"".join(_line(outcome) for outcome, _ in rows))
        except (OSError, StorageError) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            failure = StorageError(f"the outcome cannot be kept: {problem}", subject="outcomes", remedy=_REMEDY)
            with self._lock:
                for outcome, _ in rows:
                    self._known.pop(outcome.key, None)  # it may be reported again
            for _, done in rows:
                done.set_exception(failure)
            return
        for _, done in rows:
            done.set_result(None)

    def _write_lines(self, data: bytes) -> None:
        if not self._is_whole() or self._size + len(data) > self._file_bytes > self._size > 0:
            self._close_file()
            self._new_file()
        self._size = append(self._descriptor, data, self._size, fsync=self._fsync)

    def _is_whole(self) -> bool:
        """Whether the open file is there as it was left: nobody has removed or cut it, and no failed write has left a part of a line."""
        file = self._descriptor
        return file >= 0 and os.fstat(file).st_size == self._size and is_named(file, self._path)

    def _new_file(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = self.folder / f"{time.time_ns():020}-{secrets.token_hex(4)}.jsonl"
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._size = 0
        flush_to_disk(self.folder)
        found = []
        for path in self.folder.glob("*.jsonl"):
            with suppress(FileNotFoundError):  # another replica may remove it meanwhile
                found.append((path.stat().st_mtime_ns, path.stat().st_size, path))
        total = sum(size for _, size, _ in found) + self._file_bytes
        for _, size, path in sorted(found):
            if total <= self._max_bytes:
                break
            if path != self._path:
                path.unlink(missing_ok=True)
                total -= size

    def _close_file(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _line(outcome: Outcome) -> bytes:
    return json.dumps(asdict(outcome), ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _read(line: bytes) -> Outcome:
    row: dict[str, Any] = json.loads(line)
    row = row.get("outcome", row)  # of an earlier release, beside a checksum
    lists = {name: tuple(row[name]) for name in ("used", "terms")}
    return Outcome(**{**row, **lists, "outputs": tuple(OutputSeen(**each) for each in row["outputs"])})


def read_outcomes(folder: Path) -> tuple[list[Outcome], int]:
    """Read the outcomes of a folder, each key once, by time; and the number of damaged lines, which are left out.

    A last line that was not written to its end is no damage: it was never acknowledged.
    """
    found: dict[str, Outcome] = {}
    damaged = 0
    for path in sorted(folder.glob("*.jsonl")):
        with suppress(FileNotFoundError), open(path, "rb") as file:  # it may be removed meanwhile
            for line in file:
                try:
                    outcome = _read(line)
                    found.setdefault(outcome.key, outcome)
                except (ValueError, TypeError, KeyError, AttributeError):
                    damaged += line.endswith(b"\n")
    return sorted(found.values(), key=lambda outcome: (outcome.time, outcome.key)), damaged
