"""What became of requests: the durable log of what agents report, one file of JSON lines for each catalogue, only appended to.

Replicas append to the same file under a lock, a line at a time; a report is acknowledged after its line is on the disk (fsync). The first
line is random: reporters are kept as hashes with it, never by a name or an address.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ontology.errors import StorageError
from ontology.files import append, disk_errors, flush_to_disk, is_named, lock_within, replacing

OUTCOMES = "outcomes.jsonl"  # the file of a store
_SALT_BYTES = 44  # of the first line
_LOCK_S = 1.0  # for another that appends
_REMEDY = "Check permissions and free space, and report again; EGOTOOLS_OUTCOMES_MIB=0 keeps no outcomes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is kept of a report."""

    key: str  # of the request, unique; a report with a known key is the same report
    time: int  # when it was reported, seconds since 1970
    used: tuple[str, ...]  # ids of the tools that were called, in order
    reporter: str = ""  # pseudonym of who reported it, hexadecimal
    succeeded: bool | None = None  # None where it is not known
    terms: tuple[str, ...] = ()  # words of the request that the catalogue has too, sorted; empty where none is kept
    query: str = ""  # text of the request; empty unless the operator has it kept


class OutcomeLog:
    """Appends outcomes to the log of one catalogue; of ``max_bytes`` the older half goes first. Raises StorageError where it cannot be made."""

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path, self._max_bytes = path, max_bytes
        with self._locked():
            pass

    def append(self, outcome: Outcome, reporter: str) -> None:
        """Append an outcome of a reporter, by name or address, and return when it is on the disk. Raises StorageError
        when that fails; it may be reported again."""
        with self._locked() as (file, size):
            name = hashlib.blake2b(reporter.encode(), key=os.pread(file, _SALT_BYTES, 0), digest_size=8).hexdigest()
            line = json.dumps(asdict(replace(outcome, reporter=name)), sort_keys=True, separators=(",", ":"))
            torn = os.pread(file, 1, size - 1) != b"\n"  # a writer ended in the middle of a line
            size = append(file, b"\n" * torn + line.encode() + b"\n", size)
            if size > self._max_bytes // 2:
                with replacing(_older(self.path)) as temporary:
                    temporary.touch(0o600)
                    shutil.copyfile(self.path, temporary)
                with replacing(self.path) as temporary:
                    temporary.touch(0o600)
                    temporary.write_bytes(os.pread(file, _SALT_BYTES, 0))

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, int]]:
        """The open and locked file, which is made where it is not there, and its size in bytes."""
        try:
            while True:
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                try:
                    lock_within(file, _LOCK_S, self.path, remedy=_REMEDY)
                    if not is_named(file, self.path):  # another has begun a new one meanwhile
                        continue
                    if not (size := os.fstat(file).st_size):
                        salt = json.dumps({"salt": secrets.token_hex(16)}, separators=(",", ":"))
                        size = append(file, salt.encode() + b"\n", 0)
                        flush_to_disk(self.path.parent)
                    yield file, size
                    return
                finally:
                    os.close(file)
        except (OSError, StorageError) as error:  # its path is not for who reports
            why = error.problem if isinstance(error, StorageError) else error.strerror or error
            raise StorageError(f"the outcome cannot be kept: {why}", subject="outcomes", remedy=_REMEDY) from error


def read_outcomes(path: Path) -> tuple[list[Outcome], int]:
    """Read the outcomes of a log, each key once, by time; and the number of damaged lines, which are left out. A last
    line that was not written to its end is no damage: it was never acknowledged."""
    found: dict[str, Outcome] = {}
    damaged = 0
    for each in filter(Path.exists, (_older(path), path)):
        with disk_errors(each, done="read"), open(each, "rb") as file:
            for line in file:
                try:
                    row: dict[str, Any] = json.loads(line)
                    if "salt" not in row:
                        row |= {name: tuple(row[name]) for name in ("used", "terms") if name in row}
                        outcome = Outcome(**row)
                        found.setdefault(outcome.key, outcome)
                except (ValueError, TypeError, AttributeError):
                    damaged += line.endswith(b"\n")
    return sorted(found.values(), key=lambda outcome: (outcome.time, outcome.key)), damaged


def _older(path: Path) -> Path:
    """The file of the older half."""
    return path.with_suffix(".1.jsonl")
