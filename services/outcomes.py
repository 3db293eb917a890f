"""What became of requests: the durable log of what agents report, a folder of JSON lines for each catalogue.

Each process appends to files of its own, so replicas need no common lock.

A report is acknowledged after its line is on the disk (fsync). The files that were written longest ago are removed when the folder is
larger than its bound.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ontology.errors import StorageError
from ontology.files import append, disk_errors, flush_to_disk, is_named, open_regular

_FILE_BYTES = 16 * 1024 * 1024
_SECRET, _SECRET_BYTES = "secret", 32
_REMEDY = "Check permissions and free space; report again later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is kept of a report."""

    key: str  # of the request, unique; a report with a known key is the same report
    time: int  # when it was reported, seconds since 1970
    reporter: str  # pseudonym of who reported it, hexadecimal
    used: tuple[str, ...]  # ids of the tools that were called, in order
    succeeded: bool | None = None  # None where it is not known
    terms: tuple[str, ...] = ()  # words of the request that the catalogue has too, sorted; empty where none is kept
    query: str = ""  # text of the request; empty unless the operator has it kept


class OutcomeLog:
    """Appends outcomes to the folder of one catalogue, of at most ``max_bytes``, from one thread. Nothing is opened before the first one."""

    def __init__(self, folder: Path, *, max_bytes: int, fsync: Callable[[int], None] = os.fsync) -> None:
        self.folder = folder
        self._max_bytes, self._file_bytes, self._fsync = max_bytes, min(_FILE_BYTES, max(1, max_bytes // 4)), fsync
        self._descriptor, self._path, self._size = -1, folder, 0

    def append(self, outcome: Outcome) -> None:
        """Append an outcome, and return when it is on the disk. Raises StorageError when that fails; it may be reported again."""
        data = json.dumps(asdict(outcome), sort_keys=True, separators=(",", ":")).encode() + b"\n"
        try:
            # Whole: nobody has removed or cut it, and no failed write has left a part of a line.
            file = self._descriptor
            is_whole = file >= 0 and os.fstat(file).st_size == self._size and is_named(file, self._path)
            if not is_whole or self._size + len(data) > self._file_bytes > self._size > 0:
                self.close()
                self._new_file()
            self._size = append(self._descriptor, data, self._size, fsync=self._fsync)
        except (OSError, StorageError) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            text = f"the outcome cannot be kept: {problem}"
            raise StorageError(text, subject="outcomes", remedy=_REMEDY) from error

    def close(self) -> None:
        """Close the file; the next outcome begins another one."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

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


def read_outcomes(folder: Path) -> tuple[list[Outcome], int]:
    """Read the outcomes of a folder, each key once, by time; and the number of damaged lines, which are left out. A
    last line that was not written to its end is no damage: it was never acknowledged."""
    found: dict[str, Outcome] = {}
    damaged = 0
    for path in sorted(folder.glob("*.jsonl")):
        with suppress(FileNotFoundError), open(path, "rb") as file:  # it may be removed meanwhile
            for line in file:
                try:
                    row: dict[str, Any] = json.loads(line)
                    outcome = Outcome(**{**row, **{name: tuple(row[name]) for name in ("used", "terms")}})
                    found.setdefault(outcome.key, outcome)
                except (ValueError, TypeError, KeyError, AttributeError):
                    damaged += line.endswith(b"\n")
    return sorted(found.values(), key=lambda outcome: (outcome.time, outcome.key)), damaged


def pseudonym(secret: bytes, name: str) -> str:
    """The pseudonym of a reporter: the same for the same name, and not to be turned back without the secret of the folder."""
    return hmac.digest(secret, name.encode(), "sha256")[:8].hex()


def open_secret(folder: Path) -> bytes:
    """The secret of a folder of outcomes, 32 bytes; made by who asks first, readable by its user alone. Raises
    StorageError when it cannot be read or made, or has another size."""
    path = folder / _SECRET
    with disk_errors(path, remedy="Let the server write to the folder of outcomes, or set EGOTOOLS_OUTCOMES_MIB=0"):
        folder.mkdir(exist_ok=True, mode=0o700)  # a store that is not there is not made
        if not path.exists():
            temporary = folder / f".{_SECRET}.{os.getpid()}.{secrets.token_hex(4)}"
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(descriptor, secrets.token_bytes(_SECRET_BYTES))
                os.fsync(descriptor)
                with suppress(FileExistsError):  # another replica was first
                    os.link(temporary, path)
            finally:
                os.close(descriptor)
                temporary.unlink(missing_ok=True)
            flush_to_disk(folder)
        with open(open_regular(path, _SECRET), "rb") as file:
            secret = file.read(_SECRET_BYTES + 1)
    if len(secret) != _SECRET_BYTES:
        remedy = "Remove the file; reporters then have other pseudonyms"
        raise StorageError(f"the secret has {len(secret)} bytes, not 32", subject=str(path), remedy=remedy)
    return secret
