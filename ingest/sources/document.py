"""The Document: one file or live address to read tools from; its content is read once and cached."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from zlib import error as ZlibError

from ingest.sources.access import NO_ACCESS, Access
from ingest.sources.fetch import fetch
from ingest.sources.file_state import FileState
from ingest.sources.parsing import parse_json, parse_yaml
from ontology.errors import DocumentError
from ontology.redaction import redacted_address, secrets_in

if TYPE_CHECKING:
    from ingest.sources.sources_file import SourceEntry


#: Maximum size of a document after unpacking, in bytes. JSONL is streamed: the limit is that of each line.
MAX_BYTES = 512 * 2**20

_HEAD_BYTES = 4096
_UTF8_MARK = b"\xef\xbb\xbf"


class Document:
    """One file, or one live address, to read tools from.

    :param address: as the user gave it; the attribute is without secrets, as it may be shown: a path,
        ``python:module:name``, ``aws:SERVICE``, ``google-discovery:API``,
        ``mcp:COMMAND …``, ``mcp+http(s)://…``, ``http(s)://…``.
    :param path: the file, or None for a live address.
    :param namespace: the first part of the ids of its tools.
    :param root: references to files outside this folder are rejected; the user's folder, else the file's own folder.
    :param source: the named source that it belongs to, or None.
    """

    def __init__(
        self,
        address: str,
        *,
        path: Path | None = None,
        namespace: str = "",
        root: Path | None = None,
        source: SourceEntry | None = None,
    ) -> None:
        #: The URL of the content; it may contain credentials and must not be shown.
        self.url = address if address.startswith(("http://", "https://")) else ""
        #: What a live server is reached by; likewise.
        self.target = address
        self.address = address if path is not None else redacted_address(address)
        self.path = path
        self.root = root if root is not None or path is None else path.parent
        self.namespace = namespace
        self.source = source
        #: Other files that the document refers to (``$ref``), as it names them, and their states when they were read or refused.
        self.references: dict[Path, FileState] = {}

    def __repr__(self) -> str:
        return f"Document({self.address!r})"

    @property
    def is_url(self) -> bool:
        """Whether the content is fetched from an ``http(s)://`` address."""
        return bool(self.url)

    @property
    def has_content(self) -> bool:
        """Whether it has content: a file or a URL has, a live server or a Python module has not."""
        return self.path is not None or self.is_url

    @property
    def access(self) -> Access:
        """How it is reached: environment variables, headers and references, resolved at the moment of use."""
        return self.source.access if self.source is not None else NO_ACCESS

    def secrets(self) -> tuple[str, ...]:
        """Return the values that are known to be secret: those of its address, and the referenced ones."""
        return (*secrets_in(self.target), *self.access.secrets()) if self.path is None else ()

    @property
    def suffix(self) -> str:
        """The file's ending in lower case without ``.gz`` (``.json``), or empty."""
        if not self.has_content:
            return ""
        name = self.path.name if self.path is not None else self.address.rsplit("/", 1)[-1]
        return Path(name.lower().removesuffix(".gz")).suffix

    @cached_property
    def content(self) -> bytes:
        """The bytes, unpacked when gzipped.

        :raises DocumentError: when the file is missing, unreadable, larger than :data:`MAX_BYTES`, or a damaged gzip.
        """
        if self.is_url:
            url, headers = self.access.expand(self.url), self.access.resolved_headers()
            return fetch(url, headers=headers, shown=self.address)
        try:
            with self._open() as handle:
                content = handle.read(MAX_BYTES + 1)
        except (OSError, EOFError, ZlibError) as error:
            raise self._unreadable(error) from error
        if len(content) > MAX_BYTES:
            raise self._too_large(f"the file is larger than {MAX_BYTES} bytes")
        return content

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield ``(number, line)``, numbers from 1, streamed from the file; a byte order mark is removed.

        :raises DocumentError: when the file is missing, unreadable, or a damaged gzip; for a line larger than
            :data:`MAX_BYTES`.
        """
        if self.is_url:
            yield from enumerate(self.content.removeprefix(_UTF8_MARK).splitlines(), 1)
            return
        try:
            with self._open() as handle:
                for number, line in enumerate(iter(lambda: handle.readline(MAX_BYTES + 1), b""), 1):
                    if len(line) > MAX_BYTES:
                        raise self._too_large(f"a line is larger than {MAX_BYTES} bytes", number)
                    yield number, line.removeprefix(_UTF8_MARK) if number == 1 else line
        except (OSError, EOFError, ZlibError) as error:
            raise self._unreadable(error) from error

    @cached_property
    def text(self) -> str:
        """The content as UTF-8 text; a byte order mark is removed.

        :raises DocumentError: when it is empty or not UTF-8, with the offset of the first invalid byte.
        """
        try:
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise DocumentError(
                f"the file is not UTF-8 (byte {error.start})",
                subject=f"{self.address}:{line}",
                remedy="Save it as UTF-8",
                reason="not-utf8",
            ) from error
        if not text.strip():
            raise DocumentError("the file is empty", subject=self.address, reason="empty")
        return text

    @cached_property
    def head(self) -> str:
        """The first 4 KiB as text, to detect the format; invalid bytes are replaced, an unreadable file raises DocumentError."""
        if "content" in self.__dict__ or self.path is None:
            raw = self.content[:_HEAD_BYTES]
        else:
            try:
                with self._open() as handle:
                    raw = handle.read(_HEAD_BYTES)
            except (OSError, EOFError, ZlibError) as error:
                raise self._unreadable(error) from error
        return raw.decode("utf-8-sig", errors="replace")

    @property
    def data(self) -> Any:
        """The parsed content: JSON when the text begins with ``{`` or ``[`` and the ending is not YAML's, else YAML.

        :raises DocumentError: with the line of the fault.
        """
        if isinstance(self._parsed, DocumentError):
            raise self._parsed
        return self._parsed

    @property
    def data_or_none(self) -> Any:
        """As :attr:`data`, but None where it cannot be parsed; used to detect the format."""
        return None if isinstance(self._parsed, DocumentError) else self._parsed

    @cached_property
    def _parsed(self) -> Any:
        """The data, or the error. The error is cached too, so a damaged document is parsed only once."""
        try:
            if self.suffix in {".yaml", ".yml"} or self.text.lstrip()[:1] not in "{[":
                return parse_yaml(self.text, subject=self.address)
            return parse_json(self.text, subject=self.address, whole=True)
        except DocumentError as error:
            return error

    def release(self) -> None:
        """Remove the content from memory; the next use reads it again."""
        for cached in ("content", "text", "head", "_parsed"):
            self.__dict__.pop(cached, None)

    def _open(self) -> IO[bytes]:
        if self.path is None:
            raise DocumentError("a live address has no file content", subject=self.address)
        raw = self.path.open("rb")
        try:
            magic = raw.read(2)
            raw.seek(0)
        except OSError:
            raw.close()
            raise
        if magic != b"\x1f\x8b":
            return raw
        raw.close()
        return cast(IO[bytes], gzip.open(self.path, "rb"))

    def _too_large(self, problem: str, line: int = 0) -> DocumentError:
        return DocumentError(
            problem,
            subject=f"{self.address}:{line}" if line else self.address,
            remedy="Split it, or write it as JSONL",
            reason="too-large",
        )

    def _unreadable(self, error: Exception) -> DocumentError:
        fault = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return DocumentError(
            f"the file cannot be read: {fault}", subject=self.address, remedy="Check the path and its permissions"
        )
