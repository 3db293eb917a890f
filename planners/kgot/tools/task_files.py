"""The files of a run, by name: reading them (documents as Markdown, texts as they are, long tables as rows), and unpacking archives."""

from __future__ import annotations

import asyncio
import codecs
import csv
import difflib
import inspect
import io
import json
import os
import re
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any

from egotools import ToolRequestError
from ontology.errors import DocumentError, InvalidArgumentError, MissingExtraError, StorageError, TooLargeError
from ontology.files import open_regular
from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.journal.run_journal import RunJournal

_CONVERTED = frozenset({"pdf", "docx", "xlsx"})
_TEXTS = frozenset({"html", "csv", "tsv", "json", "jsonl", "md", "txt"})
_PAGE_CHARS = 12_000  # about 3,000 tokens, so that four answers fit the window of a small model (16,384 tokens)
_MAX_NAME_BYTES = 200
_MAX_FILES = 1_000  # of one run
_MAX_FILE_BYTES = 20 * 2**20  # of a file that is read: what mail systems usually take as an attachment
# A pdf of 200 pages takes some 20 s; the converters need 230 MB of address space for a small file
_CONVERTING = SandboxLimits(seconds=60.0, memory_bytes=2**30, output_bytes=8 * 2**20)
# Of a table that is given as rows: as JSON it has up to four times as many, and an answer 10 MiB
_MOST_TABLE_CHARS = 2 * 2**20
_MOST_TOLD_ROWS = 50  # of a table that is told as text: more a model does not write down in one answer
_MOST_ENTRIES = 20_000  # of an archive, those of archives in it too where they are stored as they are
_ENDINGS = {"htm": "html", "xhtml": "html", "markdown": "md", "ndjson": "jsonl"}
_IMAGES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}
_PARTS = {"word/document.xml": "docx", "xl/workbook.xml": "xlsx"}
_OTHER_TOOLS = {"zip": "extract_zip", "image": "inspect_image"}
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_RULE = re.compile(r"\s*\|[\s:|-]*-[\s:|-]*")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?")  # 007 is a name
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipLimits:
    """Of one archive; ``run_bytes`` of all files that a run unpacks, so that archives in archives end somewhere."""

    files: int = 500
    file_bytes: int = 20 * 2**20
    total_bytes: int = 100 * 2**20
    run_bytes: int = 200 * 2**20


class TaskFiles:
    """Files by name: those of the task and what was unpacked from them; nothing else can be reached.

    :param files: of the task. Names are those of the files, without their folders.
    :param folder: for what is unpacked; of this run alone, and its owner removes it.
    :raises InvalidArgumentError: when one is a link, a folder, a device or a pipe, does not exist, or has the name of another.
    """

    def __init__(self, files: Iterable[Path], folder: Path, *, limits: ZipLimits | None = None) -> None:
        self._folder, self._limits = folder, limits or ZipLimits()
        self._converter = FileConverter()
        self._files: dict[str, Path] = {}
        self._unpacked: dict[str, list[dict[str, Any]]] = {}
        self._unpacked_bytes = 0
        self._one_at_a_time = asyncio.Lock()
        for path in files:
            if path.name in self._files:
                problem = "two files of the task have this name, by which tools know them"
                raise InvalidArgumentError(problem, subject=path.name, remedy="Rename one")
            os.close(open_regular(path, path.name))
            self._files[path.name] = path

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which the files came."""
        return tuple(self._files)

    def find(self, name: str) -> Path:
        """Return a file; raises ToolRequestError when the run has none of this name."""
        if name in self._files:
            return self._files[name]
        close = difflib.get_close_matches(name[:_MAX_NAME_BYTES], self._files, n=1)
        hint = f"Did you mean {close[0]}? " if close else ""
        remedy = f"{hint}Name a file of the task: {', '.join(self.names[:20]) or 'none'}."
        raise ToolRequestError("there is no such file", subject="file", remedy=remedy)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        :raises ToolRequestError: when the run has none of this name.
        :raises InvalidArgumentError: when it is no regular file any more.
        :raises TooLargeError: when it has more than 20 MiB; nothing was read.
        """
        fd = open_regular(self.find(name), name)
        with os.fdopen(fd, "rb") as file:
            size = os.fstat(fd).st_size
            if size > _MAX_FILE_BYTES:
                problem = f"the file has {size:,} bytes; {_MAX_FILE_BYTES:,} are the most that are read"
                raise TooLargeError(problem, subject=name, remedy="Use a smaller file, or read a part of it by Python")
            return file.read(_MAX_FILE_BYTES)

    async def inspect_file(self, file: str, page: int | None = None) -> dict[str, Any]:
        """Read a file, or a page of it: ``{"file", "kind", "page", "pages", "text"}``.

        ``text`` is Markdown of pdf, docx, xlsx and html (a table for each sheet, below its name), else the text of the file. A csv, tsv,
        jsonl, JSON or xlsx file that is one table of more than 50 rows, or longer than a page, has ``columns``, ``row_count`` and ``rows``,
        which are all rows, in the place of page and text, unless a page is asked for.

        :param page: from 1.
        :raises ToolRequestError: for a page that the file does not have, and see :meth:`read`.
        :raises DocumentError: when it is empty, damaged, encrypted, of another kind than its ending says, or of none that is read here.
        :raises TooLargeError: when it cannot be converted within the limits.
        :raises MissingExtraError: for a document without the extra ``files``.
        """
        content = await asyncio.to_thread(self.read, file)
        kind = await asyncio.to_thread(_file_kind, file, content)
        text = _decoded(file, content) if kind in _TEXTS else ""
        if kind in _CONVERTED or kind == "html":
            _, text = await self._converter.convert(file, kind, text.encode() if text else content)
        pages, rows = await asyncio.to_thread(lambda: (_pages(text, kind), _rows(text, kind)))
        is_table = len(rows) > _MOST_TOLD_ROWS or (bool(rows) and len(pages) > 1)
        if is_table and page is None:
            columns = list(dict.fromkeys(name for row in rows for name in row))
            size = {"pages": len(pages), "columns": columns, "row_count": len(rows)}
            return {"file": file, "kind": kind, **size, "rows": rows}
        page = 1 if page is None else page
        if not 1 <= page <= len(pages):
            raise ToolRequestError(f"the file has {len(pages)} pages", subject="page", remedy="Give one of them.")
        body = {"file": file, "kind": kind, "page": page, "pages": len(pages), "text": pages[page - 1]}
        if not pages[page - 1].strip():
            return {**body, "text": "", "note": "no text was found; a scanned page is an image"}
        return {**body, "note": "not the whole table; without a page all its rows are returned"} if is_table else body

    async def extract_zip(self, file: str) -> dict[str, Any]:
        """Unpack an archive into files of the task, unless that was done: ``{"file", "files": [{"name", "path", "bytes"}]}``.

        ``name`` is the one by which tools know a file from now on, ``path`` its place in the archive.

        :raises ToolRequestError: for a file that the task does not have.
        :raises TooLargeError: for too many files or bytes.
        :raises DocumentError: for what is no archive or a damaged one, and for one with members that are no ordinary files.
        :raises StorageError: when the files cannot be written.
        """
        return {"file": file, "files": await self._unpack(file, {})}

    async def unpack_again(self, journal: RunJournal) -> None:
        """Unpack what an earlier process of a run has unpacked: later calls name these files, by the names that were returned."""
        for record in journal.records:
            if record.kind == "call_ended" and record.data["tool"] == "kgot/extract_zip" and record.data["ok"]:
                body = record.data["gave"]["body"]
                await self._unpack(body["file"], {each["path"]: each["name"] for each in body["files"]})

    async def _unpack(self, file: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
        async with self._one_at_a_time:
            if file not in self._unpacked:
                contents = await asyncio.to_thread(_members, file, self.read(file), self._limits)
                self._unpacked_bytes += sum(len(content) for _, content in contents)
                if self._unpacked_bytes > (most := self._limits.run_bytes):
                    raise TooLargeError(f"the archives of this run have more than {most:,} bytes", subject=file)
                self._unpacked[file] = [
                    {"name": self.add(path, content, name=names.get(path, "")), "path": path, "bytes": len(content)}
                    for path, content in contents
                ]
            return self._unpacked[file]

    def add(self, path: str, content: bytes, *, name: str = "") -> str:
        """Add an unpacked file and return its name: the one given, else the last part of its path, with a number where that is taken.

        :param name: that an earlier process of the run gave it.
        :raises StorageError: when it cannot be written.
        :raises TooLargeError: when the run has too many files.
        """
        if len(self._files) >= _MAX_FILES:
            raise TooLargeError(f"the run has {_MAX_FILES:,} files already", subject=path)
        # The last part of the path as a name of one line, of bounded length; its ending is kept.
        last = (name or path).replace("\\", "/").rstrip("/").rpartition("/")[2]
        clean = "".join(each if each.isprintable() else "_" for each in last).strip()
        clean = "file" if clean in ("", ".", "..") else clean
        wanted = PurePath(clean.encode("utf-8", "replace")[-_MAX_NAME_BYTES:].decode("utf-8", "ignore"))
        own, number = wanted.name, 1
        while own in self._files:
            number += 1
            own = f"{wanted.stem}-{number}{wanted.suffix}"
        target = self._folder / secrets.token_hex(8)  # a name of an archive never becomes one of the disk
        try:
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(content)
        except OSError as error:
            problem = f"it cannot be written ({error.strerror})"
            raise StorageError(problem, subject=own, remedy="Free space, or choose another folder") from error
        self._files[own] = target
        return own


# --- Archives -------------------------------------------------------------------------------------------------------------------------


def _opened_zip(name: str, content: bytes) -> zipfile.ZipFile:
    """Open an archive, unless it has so many entries that their list alone takes much memory."""
    if content.count(b"PK\x01\x02") > _MOST_ENTRIES:  # each entry begins so, whatever number the archive says
        raise TooLargeError(f"the directory of the archive has more than {_MOST_ENTRIES:,} entries", subject=name)
    return zipfile.ZipFile(io.BytesIO(content))


def _members(name: str, raw: bytes, limits: ZipLimits) -> list[tuple[str, bytes]]:
    """Return path and content of each file of an archive; no more bytes are unpacked than the archive says that it has."""
    try:
        with _opened_zip(name, raw) as archive:
            if _PARTS.keys() & set(archive.namelist()):
                raise DocumentError("this is a document, no archive", subject=name, remedy="Use inspect_file")
            contents = []
            for member in _checked(name, archive.infolist(), limits):
                with archive.open(member) as stream:
                    content = stream.read(member.file_size + 1)
                if len(content) != member.file_size:
                    raise zipfile.BadZipFile("a member has another size than it says")
                contents.append((member.filename, content))
            return contents
    except _BROKEN_ZIP as error:
        problem = f"this is no zip archive, or a damaged one ({type(error).__name__})"
        raise DocumentError(problem, subject=name, remedy="Use another file") from None


def _checked(name: str, members: Sequence[zipfile.ZipInfo], limits: ZipLimits) -> list[zipfile.ZipInfo]:
    """Return the files among the members, once all are in order."""
    for member in members:
        path, kind = member.filename.replace("\\", "/"), stat.S_IFMT(member.external_attr >> 16)
        faults = {
            "is an absolute name": path.startswith("/") or re.match(r"[A-Za-z]:", path),
            "leads out of its folder": ".." in path.split("/"),
            "is a link, or no ordinary file": kind not in (0, stat.S_IFREG, stat.S_IFDIR),
            "is encrypted": member.flag_bits & 1,
            "is compressed in a way that is not read here": member.compress_type > zipfile.ZIP_DEFLATED,
        }
        if why := next((why for why, found in faults.items() if found), ""):
            problem = f"the archive is refused: {member.filename[:200]!r} {why}"
            raise DocumentError(problem, subject=name, remedy="Use another archive")
    files = [each for each in members if not each.is_dir() and not each.filename.startswith("__MACOSX/")]
    total, largest = sum(each.file_size for each in files), max((each.file_size for each in files), default=0)
    if len(files) > limits.files or largest > limits.file_bytes or total > limits.total_bytes:
        problem = f"the archive has {len(files):,} files of {total:,} bytes, the largest of {largest:,}"
        most = f"At most {limits.files:,} files of {limits.total_bytes:,} bytes are unpacked"
        raise TooLargeError(problem, subject=name, remedy=f"{most}, {limits.file_bytes:,} of one")
    return files


# --- Kinds of files -------------------------------------------------------------------------------------------------------------------


def image_type(content: bytes) -> str:
    """Return the MIME type of a picture that models look at (PNG, JPEG, GIF, WebP); empty of anything else."""
    found = "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""
    found = next((kind for magic, kind in _IMAGES.items() if content.startswith(magic)), found)
    return f"image/{found}" if found else ""


def _binary_kind(name: str, content: bytes) -> str:
    """Return the kind of what is no text; empty of a text, and of what nobody here knows."""
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # the second: an archive without a file
        try:
            with _opened_zip(name, content) as archive:
                names = set(archive.namelist())
        except _BROKEN_ZIP:
            return "zip"
        return next((kind for part, kind in _PARTS.items() if part in names), "zip")
    if content.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "encrypted, or of an Office before 2007"
    if image_type(content):
        return "image"
    return "pdf" if b"%PDF-" in content[:1_024] else ""  # where readers accept the mark


def _file_kind(name: str, content: bytes) -> str:
    """Return a kind of file that is read here, by the content; the ending decides only among kinds of text. Errors as of reading."""
    if not content:
        raise DocumentError("the file is empty", subject=name, reason="empty")
    said = PurePath(name).suffix.lower().removeprefix(".")
    said, found = _ENDINGS.get(said, said), _binary_kind(name, content)
    if said != found and said in (_CONVERTED | _TEXTS if found else _CONVERTED):
        problem = f"its name says {said}, but its content is {found or 'text'}"
        raise DocumentError(problem, subject=name, remedy="Use the file under its own ending")
    if found in _CONVERTED:
        return found
    if found:
        office = "Save it as docx or xlsx, without a password"
        remedy = f"Use {_OTHER_TOOLS[found]}" if found in _OTHER_TOOLS else office
        raise DocumentError(f"this is a file of kind {found}", subject=name, remedy=remedy)
    text = _decoded(name, content)
    if said == "json":
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            problem = f"its name says JSON, but it is none ({type(error).__name__})"
            raise DocumentError(problem, subject=name, reason="invalid-json") from None
    looks_like_html = text[:1_024].lstrip().lower().startswith(("<!doctype html", "<html"))
    return said if said in _TEXTS else "html" if looks_like_html else "txt"


def _decoded(name: str, content: bytes) -> str:
    """Return a text: in UTF-8, in UTF-16 where it says so, else in Windows-1252, in which most other files of Europe are."""
    encoding = next((encoding for bom, encoding in _BOMS if content.startswith(bom)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    if "\0" in text:
        raise DocumentError("this is no text, and of no kind that is read here", subject=name)
    return text


def _pages(text: str, kind: str) -> list[str]:
    """Cut a text between lines; the names of the columns of a csv or tsv file stand on each page."""
    longest = _PAGE_CHARS // 2
    lines = [line[at : at + longest] for line in text.splitlines() for at in range(0, max(1, len(line)), longest)]
    head = lines[:1] if kind in ("csv", "tsv") and len(lines[0]) <= _PAGE_CHARS // 4 else []
    pages, size = [list[str]()], 0
    for line in lines:
        if size + len(line) + 1 > _PAGE_CHARS:
            pages.append(list(head))
            size = sum(len(each) + 1 for each in head)
        pages[-1].append(line)
        size += len(line) + 1
    return ["\n".join(page) for page in pages]


def _rows(text: str, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a text that is one table; none where it is not, or is very long."""
    if len(text) > _MOST_TABLE_CHARS:
        return []
    try:
        if kind in ("json", "jsonl"):
            listed = json.loads(text) if kind == "json" else [json.loads(line) for line in text.splitlines() if line]
            members = [listed, *listed.values()] if isinstance(listed, dict) else [listed]
            lists = [each for each in members if isinstance(each, list)]
            return lists[0] if len(lists) == 1 and all(isinstance(row, dict) for row in lists[0]) else []
        if kind in ("csv", "tsv"):
            dialect = csv.Sniffer().sniff(text[:8_192], ",;\t|")
            return _records(csv.reader(io.StringIO(text, newline=""), dialect), dialect.delimiter == ";")
        if kind == "xlsx" and len(re.findall(r"^## ", text, re.MULTILINE)) == 1:
            lines = [line for line in text.splitlines() if line.startswith("|") and not _RULE.fullmatch(line)]
            return _records([each.strip() for each in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines)
    except (ValueError, csv.Error, RecursionError):
        pass
    return []


def _records(table: Iterable[list[str]], with_commas: bool = False) -> list[dict[str, Any]]:
    """Return the rows below the names of the columns; a column of numbers only has numbers, and ``with_commas`` says
    whether decimals may be written with a comma. None where a row has other columns."""
    names, *rows = [row for row in table if any(row)] or [[]]
    if any(len(row) != len(names) for row in rows) or len(set(names)) < len(names):
        return []
    columns = []
    for column in zip(*rows, strict=True):
        plain = [each.replace(",", ".") if with_commas else each for each in column]
        numeric = all(_NUMBER.fullmatch(each) for each in plain if each)
        columns.append([json.loads(each) if each else None for each in plain] if numeric else list(column))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


# --- Documents as Markdown ------------------------------------------------------------------------------------------------------------


class FileConverter:
    """Makes Markdown of documents in a sandbox: a hostile one holds up, or breaks, only that process."""

    def __init__(self) -> None:
        self._sandbox = Sandbox(_CONVERTING)

    async def check(self) -> None:
        """Find out whether documents can be converted here: raises MissingExtraError without the extra ``files``,
        IsolationError when the conversion cannot be isolated."""
        if any(find_spec(module) is None for module in ("markitdown", "pdfminer", "mammoth", "openpyxl", "bs4")):
            raise MissingExtraError("documents (pdf, docx, xlsx, html)", extra="files")
        await self._sandbox.check()

    async def convert(self, name: str, kind: str, content: bytes, charset: str = "", base: str = "") -> tuple[str, str]:
        """Return the title, which only html has, and the text of a ``pdf``, ``docx``, ``xlsx`` or ``html``. Errors name
        the document; links of a page of the web become absolute by ``base``, its address. Raises TooLargeError when it
        cannot be converted within the limits, DocumentError when it is damaged or encrypted, and what :meth:`check`
        raises."""
        await self.check()
        code = f"{inspect.getsource(_convert)}\n_convert({kind!r}, {charset!r}, {base!r})\n"
        result = await self._sandbox.run(code, stdin=content)
        if result.ended in ("timeout", "output", "killed"):
            problem = f"the file cannot be converted within the limits ({result.ended})"
            raise TooLargeError(problem, subject=name, remedy="Use a smaller file")
        try:
            answer = json.loads(result.stdout)
        except ValueError:
            answer = {"fault": "", "detail": result.stderr.strip().rpartition("\n")[2]}
        if "fault" not in answer:
            return answer["title"], answer["text"]
        kinds, detail = answer["fault"].split(), answer["detail"]  # names of the classes of the error
        if "MemoryError" in kinds:
            raise TooLargeError("the file takes too much memory to convert", subject=name, remedy="Use a smaller file")
        why = ": ".join(filter(None, (*kinds[:1], detail)))[:200]
        problem, remedy = f"the file is damaged or not of its kind ({why})", "Use another file"
        if {"PDFEncryptionError", "PDFPasswordIncorrect"} & set(kinds):
            problem, remedy = "the file is encrypted", "Save it without a password"
        raise DocumentError(problem, subject=name, remedy=remedy)


def _convert(kind: str, charset: str, base: str) -> None:
    """Write the Markdown of a file on stdin to stdout. The interpreter in the sandbox is given this text, and no more of the package."""
    import io
    import json
    import sys
    import types
    import urllib.parse

    def converted() -> tuple[str, str]:
        content, title = sys.stdin.buffer.read(), ""
        # The package looks at files of unknown kind by a neural network, which takes a second to load; the kind is known here.
        sys.modules["magika"] = types.ModuleType("magika")
        from markitdown import StreamInfo, converters

        if kind == "html":
            from bs4 import BeautifulSoup

            soup = BeautifulSoup(content, "lxml", from_encoding=charset or None)
            title = " ".join(soup.title.get_text().split())[:300] if soup.title else ""
            for hidden in soup("head script style noscript template svg iframe textarea select img".split()):
                hidden.decompose()
            for link in soup("a", href=True):
                address = urllib.parse.urljoin(base, str(link["href"]).strip())
                link["href"] = address
                if base and not address.startswith(("http://", "https://")):
                    link.unwrap()
            content = str(soup).encode("utf-8", "replace")
        names = {"pdf": "PdfConverter", "docx": "DocxConverter", "xlsx": "XlsxConverter", "html": "HtmlConverter"}
        info = StreamInfo(extension=f".{kind}", charset="utf-8" if kind == "html" else None)
        text = str(getattr(converters, names[kind])().convert(io.BytesIO(content), info).markdown)
        return title, text.strip() if kind == "html" else text

    try:
        title, text = converted()
        answer = {"title": title, "text": text}
    except MemoryError:
        answer = {"fault": "MemoryError", "detail": ""}
    except Exception as error:  # the converters raise whatever their parsers do
        answer = {"fault": " ".join(each.__name__ for each in type(error).__mro__), "detail": str(error)[:200]}
    sys.stdout.write(json.dumps(answer))
