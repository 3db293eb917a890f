"""The write-ahead log of changes to a snapshot: what is in it is durable, in its order.

A file ``changes/<snapshot id>.log`` of the store. It begins with a line that names format and snapshot; then come records::

    length of the content · its CRC-32 · CRC-32 of these 8 bytes, each uint32 little-endian · content, JSON in UTF-8

A record is one change: ``{"upsert": [tool, …]}`` or ``{"delete": [id, …]}``, perhaps with a ``signature``. It is acknowledged after an fsync. A crash may leave
the last record incomplete; it was never acknowledged, and the next opening cuts it off. Damage before a whole record is an error: that
change was acknowledged.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import SnapshotCorruptError, SnapshotError, StorageError
from ontology.files import disk_errors, flush_to_disk, replacing
from ontology.json_object import canonical_text
from ontology.tool import Tool
from retrieval.delta.signed_changes import check_signed, signed, unsigned

__all__ = ["CHANGES", "Change", "ChangeLog", "changed_id", "log_file", "prepare_log", "read_changes"]

CHANGES = "changes"
"""The folder of a store that holds the logs of its snapshots."""
_FRAME, _SUMS = struct.Struct("<III"), struct.Struct("<II")
_FORMAT = "egotools-changes.v1"
_NEXT = ".next"
_MAX_BYTES = 256 * 2**20  # of one record: more than a call can bring
_REMEDY = "Free space or mend the permissions, and send the change again: nothing of it was kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One acknowledged change.

    :param upserted: tools that were added or replaced, as they were read.
    :param deleted: ids of tools that were removed.
    """

    upserted: tuple[Tool, ...] = ()
    deleted: tuple[str, ...] = ()

    def content(self) -> bytes:
        """The content of its record."""
        if self.upserted:
            return f'{{"upsert":[{",".join(tool.canonical_json() for tool in self.upserted)}]}}'.encode()
        return canonical_text({"delete": list(self.deleted)}).encode()

    @classmethod
    def from_content(cls, content: bytes) -> Change:
        """Parse the content of a record; raise ValueError, TypeError or DocumentError for another form."""
        row: Mapping[str, Any] = json.loads(content)
        return cls(
            upserted=tuple(map(Tool.from_json, row.get("upsert", ()))), deleted=tuple(map(str, row.get("delete", ())))
        )


def log_file(store: Path, snapshot_id: str) -> Path:
    """The log of a snapshot of a store; the file is there only after a change."""
    return store / CHANGES / f"{snapshot_id}.log"


def changed_id(base_id: str, contents: Sequence[bytes]) -> str:
    """The id of a snapshot after changes: its own, ``+``, and 8 hex digits of the SHA-256 of the changes in their order."""
    if not contents:
        return base_id
    digest = hashlib.sha256()
    for content in map(unsigned, contents):
        digest.update(_frame(content))
        digest.update(content)
    return f"{base_id}+{digest.hexdigest()[:8]}"


def prepare_log(store: Path, snapshot_id: str, contents: Sequence[bytes]) -> None:
    """Write the records that a snapshot's log begins with, before the snapshot is published. The log is there when it is opened after
    that; should the snapshot not be published, it is removed when the log of another one is opened.

    :raises StorageError: when a write fails; nothing is changed then.
    """
    path = log_file(store, snapshot_id)
    with disk_errors(path, remedy=_REMEDY):
        path.parent.mkdir(exist_ok=True)
        if contents:
            _write_log(path.with_suffix(_NEXT), snapshot_id, contents)
        else:
            path.with_suffix(_NEXT).unlink(missing_ok=True)


def read_changes(store: Path, snapshot_id: str, count: int | None = None) -> list[bytes]:
    """Return the contents of the first records of a log that another process may write.

    :param count: None for all that are whole, none where there is no log.
    :raises SnapshotCorruptError: when it does not have so many.
    """
    path = log_file(store, snapshot_id)
    if count is None and not path.exists():
        return []
    with disk_errors(path):
        data = path.read_bytes()
    contents, _ = _parse(path, data, snapshot_id)
    if count is not None and len(contents) < count:
        raise _corrupt(path, f"it has {len(contents)} records, not {count}")
    return contents[:count]


class ChangeLog:
    """The log of one snapshot, open for one writer. Not thread-safe.

    Where another process has it open, its changes so far can be read, and none can be added.

    :param store: the store of the snapshot; it is not touched before the first change.
    :param writes: False to read it only, so that another process may write.
    :raises StorageError: when the log cannot be read.
    :raises SnapshotCorruptError: when a record before the last one is damaged.
    :raises SnapshotSignatureError: when keys are trusted and a record is not signed by one of them.
    """

    def __init__(self, store: Path, base_id: str, *, writes: bool = True) -> None:
        self.path = log_file(store, base_id)
        self.base_id = base_id
        self._file: int | None = None
        self._contents: list[bytes] = []
        self._end = 0
        self._torn = False
        self._writes = writes
        with disk_errors(self.path):
            if writes:
                _finish(self.path)
            if self.path.exists():
                self._open()

    @property
    def contents(self) -> Sequence[bytes]:
        """The contents of all records."""
        return self._contents

    @property
    def snapshot_id(self) -> str:
        """The id of the snapshot after all changes."""
        return changed_id(self.base_id, self._contents)

    def changes(self) -> list[Change]:
        """All changes, the oldest first."""
        return [Change.from_content(content) for content in self._contents]

    def append(self, change: Change) -> None:
        """Add a change; it is on the disk when this returns.

        :raises StorageError: when a write fails; the log is then as before.
        :raises PermissionDeniedError: when keys are trusted and none of them signs here.
        """
        (content,) = signed(self.base_id, self._contents, [change.content()])
        if len(content) > _MAX_BYTES:
            raise StorageError(
                f"the change has {len(content):,} bytes, the log takes {_MAX_BYTES:,}",
                subject=str(self.path),
                remedy="Send it in parts",
            )
        with disk_errors(self.path, remedy=_REMEDY):
            file = self._writable()
            try:
                _write(file, _frame(content) + content, self._end)
                os.fsync(file)
            except OSError:
                self._cut(file)
                raise
        self._end += _FRAME.size + len(content)
        self._contents.append(content)

    def replace(self, contents: Sequence[bytes]) -> None:
        """Keep only these records.

        :raises StorageError: when a write fails; the log is then as before.
        """
        self.close()
        with disk_errors(self.path, remedy=_REMEDY):
            _write_log(self.path, self.base_id, contents)
            self._open()

    def remove(self) -> None:
        """Delete the file: its changes are in a snapshot."""
        self.close()
        with disk_errors(self.path):
            self.path.unlink(missing_ok=True)
            if self.path.parent.is_dir():
                flush_to_disk(self.path.parent)
        self._contents, self._end = [], 0

    def close(self) -> None:
        """Close the file, so that another process may write."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _writable(self) -> int:
        """The descriptor of the file; a new file where there is none, an open one where a failed write could not be taken back."""
        if self._file is not None:
            return self._file
        if not self._writes:
            raise _taken(self.path, "this process only reads the changes of the catalogue")
        with suppress(FileExistsError):
            _create(self.path, _header(self.base_id))
        try:
            self._file = _locked(self.path)
        except BlockingIOError:
            raise _taken(self.path, "another process changes this catalogue") from None
        size = self.path.stat().st_size
        if not self._contents and not self._torn:
            self._end = len(_header(self.base_id))
        if size != self._end and not self._torn:
            self.close()
            raise _taken(self.path, "another process has changed this catalogue")
        os.ftruncate(self._file, self._end)
        return self._file

    def _open(self) -> None:
        """Read the file; with the lock, cut off a last record that a crash left incomplete."""
        with suppress(BlockingIOError):
            self._file = _locked(self.path) if self._writes else None
        data = self.path.read_bytes()
        try:
            self._contents, self._end = _parse(self.path, data, self.base_id)
        except SnapshotError:
            self.close()
            raise
        if self._file is not None and self._end < len(data):
            os.ftruncate(self._file, self._end)
            os.fsync(self._file)

    def _cut(self, file: int) -> None:
        """Take back what a failed write left; where that fails too, the next change tries it again."""
        try:
            os.ftruncate(file, self._end)
            os.fsync(file)
            self._torn = False
        except OSError:
            self._torn = True
            self.close()


def _locked(path: Path) -> int:
    """Open a log and lock it; raise BlockingIOError where another process has it."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise
    return file


def _write_log(path: Path, snapshot_id: str, contents: Sequence[bytes]) -> None:
    with replacing(path) as temporary:
        records = (_frame(content) + content for content in signed(snapshot_id, (), contents))
        temporary.write_bytes(b"".join((_header(snapshot_id), *records)))
    flush_to_disk(path.parent)


def _create(path: Path, header: bytes) -> None:
    """Write a log without records; raise FileExistsError where another process was faster."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(header)
        flush_to_disk(temporary)
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    flush_to_disk(path.parent)
    flush_to_disk(path.parent.parent)


def _taken(path: Path, problem: str) -> StorageError:
    remedy = "Send changes to one server; the others take them over when they are merged"
    return StorageError(problem, subject=str(path), remedy=remedy)


def _header(snapshot_id: str) -> bytes:
    return canonical_text({"format": _FORMAT, "snapshot": snapshot_id}).encode() + b"\n"


def _finish(path: Path) -> None:
    """Take over the records that were prepared for this log, and remove those that were prepared for others."""
    for prepared in sorted(path.parent.glob(f"*{_NEXT}")):
        if prepared.stem == path.stem and not path.exists():
            prepared.replace(path)
        else:
            prepared.unlink(missing_ok=True)
        flush_to_disk(path.parent)


def _frame(content: bytes) -> bytes:
    sums = _SUMS.pack(len(content), zlib.crc32(content))
    return sums + struct.pack("<I", zlib.crc32(sums))


def _record(data: bytes, start: int) -> bytes | None:
    """The content of the record that begins at a place; None where no whole record does."""
    if start + _FRAME.size > len(data):
        return None
    length, checksum, of_sums = _FRAME.unpack_from(data, start)
    if zlib.crc32(data[start : start + _SUMS.size]) != of_sums:
        return None
    content = data[start + _FRAME.size : start + _FRAME.size + length]
    return content if length and len(content) == length and zlib.crc32(content) == checksum else None


def _parse(path: Path, data: bytes, base_id: str) -> tuple[list[bytes], int]:
    """The contents of the whole records, and where the last of them ends."""
    header = _header(base_id)
    if not data.startswith(header):
        raise _corrupt(path, "it is no log of this snapshot")
    contents: list[bytes] = []
    end = len(header)
    while (content := _record(data, end)) is not None:
        try:
            Change.from_content(content)
        except Exception as error:
            raise _corrupt(path, f"record {len(contents) + 1} is no change") from error
        contents.append(content)
        end += _FRAME.size + len(content)
    if any(_record(data, start) is not None for start in range(end + 1, len(data) - _FRAME.size)):
        raise _corrupt(path, f"record {len(contents) + 1} is damaged")
    check_signed(path, base_id, contents)
    return contents, end


def _corrupt(path: Path, problem: str) -> SnapshotCorruptError:
    remedy = "Move the file away to serve the snapshot without its changes"
    return SnapshotCorruptError(problem, subject=str(path), remedy=remedy)


def _write(descriptor: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written
