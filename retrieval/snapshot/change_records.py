"""The records of the log of changes to a snapshot, and reading them.

A file ``changes/<snapshot id>.log`` of the store. It begins with a line that names format and snapshot; then come records::

    length of the content · its CRC-32 · CRC-32 of these 8 bytes, each uint32 little-endian · content, JSON in UTF-8

A record is one change: ``{"upsert": [tool, …]}`` or ``{"delete": [id, …]}``, perhaps with a ``signature``.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import SnapshotCorruptError
from ontology.files import disk_errors, flush_to_disk, replacing
from ontology.json_object import canonical_text
from ontology.tool import Tool
from retrieval.snapshot.signed_changes import check_signed, signed, unsigned

__all__ = [
    "CHANGES",
    "FRAME_BYTES",
    "Change",
    "changed_id",
    "changed_ids",
    "framed",
    "log_file",
    "log_header",
    "parse_log",
    "read_changes",
    "read_log",
    "waiting_tools",
    "write_log",
]

CHANGES = "changes"
"""The folder of a store that holds the logs of its snapshots."""
_FRAME, _SUMS = struct.Struct("<III"), struct.Struct("<II")
FRAME_BYTES = _FRAME.size
"""What stands before the content of a record, in bytes."""
_FORMAT = "egotools-changes.v1"
_CONTENT = re.compile(rb'\{"(?:upsert|delete)":\[')  # what every content begins with


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
    return changed_ids(base_id, contents)[-1]


def changed_ids(base_id: str, contents: Sequence[bytes]) -> list[str]:
    """The ids of a snapshot and of its states after the first change, after the first two, …"""
    ids, digest = [base_id], hashlib.sha256()
    for content in map(unsigned, contents):
        digest.update(framed(content))
        ids.append(f"{base_id}+{digest.hexdigest()[:8]}")
    return ids


def read_changes(store: Path, snapshot_id: str, count: int | None = None) -> list[bytes]:
    """Return the contents of the first records of a log that another process may write.

    :param count: None for all that are whole, none where there is no log.
    :raises SnapshotCorruptError: when it does not have so many.
    """
    path = log_file(store, snapshot_id)
    if count is None and not path.exists():
        return []
    with disk_errors(path):
        data = read_log(path)
    contents, _ = parse_log(path, data, snapshot_id)
    if count is not None and len(contents) < count:
        raise _corrupt(path, f"it has {len(contents)} records, not {count}")
    return contents[:count]


def waiting_tools(store: Path, snapshot_id: str) -> frozenset[str]:
    """Return the ids of the tools that the log of a snapshot adds, replaces or removes: the snapshot itself does not have that.

    :raises SnapshotCorruptError: when the log is damaged.
    """
    changes = map(Change.from_content, read_changes(store, snapshot_id))
    return frozenset(id_ for each in changes for id_ in (*each.deleted, *(tool.id for tool in each.upserted)))


def read_log(path: Path) -> bytes:
    """Read a log; raise OSError for a pipe, a device, and what a link names: they could be read without end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        return file.read()


def write_log(path: Path, snapshot_id: str, contents: Sequence[bytes]) -> None:
    """Write a whole log; raise OSError when the disk fails, and leave what was there."""
    with replacing(path) as temporary:
        temporary.write_bytes(b"".join((log_header(snapshot_id), *map(framed, signed(snapshot_id, (), contents)))))
    flush_to_disk(path.parent)


def log_header(snapshot_id: str) -> bytes:
    """The line that the log of a snapshot begins with."""
    return canonical_text({"format": _FORMAT, "snapshot": snapshot_id}).encode() + b"\n"


def framed(content: bytes) -> bytes:
    """The record with this content."""
    sums = _SUMS.pack(len(content), zlib.crc32(content))
    return sums + struct.pack("<I", zlib.crc32(sums)) + content


def parse_log(path: Path, data: bytes, base_id: str) -> tuple[list[bytes], int]:
    """The contents of the whole records, and where the last of them ends.

    :raises SnapshotCorruptError: for another header, and when a whole record comes after a damaged one.
    :raises SnapshotSignatureError: when keys are trusted and a record is not signed by one of them.
    """
    header = log_header(base_id)
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
    later = (match.start() - _FRAME.size for match in _CONTENT.finditer(data, end + _FRAME.size))
    if any(start > end and _record(data, start) is not None for start in later):
        raise _corrupt(path, f"record {len(contents) + 1} is damaged")
    check_signed(path, base_id, contents)
    return contents, end


def _record(data: bytes, start: int) -> bytes | None:
    """The content of the record that begins at a place; None where no whole record does."""
    if start + _FRAME.size > len(data):
        return None
    length, checksum, of_sums = _FRAME.unpack_from(data, start)
    if zlib.crc32(data[start : start + _SUMS.size]) != of_sums:
        return None
    content = data[start + _FRAME.size : start + _FRAME.size + length]
    return content if length and len(content) == length and zlib.crc32(content) == checksum else None


def _corrupt(path: Path, problem: str) -> SnapshotCorruptError:
    remedy = "Move the file away to serve the snapshot without its changes"
    return SnapshotCorruptError(problem, subject=str(path), remedy=remedy)
