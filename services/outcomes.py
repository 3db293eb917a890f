"""What became of requests: the durable log of what agents report, one file of JSON lines for each catalogue, only appended to.

Replicas append to the same file under a lock, a line at a time; a report is acknowledged after its line is on the disk (fsync). The first
line is random: reporters are kept as hashes with it, never by a name or an address.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from eval.learning import Outcome
from ontology.errors import StorageError
from ontology.files import append, disk_errors, flush_to_disk, is_named, lock_within, replacing

OUTCOMES = "outcomes.jsonl"  # the file of a store
_SALT_BYTES = 44  # of the first line
_LOCK_S = 1.0  # for another that appends
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_LINE = TypeAdapter(Outcome)
_REMEDY = "Check permissions and free space, and report again; EGOTOOLS_OUTCOMES_MIB=0 keeps no outcomes"


class OutcomeLog:
    """Appends outcomes to the log of one catalogue; beyond ``max_bytes`` the newest half stays. Raises StorageError where it cannot be made."""

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path, self._max_bytes = path, max_bytes
        with self._locked():
            pass

    def append(self, outcome: Outcome, reporter: str) -> None:
        """Append an outcome of a reporter, by name or address, and return when it is on the disk. Raises StorageError
        when that fails; it may be reported again."""
        with self._locked() as (file, size):
            salt = os.pread(file, _SALT_BYTES, 0)
            name = hashlib.blake2b(reporter.encode(), key=salt, digest_size=8).hexdigest()
            torn = os.pread(file, 1, size - 1) != b"\n"  # a writer ended in the middle of a line
            line = b"\n" * torn + _LINE.dump_json(replace(outcome, reporter=name)) + b"\n"
            size = append(file, line, size)
            if size > self._max_bytes:
                with suppress(OSError):  # the report is on the disk; the next one tries again
                    self._halve(file, size - self._max_bytes // 2, salt)

    def _halve(self, file: int, start: int, salt: bytes) -> None:
        """Leave the lines from a place of the open file on, behind a first line."""
        with replacing(self.path) as temporary, open(file, "rb", closefd=False) as all_lines:
            temporary.touch(0o600)
            all_lines.seek(start)
            all_lines.readline()
            with open(temporary, "wb") as newest:
                newest.write(salt)
                shutil.copyfileobj(all_lines, newest)
        flush_to_disk(self.path.parent)

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, int]]:
        """The open and locked file, which is made where it is not there, and its size in bytes."""
        try:
            while True:
                with open(os.open(self.path, _FLAGS, 0o600), "r+b") as opened:
                    lock_within(file := opened.fileno(), _LOCK_S, self.path, remedy=_REMEDY)
                    if not is_named(file, self.path):  # another has begun a new one meanwhile
                        continue
                    if (size := os.fstat(file).st_size) < _SALT_BYTES:
                        size = append(file, b'{"salt":"%b"}\n' % secrets.token_hex(16).encode(), 0)
                        flush_to_disk(self.path.parent)
                    yield file, size
                    return
        except (OSError, StorageError) as error:  # its path is not for who reports
            why = error.problem if isinstance(error, StorageError) else error.strerror or error
            raise StorageError(f"the outcome cannot be kept: {why}", subject="outcomes", remedy=_REMEDY) from error


def read_outcomes(path: Path) -> tuple[list[Outcome], int]:
    """Read the outcomes of a log, each key once; and the number of damaged lines, which are left out. A last line that
    was not written to its end is no damage: it was never acknowledged."""
    found: dict[str, Outcome] = {}
    damaged = 0
    if path.exists():
        with disk_errors(path, done="read"), open(path, "rb") as file:
            for line in file:
                try:
                    outcome = _LINE.validate_json(line)
                    found.setdefault(outcome.key, outcome)
                except ValueError:
                    damaged += line.endswith(b"\n") and not line.startswith(b'{"salt":')
    return list(found.values()), damaged
