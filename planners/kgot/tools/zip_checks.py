"""What an archive must be so that it is unpacked: few, modest, ordinary files. It is taken as a whole, or refused with the reason."""

from __future__ import annotations

import contextlib
import io
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ontology.errors import DocumentError, TooLargeError

__all__ = ["ZipLimits", "checked_members", "opened_zip"]

_FOREIGN = ("__MACOSX/",)
"""What archivers of macOS add for themselves."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others take memory as their streams say."""
_ENCRYPTED = 0x41  # bits of the flags: the data, or the names
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipLimits:
    """Of one archive; ``run_bytes`` and ``depth`` of all archives of a run.

    :param files: the archives of the paper's benchmark tasks have up to some tens.
    :param file_bytes: of one file.
    :param total_bytes: of all files.
    :param ratio: bytes for each byte of the archive; texts reach 20, a column of equal numbers 200. One of less than a MiB passes.
    :param depth: archives within archives.
    """

    files: int = 500
    file_bytes: int = 20 * 2**20
    total_bytes: int = 100 * 2**20
    run_bytes: int = 200 * 2**20
    ratio: float = 200.0
    depth: int = 2


_SMALL = 2**20
_DIRECTORY_BYTES = 2**20
"""Of the directory of an archive: over 10,000 entries with names as they are; 500 files take 50 kB. Each entry becomes an object of 400 bytes."""


class _ArchiveBytes(io.BytesIO):
    """The bytes of an archive; while it is opened, what is read at once is bounded. Its directory is read at once, whatever number of
    entries its end record says, in the record of 32 or of 64 bits.
    """

    name = ""
    is_bounded = True

    def read(self, size: int | None = -1, /) -> bytes:
        if self.is_bounded and (size is None or not 0 <= size <= _DIRECTORY_BYTES):
            left = self.getbuffer().nbytes - self.tell()
            if left > _DIRECTORY_BYTES:
                raise TooLargeError(
                    f"the directory of the archive has more than {_DIRECTORY_BYTES:,} bytes", subject=self.name
                )
        return super().read(size)


@contextlib.contextmanager
def opened_zip(name: str, content: bytes) -> Iterator[zipfile.ZipFile]:
    """Open an archive whose directory is of modest size; a larger one is not read.

    :param name: of the file, for errors.
    :raises TooLargeError: when it is larger.
    :raises zipfile.BadZipFile: when this is no archive.
    """
    raw = _ArchiveBytes(content)
    raw.name = name
    with zipfile.ZipFile(raw) as archive:
        raw.is_bounded = False
        yield archive


def checked_members(
    name: str, archive: zipfile.ZipFile, archive_bytes: int, limits: ZipLimits
) -> Sequence[zipfile.ZipInfo]:
    """Return the files of an archive, without folders, in their order.

    :raises TooLargeError: when it has too many files or bytes, or more bytes than its own size makes plausible.
    :raises DocumentError: when a name leads out of the archive or stands twice, a member is encrypted, or is no ordinary file.
    """
    members = [each for each in archive.infolist() if not each.filename.startswith(_FOREIGN)]
    if len(members) > limits.files:
        raise TooLargeError(f"the archive has {len(members):,} members; {limits.files:,} are the most", subject=name)
    seen: set[str] = set()
    for member in members:
        if why := _fault(member, seen):
            shown = member.filename[:200]
            raise DocumentError(f"the archive is refused: {shown!r} {why}", subject=name, remedy="Use another archive")
    files = [each for each in members if not each.is_dir()]
    _check_sizes(name, files, archive_bytes, limits)
    return files


def _fault(member: zipfile.ZipInfo, seen: set[str]) -> str:
    """Say what is wrong with a member; empty where nothing is."""
    path = member.filename.replace("\\", "/")
    original = member.orig_filename.replace("\\", "/")
    if path.startswith("/") or _DRIVE.match(path):
        return "is an absolute name"
    if ".." in path.split("/"):
        return "leads out of its folder"
    if original != path or not path.strip("/") or not path.isprintable():
        return "is no name of a file"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is no ordinary file"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if member.compress_type not in _METHODS:
        return "is compressed in a way that is not read here"
    key = path.rstrip("/").casefold()
    if key in seen:
        return "stands in it twice"
    seen.add(key)
    return ""


def _check_sizes(name: str, files: Sequence[zipfile.ZipInfo], archive_bytes: int, limits: ZipLimits) -> None:
    total = sum(each.file_size for each in files)
    largest = max((each.file_size for each in files), default=0)
    if largest > limits.file_bytes or total > limits.total_bytes:
        raise TooLargeError(
            f"unpacked, the archive has {total:,} bytes, its largest file {largest:,}",
            subject=name,
            remedy=f"At most {limits.total_bytes:,} are unpacked, and {limits.file_bytes:,} of one file",
        )
    if total > _SMALL and total > limits.ratio * archive_bytes:
        raise TooLargeError(
            f"unpacked, the archive has {total / max(1, archive_bytes):,.0f} times its size, as bombs have",
            subject=name,
        )
