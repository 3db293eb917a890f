"""The write-ahead log of changes to a snapshot: what is in it is durable, in its order.

Its records are those of :mod:`retrieval.snapshot.change_records`. A record is acknowledged after an fsync. A crash may leave
the last record incomplete; it was never acknowledged, and the next opening cuts it off. Damage before a whole record is an error: that
change was acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ontology.appended_file import append, cut, is_named, locked
from ontology.errors import OtherWriterError, StorageError
from ontology.files import disk_errors, flush_to_disk, replacing
from retrieval.snapshot.carry_changes import finish_carrying, is_carrying
from retrieval.snapshot.change_records import (
    Change,
    changed_id,
    framed,
    log_file,
    log_header,
    parse_log,
    read_log,
    write_log,
)
from retrieval.snapshot.publication_log import this_actor
from retrieval.snapshot.publish_lock import publishing
from retrieval.snapshot.signed_changes import signed

__all__ = ["ChangeLog"]

_MAX_BYTES = 256 * 2**20  # of one record: more than a call can bring
_REMEDY = "Free space or mend the permissions, and send the change again: nothing of it was kept"
_WRITER, _WRITER_BYTES = ".writer", 300


class ChangeLog:
    """The log of one snapshot, open for one writer. Not thread-safe.

    Where another process has it open, its changes so far can be read, and none can be added.

    :param store: the store of the snapshot; it is not touched before the first change.
    :param writes: False to read it only, so that another process may write.
    :param takes: False to leave it to another writer until the first change.
    :raises StorageError: when the log cannot be read.
    :raises SnapshotCorruptError: when a record before the last one is damaged.
    :raises SnapshotSignatureError: when keys are trusted and a record is not signed by one of them.
    """

    def __init__(self, store: Path, base_id: str, *, writes: bool = True, takes: bool = True) -> None:
        self.path = log_file(store, base_id)
        self.base_id = base_id
        self._file: int | None = None
        self._contents: list[bytes] = []
        self._end = 0
        self._torn = False
        self._writes = writes
        with disk_errors(self.path):
            if writes and is_carrying(store):
                with publishing(store):
                    finish_carrying(store)
            if self.path.exists():
                self._open(takes=writes and takes)

    @property
    def held(self) -> bool:
        """Whether this is the writer of the file: nobody else can add to it."""
        return self._file is not None

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

        :raises StorageError: when a write fails, or the file is no longer that of this log; the log is then as before.
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
            self._require_whole(file, self._end)
            try:
                end = append(file, framed(content), self._end)
                self._require_whole(file, end)
            except (OSError, StorageError):
                self._take_back(file)
                raise
        self._end = end
        self._contents.append(content)

    def replace(self, contents: Sequence[bytes]) -> None:
        """Keep only these records.

        :raises StorageError: when a write fails, or another process writes; the log is then as before.
        """
        self.lock()
        with disk_errors(self.path, remedy=_REMEDY):
            write_log(self.path, self.base_id, contents)
            self.close()
            self._open(takes=True)

    def remove(self) -> None:
        """Delete the file: its changes are in a snapshot.

        :raises StorageError: when another process writes; the file stays then.
        """
        if not self.path.exists():
            return
        self.lock()
        with disk_errors(self.path):
            self.path.unlink(missing_ok=True)  # while it is locked: nobody else has added a change
            flush_to_disk(self.path.parent)
        self.close()
        self._contents, self._end = [], 0

    def lock(self) -> None:
        """Be the writer from now on.

        :raises OtherWriterError: when another process is, or has been since this one has read the log.
        """
        with disk_errors(self.path, remedy=_REMEDY):
            self._writable()

    def close(self) -> None:
        """Close the file, so that another process may write."""
        if self._file is not None:
            os.close(self._file)
            self._file, self._torn = None, False

    def _writable(self) -> int:
        """The descriptor of the file, without what a failed write left; of a new file where there is none."""
        if self._file is not None:
            if self._torn and os.fstat(self._file).st_size >= self._end:
                cut(self._file, self._end)
                self._torn = False
            return self._file
        if not self._writes:
            raise OtherWriterError(
                "this process only reads the changes of the catalogue",
                subject=str(self.path),
                remedy="Send changes to the server that has an admin port",
            )
        with suppress(FileExistsError):
            _create(self.path, log_header(self.base_id))
        try:
            self._file = self._locked()
        except BlockingIOError:
            raise _taken(self.path) from None
        size = self.path.stat().st_size
        if not self._contents:
            self._end = len(log_header(self.base_id))
        if size != self._end:
            self.close()
            raise OtherWriterError(
                "another process has changed this catalogue",
                subject=str(self.path),
                remedy="Send the change again",
            )
        return self._file

    def _require_whole(self, file: int, size: int) -> None:
        """Check that the open file is the one that the next start reads, with all that was acknowledged.

        :raises StorageError: when somebody has removed, replaced, cut or written to it.
        """
        if os.fstat(file).st_size == size and is_named(file, self.path):
            return
        raise StorageError(
            "somebody has removed, replaced or changed the log of changes while this process had it open",
            subject=str(self.path),
            remedy="Put the file back, or publish a build. What is served stays; a start serves what the file then has",
        )

    def _open(self, *, takes: bool) -> None:
        """Read the file; with the lock, cut off a last record that a crash left incomplete."""
        with suppress(BlockingIOError):
            self._file = self._locked() if takes else None
        try:
            data = read_log(self.path)
            self._contents, self._end = parse_log(self.path, data, self.base_id)
            if self._file is not None and self._end < len(data):
                cut(self._file, self._end)
        except BaseException:
            self.close()
            raise

    def _locked(self) -> int:
        """Lock the file, and leave the name of this process for those who find it locked."""
        file = locked(self.path)
        with suppress(OSError), replacing(_writer_file(self.path)) as temporary:
            temporary.write_text(f"process {os.getpid()} of {this_actor()}", encoding="utf-8")
        return file

    def _take_back(self, file: int) -> None:
        """Take back what a failed write left; where that fails too, the next change tries it again.

        The file stays locked until then: another process would cut the tail and write, and that would be cut here.
        """
        self._torn = True
        with suppress(OSError):
            cut(file, self._end)
            self._torn = False


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


def _taken(path: Path) -> OtherWriterError:
    return OtherWriterError(
        f"another process changes this catalogue: {_writer(path) or 'it has left no name'}",
        subject=str(path),
        remedy="Send changes to that one; this one follows it, and takes changes when it has ended",
    )


def _writer(path: Path) -> str:
    """The process that has locked a log, as it names itself."""
    try:
        file = os.open(_writer_file(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(file, "rb") as opened, suppress(OSError):
        return opened.read(_WRITER_BYTES).decode("utf-8", "replace")
    return ""


def _writer_file(path: Path) -> Path:
    return path.parent.parent / _WRITER
