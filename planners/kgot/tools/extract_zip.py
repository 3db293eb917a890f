"""The tool that unpacks archives: few, modest, ordinary files become files of the task, or the archive is refused as a whole."""

from __future__ import annotations

import asyncio
import re
import stat
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from egotools import ClientError
from ontology.errors import DocumentError, EgotoolsError, TooLargeError, UnsupportedError
from planners.journal.run_journal import RunJournal
from planners.kgot.tools.task_files import CONVERTED, READ_AS_TEXT, FileInspector, TaskFiles, file_kind, opened_zip
from planners.kgot.tools.tool_set import NAMESPACE

__all__ = ["Archives", "ZipLimits", "zip_tool"]

_NAME = "extract_zip"
_READ_AT_ONCE = 8
"""Files: reading a document takes seconds, and the call has minutes."""
_READ_BYTES = 256 * 2**10
_READ_CHARS = 12_000
"""Of all texts together: as much as one page of a file."""
_SMALL = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others take memory as their streams say."""
_ENCRYPTED = 0x41  # bits of the flags: the data, or the names
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError, OSError)


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


@dataclass(eq=False, repr=False)
class Archives:
    """The archives of a run, each unpacked once, into files of the task."""

    files: TaskFiles
    limits: ZipLimits = field(default_factory=ZipLimits)
    _depths: dict[str, int] = field(default_factory=dict, init=False)
    _unpacked: dict[str, list[dict[str, Any]]] = field(default_factory=dict, init=False)
    _bytes: int = field(default=0, init=False)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def check(self) -> None:
        """Find out whether there is a folder for unpacked files.

        :raises UnsupportedError: when there is none.
        """
        if self.files.folder is None:
            raise UnsupportedError("this run has no folder for unpacked files", subject=_NAME, remedy="Give one")

    async def unpack_again(self, journal: RunJournal) -> None:
        """Unpack what an earlier process of a run has unpacked: later calls name these files, by the names that were returned."""
        for record in journal.records:
            if record.kind == "call_ended" and record.data["tool"] == f"{NAMESPACE}/{_NAME}" and record.data["ok"]:
                body = record.data["gave"]["body"]
                await self.unpack(body["file"], {each["path"]: each["name"] for each in body["files"]})

    async def unpack(self, file: str, names: Mapping[str, str] = {}) -> list[dict[str, Any]]:
        """Unpack an archive, unless that was done, and return ``name``, ``path`` in the archive and ``bytes`` of its files.

        :param names: path of a file → the name that it had in an earlier process.
        :raises ToolRequestError: for a file that the task does not have.
        :raises TooLargeError: for a bomb: too many files, too many bytes, too deep in other archives.
        :raises DocumentError: for what is no archive or a damaged one, and for one with members that are no ordinary files.
        :raises StorageError: when the files cannot be written.
        """
        await self.check()
        async with self._one_at_a_time:
            if file in self._unpacked:
                return self._unpacked[file]
            depth = self._depths.get(file, 0) + 1
            if depth > self.limits.depth:
                raise TooLargeError(f"the archive stands {depth - 1} deep in others", subject=file)
            contents = await asyncio.to_thread(self._contents, file)
            self._bytes += sum(len(content) for _, content in contents)
            if self._bytes > self.limits.run_bytes:
                most = self.limits.run_bytes
                raise TooLargeError(f"the archives of this run have more than {most:,} bytes", subject=file)
            made = []
            for path, content in contents:
                name = await asyncio.to_thread(self.files.add, path, content, name=names.get(path, ""))
                self._depths[name] = depth
                made.append({"name": name, "path": path, "bytes": len(content)})
            self._unpacked[file] = made
            return made

    def _contents(self, file: str) -> list[tuple[str, bytes]]:
        """Return the path and the content of each file; no more bytes are unpacked than the archive says that it has."""
        raw = self.files.read(file, self.limits.total_bytes)
        try:
            with opened_zip(file, raw) as archive:
                if {"word/document.xml", "xl/workbook.xml"} & set(archive.namelist()):
                    raise DocumentError("this is a document, no archive", subject=file, remedy="Use inspect_file")
                members = _checked_members(file, archive, len(raw), self.limits)
                return [(each.filename.replace("\\", "/"), _content(archive, each)) for each in members]
        except _DAMAGED as error:
            problem = f"this is no zip archive, or a damaged one ({type(error).__name__})"
            raise DocumentError(problem, subject=file, remedy="Use another file") from None


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as stream:
        content = stream.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise zipfile.BadZipFile("a member has another size than it says")
    return content


def _checked_members(
    name: str, archive: zipfile.ZipFile, archive_bytes: int, limits: ZipLimits
) -> Sequence[zipfile.ZipInfo]:
    """Return the files of an archive, without folders, in their order.

    :raises TooLargeError: when it has too many files or bytes, or more bytes than its own size makes plausible.
    :raises DocumentError: when a name leads out of the archive or stands twice, a member is encrypted, or is no ordinary file.
    """
    members = [each for each in archive.infolist() if not each.filename.startswith("__MACOSX/")]
    if len(members) > limits.files:
        raise TooLargeError(f"the archive has {len(members):,} members; {limits.files:,} are the most", subject=name)
    seen: set[str] = set()
    for member in members:
        if why := _fault(member, seen):
            shown = member.filename[:200]
            raise DocumentError(f"the archive is refused: {shown!r} {why}", subject=name, remedy="Use another archive")
    files = [each for each in members if not each.is_dir()]
    total = sum(each.file_size for each in files)
    largest = max((each.file_size for each in files), default=0)
    if largest > limits.file_bytes or total > limits.total_bytes:
        problem = f"unpacked, the archive has {total:,} bytes, its largest file {largest:,}"
        remedy = f"At most {limits.total_bytes:,} are unpacked, and {limits.file_bytes:,} of one file"
        raise TooLargeError(problem, subject=name, remedy=remedy)
    if total > _SMALL and total > limits.ratio * archive_bytes:
        times = total / max(1, archive_bytes)
        raise TooLargeError(f"unpacked, the archive has {times:,.0f} times its size, as bombs have", subject=name)
    return files


def _fault(member: zipfile.ZipInfo, seen: set[str]) -> str:
    """Say what is wrong with a member; empty where nothing is."""
    path = member.filename.replace("\\", "/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    key = path.rstrip("/").casefold()
    is_name = member.orig_filename.replace("\\", "/") == path and path.strip("/") and path.isprintable()
    faults = {
        "is an absolute name": path.startswith("/") or re.match(r"[A-Za-z]:", path),
        "leads out of its folder": ".." in path.split("/"),
        "is no name of a file": not is_name,
        "is a link": kind == stat.S_IFLNK,
        "is no ordinary file": kind not in (0, stat.S_IFREG, stat.S_IFDIR),
        "is encrypted": member.flag_bits & _ENCRYPTED,
        "is compressed in a way that is not read here": member.compress_type not in _METHODS,
        "stands in it twice": key in seen,
    }
    seen.add(key)
    return next((fault for fault, found in faults.items() if found), "")


def zip_tool(archives: Archives, inspector: FileInspector) -> Callable[[str], Awaitable[dict[str, Any]]]:
    """Return the function that unpacks an archive.

    The body of its answers is ``{"file", "files": [{"name", "path", "bytes", …}]}``: ``name`` is the one by which tools know a file from
    now on. Of small files ``kind`` and ``text`` stand there too, as ``inspect_file`` gives them.
    """

    async def text_of(name: str, most: int) -> dict[str, Any]:
        """Return the text of a file that is short enough, or why it is not read."""
        try:
            if file_kind(name, archives.files.read(name, _READ_BYTES)) not in CONVERTED | READ_AS_TEXT:
                return {}
            page = await inspector.inspect_file(name, 1)
        except (EgotoolsError, ClientError) as error:
            return {"note": str(error)}
        if page["pages"] > 1 or len(page["text"]) > most:
            return {"kind": page["kind"], "note": "too long to be shown here; read it by inspect_file"}
        return {"kind": page["kind"], "text": page["text"]}

    async def extract_zip(file: str) -> dict[str, Any]:
        shown, chars, read = [], 0, 0
        for each in await archives.unpack(file):
            row = dict(each)
            if read < _READ_AT_ONCE and each["bytes"] <= _READ_BYTES:
                row |= await text_of(each["name"], _READ_CHARS - chars)
                read += "kind" in row
                chars += len(row.get("text", ""))
            shown.append(row)
        return {"file": file, "files": shown}

    return extract_zip
