"""The audit log: one JSON line for each change and each refusal, chained by hashes and flushed to the disk.

Each line has its number, and the hash of the line before it. The file ``….head`` beside the log has the number and the hash
of the last line; it is also the lock of those who write. When the log is full it is renamed to ``….<number of its last
line>``, and the chain goes on in a new file. :mod:`services.server.observe.audit_check` verifies all of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ontology.appended_file import append
from ontology.files import disk_errors, flush_to_disk, lock_within
from ontology.redaction import redact
from services.server.logs import fields

__all__ = [
    "GENESIS",
    "LOCK_REMEDY",
    "LOCK_S",
    "AuditLog",
    "ChainEnd",
    "canonical",
    "head_of",
    "read_head",
    "segments_of",
]

LOCK_S = 2.0
"""Seconds that a writer waits for others, who hold the lock for milliseconds each."""
LOCK_REMEDY = "End the process that holds it (`lsof` names it): it is no writer of the log, or it hangs"
_LOG = logging.getLogger("egotools.audit")
_MAX_BYTES = 64 * 1024 * 1024
_MAX_CHARS = 1_000
_TAIL_BYTES = 64 * 1024  # a line is shorter: five texts of 1,000 characters, each at most 12 bytes in JSON
_MODE = 0o640


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The last line of a chain.

    :param number: its number, from 1; 0 before the first line.
    :param digest: its SHA-256, in hexadecimal.
    """

    number: int
    digest: str


GENESIS = ChainEnd(0, "0" * 64)


class AuditLog:
    """An audit log, which threads and processes of one machine may write together.

    :param path: the file; None for a log that keeps nothing.
    :param max_bytes: size in bytes after which the file is renamed and a new one begun.
    :param lock_s: seconds that a writer waits for the others at most.
    """

    def __init__(self, path: Path | None, *, max_bytes: int = _MAX_BYTES, lock_s: float = LOCK_S) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.lock_s = lock_s

    def write(
        self,
        action: str,
        *,
        actor: str = "",
        tenant: str = "",
        subject: str = "",
        outcome: str = "done",
        count: int = 1,
        until: float = math.inf,
    ) -> None:
        """Append one line, and return when it is on the disk. Blocks for the disk: not for the thread of an event loop.

        :param action: what was done or asked for: ``publish``, ``rollback``, ``call``, ``load-policy``,
            ``approve-finding``.
        :param actor: who: the subject of a token, the user of a command.
        :param tenant: whose catalogue.
        :param subject: to what: the id of a snapshot, the name of a method, a file.
        :param outcome: ``done``, or the reason of a refusal (``PERMISSION_DENIED``).
        :param count: how often it happened since the last line about it.
        :param until: time of ``time.monotonic()``, in seconds, until which it waits for the others, if that is sooner.
        :raises StorageError: when the disk refuses, and a line that is half written is taken back; or when another holds the lock of the
            log all the time.
        """
        if self.path is None:
            return
        texts = {"action": action, "actor": actor, "tenant": tenant, "subject": subject, "outcome": outcome}
        entry = {name: redact(text)[:_MAX_CHARS] for name, text in texts.items()}
        with disk_errors(self.path, remedy="Free space, or mend the permissions of the audit log"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            wait_s = max(0.0, min(self.lock_s, until - time.monotonic()))
            with _locked(head_of(self.path), wait_s) as head:
                end = self._append(self.path, entry, count, head)
        _LOG.info("audit", extra=fields(entry=end.number, digest=end.digest, action=entry["action"], count=count))

    def _append(self, path: Path, entry: dict[str, str], count: int, head: int) -> ChainEnd:
        with _opened(path) as log:
            size, last = _cut_torn_line(log)
            known = read_head(head)
            before = last if last is not None and last.number >= known.number else known
            line, end = _line(entry, count, before)
            full = size > 0 and size + len(line) > self.max_bytes
            if not full:
                append(log, line, size)
        if full:
            path.rename(path.with_name(f"{path.name}.{before.number:012d}"))
            with _opened(path) as log:
                append(log, line, 0)
        if full or not size:
            flush_to_disk(path.parent)
        _write_head(head, end)
        return end


def head_of(path: Path) -> Path:
    """The file beside a log that has the number and the hash of its last line."""
    return path.with_name(f"{path.name}.head")


def segments_of(path: Path) -> list[Path]:
    """The files of a log, oldest first; the last is the log itself, also where it does not exist."""
    pattern = re.compile(re.escape(path.name) + r"\.\d{12}")
    return [*sorted(found for found in path.parent.iterdir() if pattern.fullmatch(found.name)), path]


def canonical(entry: dict[str, Any]) -> bytes:
    """The bytes of an entry, from which its hash is computed."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode("ascii")


def read_head(descriptor: int) -> ChainEnd:
    """Read what an open head file says; :data:`GENESIS` for an empty or damaged one."""
    try:
        said = json.loads(os.pread(descriptor, _TAIL_BYTES, 0))
        return ChainEnd(int(said["n"]), str(said["hash"]))
    except (ValueError, KeyError, TypeError):
        return GENESIS


@contextlib.contextmanager
def _locked(head: Path, wait_s: float) -> Iterator[int]:
    descriptor = os.open(head, os.O_RDWR | os.O_CREAT, _MODE)
    try:
        lock_within(descriptor, wait_s, head, remedy=LOCK_REMEDY)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _MODE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _cut_torn_line(log: int) -> tuple[int, ChainEnd | None]:
    """Cut what a writer that ended in the middle left after the last line: nobody was told that it is kept.

    :returns: the size in bytes, and the last line; None for an empty file, and for a line that is no entry.
    """
    size = os.fstat(log).st_size
    start = max(0, size - _TAIL_BYTES)
    tail = os.pread(log, size - start, start)
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail) and (whole or not start):
        size = start + whole
        os.ftruncate(log, size)
    lines = tail[:whole].splitlines()
    try:
        entry = json.loads(lines[-1])
        return size, ChainEnd(int(entry["n"]), str(entry["hash"]))
    except (IndexError, ValueError, KeyError, TypeError):
        return size, None


def _line(entry: dict[str, str], count: int, end: ChainEnd) -> tuple[bytes, ChainEnd]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    chained: dict[str, Any] = {**entry, "count": count, "n": end.number + 1, "previous": end.digest, "time": now}
    digest = hashlib.sha256(canonical(chained)).hexdigest()
    return canonical({**chained, "hash": digest}) + b"\n", ChainEnd(end.number + 1, digest)


def _write_head(head: int, end: ChainEnd) -> None:
    said = json.dumps({"n": end.number, "hash": end.digest}).encode("ascii") + b"\n"
    os.pwrite(head, said, 0)  # one line that only grows: what is read is the old one or the new
    os.ftruncate(head, len(said))
    os.fsync(head)
