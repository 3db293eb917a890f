"""The durable log of outcomes: a folder of JSON lines. Each process appends to a file of its own, so replicas need no common lock.

A report is acknowledged after its line is on the disk (fsync); reports that arrive meanwhile share the next fsync. A process that
starts goes on with a file that no living process holds (flock) and cuts off a line that was not written to its end. Full files are
closed; the oldest closed ones are removed when the folder is larger than its bound.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import threading
import time
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ontology.errors import NotReadyError, OverloadedError, StorageError
from ontology.files import append, cut, flush_to_disk, is_named, locked

__all__ = ["Outcome", "OutcomeLog", "OutputSeen", "read_outcomes"]

_HEAD, _MIDDLE, _TAIL = b'{"crc":"', b'","outcome":', b"}\n"
_CRC_DIGITS = 8
_KEY = b'{"key":"'  # the first field of an outcome, because its fields are sorted


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
    """What is kept of a report.

    :param key: of the request, unique; a report with a known key is the same report.
    :param time: when the request was answered, seconds since 1970.
    :param snapshot: the snapshot that answered, as in its request id.
    :param reporter: pseudonym of who reported it, hexadecimal.
    :param used: ids of the tools that were called, in order.
    :param succeeded: None where it is not known.
    :param terms: words of the request that the catalogue has too, sorted; empty where none is kept.
    :param query: text of the request; empty unless the operator has it kept.
    """

    key: str
    time: int
    snapshot: str
    reporter: str
    used: tuple[str, ...]
    succeeded: bool | None = None
    outputs: tuple[OutputSeen, ...] = ()
    terms: tuple[str, ...] = ()
    query: str = ""


def outcome_line(outcome: Outcome) -> bytes:
    """The row as a line: a JSON object of the outcome and the CRC-32 of its text."""
    text = json.dumps(asdict(outcome), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","outcome":{text}}}\n'.encode()


def outcome_from_line(line: bytes) -> Outcome:
    """The outcome of a line.

    :raises ValueError: when the line is torn or altered.
    """
    text = _text(line)
    try:
        row: dict[str, Any] = json.loads(text)
        return Outcome(
            **{
                **row,
                "used": tuple(row["used"]),
                "terms": tuple(row["terms"]),
                "outputs": tuple(OutputSeen(**each) for each in row["outputs"]),
            }
        )
    except (TypeError, KeyError) as error:
        raise ValueError("the line is no outcome") from error


def outcome_key(line: bytes) -> str:
    """The key of the outcome of a line, without reading the rest of it.

    :raises ValueError: when the line is torn or altered.
    """
    text = _text(line)
    if not text.startswith(_KEY):
        raise ValueError("the line is no outcome")
    return text[len(_KEY) : text.index(b'"', len(_KEY))].decode()


def _text(line: bytes) -> bytes:
    digits_end = len(_HEAD) + _CRC_DIGITS
    text = line[digits_end + len(_MIDDLE) : -len(_TAIL)]
    if (
        not line.startswith(_HEAD)
        or not line.endswith(_TAIL)
        or line[len(_HEAD) : digits_end] != b"%08x" % zlib.crc32(text)
    ):
        raise ValueError("the line is torn or altered")
    return text


_FILE_BYTES = 16 * 1024 * 1024
_WAITING, _TOGETHER = 1_000, 256
_KNOWN_KEYS = 100_000
_REMEDY = "Check permissions and free space; report again later"


class OutcomeLog:
    """Appends outcomes to the folder of one catalogue. Thread-safe. Nothing is opened before the first outcome.

    :param max_bytes: bound of the whole folder.
    :param file_bytes: size after which a new file is begun.
    :param fsync: waits until a file is on the disk; tests replace it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        file_bytes: int = _FILE_BYTES,
        fsync: Callable[[int], None] = os.fsync,
    ) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._file_bytes = min(file_bytes, max(1, max_bytes // 4))
        self._fsync = fsync
        self._waiting: queue.Queue[tuple[Outcome, Future[None]] | None] = queue.Queue(_WAITING)
        self._known: OrderedDict[str, Future[None]] = OrderedDict()  # reported to this process
        self._earlier: frozenset[str] = frozenset()  # in the folder when this process began
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closed = False
        self._descriptor, self._path = -1, folder
        self._size = 0

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
            done.set_running_or_notify_cancel()  # a caller that gives up cannot cancel it: the line is written all the same
            try:
                self._waiting.put_nowait((outcome, done))
            except queue.Full:
                raise OverloadedError("too many reports wait for the disk", remedy="Report again later") from None
            self._known[outcome.key] = done
            if len(self._known) > _KNOWN_KEYS:
                self._known.popitem(last=False)
            return done

    def close(self) -> None:
        """Write what waits, and let another process go on with the file."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            writer = self._writer
        if writer is not None:
            self._waiting.put(None)
            writer.join()
        self._close_file()

    def _write_all(self) -> None:
        self._open_file()
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
            lines = [outcome_line(outcome) for outcome, _ in rows if outcome.key not in self._earlier]
            if lines:
                self._write_lines(b"".join(lines))
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

    def _open_file(self) -> None:
        """Go on with a file that no living process holds, else leave it to the first write to make one."""
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob("*.jsonl"), reverse=True):
                if path.stat().st_size < self._file_bytes and (descriptor := _locked(path)) >= 0:
                    self._descriptor, self._path = descriptor, path
                    self._size = _cut_torn_tail(path, descriptor)
                    break
            self._earlier = _last_keys(self.folder, _KNOWN_KEYS)

    def _new_file(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while self._descriptor < 0:
            path = self.folder / f"{time.time_ns():020}-{secrets.token_hex(4)}.jsonl"
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            # Another process that starts at this moment may go on with the new file, or remove it: then another one is made.
            with contextlib.suppress(BlockingIOError, FileNotFoundError):
                self._descriptor = locked(path)
                self._size, self._path = 0, path
        flush_to_disk(self.folder)
        self._remove_oldest()

    def _close_file(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _remove_oldest(self) -> None:
        """Remove the oldest files that no process holds until a new file has room within the bound."""
        paths = sorted(self.folder.glob("*.jsonl"))
        total = sum(_size(path) for path in paths)
        for path in paths:
            if total + self._file_bytes <= self._max_bytes:
                break
            size = _size(path)
            if (descriptor := _locked(path)) >= 0:
                path.unlink(missing_ok=True)
                os.close(descriptor)
                total -= size


def read_outcomes(folder: Path) -> tuple[list[Outcome], int]:
    """Read the outcomes of a folder, each key once, by time; and the number of damaged lines, which are left out.

    A last line that was not written to its end is no damage: it was never acknowledged.
    """
    found: dict[str, Outcome] = {}
    damaged = 0
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:  # it may be removed meanwhile
            for line in file:
                try:
                    outcome = outcome_from_line(line)
                    found.setdefault(outcome.key, outcome)
                except ValueError:
                    damaged += line.endswith(b"\n")
    return sorted(found.values(), key=lambda outcome: (outcome.time, outcome.key)), damaged


def _last_keys(folder: Path, most: int) -> frozenset[str]:
    """The keys of the outcomes that were written last, of as many of the newest files as have ``most``."""
    found: set[str] = set()
    for path in sorted(folder.glob("*.jsonl"), reverse=True):
        keys: deque[str] = deque(maxlen=most - len(found))
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:  # it may be removed meanwhile
            for line in file:
                with contextlib.suppress(ValueError):
                    keys.append(outcome_key(line))
        found.update(keys)
        if len(found) >= most:
            break
    return frozenset(found)


def _locked(path: Path) -> int:
    """An open descriptor that holds the lock of a file; -1 where another process holds it, or it is gone."""
    try:
        return locked(path)
    except OSError:
        return -1


def _cut_torn_tail(path: Path, descriptor: int) -> int:
    """Cut what follows the last whole line; return the size."""
    whole = size = 0
    with open(path, "rb") as file:
        for line in file:
            size += len(line)
            with contextlib.suppress(ValueError):
                outcome_key(line)
                whole = size
    if whole < size:
        cut(descriptor, whole)
    return whole


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
