"""The tool that unpacks archives: their files become files of the task, and small ones are read at once."""

from __future__ import annotations

import asyncio
import zipfile
import zlib
from typing import Any

from egotools import ClientError
from ontology.errors import DocumentError, EgotoolsError, TooLargeError, UnsupportedError
from planners.journal.run_journal import RunJournal
from planners.kgot.tools.file_kinds import CONVERTED, TEXTS, file_kind
from planners.kgot.tools.inspect_file import FileInspector
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import NAMESPACE, ToolSet
from planners.kgot.tools.zip_checks import ZipLimits, checked_members, opened_zip

__all__ = ["ZipExtractor", "register_extract_zip", "unpack_again"]

_NAME = "extract_zip"
_READ_AT_ONCE = 8
"""Files: reading a document takes seconds, and the call has two minutes."""
_READ_BYTES = 256 * 2**10
_READ_CHARS = 12_000
"""Of all texts together: as much as one page of a file."""


class ZipExtractor:
    """Unpacks archives of a task.

    The body is ``{"file", "files": [{"name", "path", "bytes", …}]}``: ``name`` is the one by which tools know the file from now on,
    ``path`` its place in the archive. Of small files ``kind`` and ``text`` stand there too, as :class:`FileInspector` gives them.
    """

    def __init__(self, files: TaskFiles, inspector: FileInspector, limits: ZipLimits = ZipLimits()) -> None:  # noqa: B008  # frozen
        self._files = files
        self._inspector = inspector
        self._limits = limits
        self._depths: dict[str, int] = {}
        self._unpacked: dict[str, list[dict[str, Any]]] = {}
        self._bytes = 0
        self._one_at_a_time = asyncio.Lock()

    async def check(self) -> None:
        """Find out whether there is a folder for unpacked files.

        :raises UnsupportedError: when there is none.
        """
        if not self._files.takes_more:
            raise UnsupportedError("this run has no folder for unpacked files", subject=_NAME, remedy="Give one")

    async def extract_zip(self, file: str) -> dict[str, Any]:
        """Unpack an archive, once: a second call gives the same files.

        :raises ToolRequestError: for a file that the task does not have.
        :raises TooLargeError: for a bomb: too many files, too many bytes, too deep in other archives.
        :raises DocumentError: for what is no archive or a damaged one, and for one with members that are no ordinary files.
        :raises StorageError: when the files cannot be written.
        """
        await self.check()
        async with self._one_at_a_time:
            if file not in self._unpacked:
                self._unpacked[file] = await asyncio.to_thread(self._unpack, file)
        return {"file": file, "files": await self._read(self._unpacked[file])}

    def _unpack(self, file: str) -> list[dict[str, Any]]:
        depth = self._depths.get(file, 0) + 1
        if depth > self._limits.depth:
            raise TooLargeError(f"the archive stands {depth - 1} deep in others", subject=file)
        contents = _contents(file, self._files.read(file, self._limits.total_bytes), self._limits)
        self._bytes += sum(len(content) for _, content in contents)
        if self._bytes > self._limits.run_bytes:
            raise TooLargeError(
                f"the archives of this run have more than {self._limits.run_bytes:,} bytes", subject=file
            )
        made = []
        for path, content in contents:
            name = self._files.add(path, content, archive=file)
            self._depths[name] = depth
            made.append({"name": name, "path": path, "bytes": len(content)})
        return made

    async def _read(self, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        shown, chars, read = [], 0, 0
        for each in made:
            row = dict(each)
            if read < _READ_AT_ONCE and each["bytes"] <= _READ_BYTES:
                row |= await self._text(each["name"], _READ_CHARS - chars)
                read += "kind" in row
                chars += len(row.get("text", ""))
            shown.append(row)
        return shown

    async def _text(self, name: str, most: int) -> dict[str, Any]:
        """Return the text of a file that is short enough, or why it is not read."""
        try:
            if file_kind(name, self._files.read(name, _READ_BYTES)) not in CONVERTED | TEXTS:
                return {}
            page = await self._inspector.inspect_file(name)
        except (EgotoolsError, ClientError) as error:
            return {"note": str(error)}
        if page["pages"] > 1 or len(page["text"]) > most:
            return {"kind": page["kind"], "note": "too long to be shown here; read it by inspect_file"}
        return {"kind": page["kind"], "text": page["text"]}


def _contents(file: str, raw: bytes, limits: ZipLimits) -> list[tuple[str, bytes]]:
    """Return the path and the content of each file; no more bytes are unpacked than the archive says that it has."""
    try:
        with opened_zip(file, raw) as archive:
            if {"word/document.xml", "xl/workbook.xml"} & set(archive.namelist()):
                raise DocumentError("this is a document, no archive", subject=file, remedy="Use inspect_file")
            members = checked_members(file, archive, len(raw), limits)
            return [(each.filename.replace("\\", "/"), _content(archive, each)) for each in members]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError, OSError) as error:
        raise DocumentError(
            f"this is no zip archive, or a damaged one ({type(error).__name__})",
            subject=file,
            remedy="Use another file",
        ) from None


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as stream:
        content = stream.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise zipfile.BadZipFile("a member has another size than it says")
    return content


def register_extract_zip(tools: ToolSet, files: TaskFiles, inspector: FileInspector) -> str:
    """Register the tool and return its id."""
    extractor = ZipExtractor(files, inspector)
    return tools.register(
        extractor.extract_zip,
        name=_NAME,
        description=(
            "Unpack a zip archive of the task. Its files become files of the task, which the other tools read by the names that are"
            " returned; the text of small ones is returned at once."
        ),
        inputs={"file": {"type": "string", "description": "Name of the archive, for example data.zip."}},
        required=("file",),
        outputs={
            "files": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Name, size and place in the archive of each file, and the text of small ones.",
            }
        },
        check=extractor.check,
        timeout_s=600.0,
    )


async def unpack_again(tools: ToolSet, files: TaskFiles, journal: RunJournal) -> None:
    """Unpack what an earlier process of a run has unpacked: later calls name these files, by the names that were returned.

    :param tools: of the run, with this one.
    """
    id_ = f"{NAMESPACE}/{_NAME}"
    begun: dict[tuple[str, int], Any] = {}
    unpacked: list[Any] = []
    for record in journal.records:
        if record.data.get("tool") != id_:
            continue
        key = (record.data["key"], record.data["nth"])
        if record.kind == "call_begun":
            begun[key] = record.data["arguments"]
        elif record.kind == "call_ended" and record.data["ok"] and key in begun:
            body = record.data["gave"]["body"]
            for each in body["files"]:
                files.promise(body["file"], each["path"], each["name"])
            unpacked.append(begun[key])
    for arguments in unpacked:
        await tools.call(id_, arguments)
