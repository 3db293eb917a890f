"""Find the documents of the addresses that the user gives: files, folders, globs, live addresses and sources files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.sources.aws.source import AwsSource
from ingest.sources.document import Document
from ingest.sources.function import FunctionSource
from ingest.sources.google.source import GoogleDiscoverySource
from ingest.sources.mcp.source import McpSource
from ingest.sources.naming import assign_namespaces
from ingest.sources.odata.source import ODataSource
from ingest.sources.openapi.source import OpenApiSource
from ingest.sources.python.child import PythonSource
from ingest.sources.source import RejectedRecord, Source
from ingest.sources.sources_file import SourceEntry, is_sources_file, load_sources
from ingest.sources.table.source import TableSource
from ontology.errors import DocumentError, InvalidArgumentError, UnknownFormatError
from ontology.redaction import redacted_address

#: All readers, in the order in which they are tried: the most specific formats first, tables (any list with names) last.
SOURCES: tuple[Source, ...] = (
    OpenApiSource(),
    ODataSource(),
    GoogleDiscoverySource(),
    AwsSource(),
    McpSource(),
    PythonSource(),
    FunctionSource(),
    TableSource(),
)

#: How a live address begins.
LIVE_PREFIXES = ("http://", "https://", *(prefix for source in SOURCES for prefix in source.live_prefixes))


def source_for(document: Document) -> Source:
    """Return the reader of a document: the first in :data:`SOURCES` that accepts it.

    :raises DocumentError: when it is empty, not UTF-8, or not valid JSON or YAML although its ending is that of one.
    :raises UnknownFormatError: when it can be read but no reader accepts it.
    """
    if document.has_content and not document.head.strip("\0 \t\r\n"):
        raise DocumentError("the file is empty", subject=document.address, reason="empty")
    for source in SOURCES:
        if source.accepts(document) if document.has_content else document.address.startswith(source.live_prefixes):
            return source
    if document.suffix in {".json", ".yaml", ".yml"}:
        data = document.data  # a syntax error is more useful than "unknown format"
        if data == [] or (isinstance(data, Mapping) and data and all(value == [] for value in data.values())):
            raise DocumentError("the document lists no tools", subject=document.address, reason="no-operations")
    remedy = "egotools reads " + ", ".join(source.name.split(".")[0] for source in SOURCES)
    if document.suffix in {".yaml", ".yml"} and isinstance(document.data, Mapping) and "source" in document.data:
        remedy = "If this is a sources file, its key is `sources`, not `source`"
    raise UnknownFormatError("no reader knows this document", subject=document.address, remedy=remedy)


# ``NAME=ADDRESS``: a name has no character that an address has before its first "=".
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,99})=(.+)", re.DOTALL)
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
# What a build writes into a store: no documents, also where the store stands among them
_STORE = frozenset(
    "CURRENT history.jsonl snapshots reports findings.json approvals.jsonl cache.sqlite outcomes".split()
)


class Found(NamedTuple):
    """The documents of some addresses."""

    documents: list[Document]  # each file once a source, sorted by address; live ones may have no namespace yet
    rejected: list[RejectedRecord]  # for each address that cannot be opened, and each pattern without a match
    sources: tuple[SourceEntry, ...] = ()  # the named sources, sorted by name
    shown: tuple[str, ...] = ()  # the addresses as they may be shown, in the order given


def find_documents(addresses: Sequence[str]) -> Found:
    """Return the documents of the addresses: files, folders, patterns, live addresses, ``NAME=ADDRESS`` and sources files.

    A sources file is read only when it is named itself, not when it is found in a folder: it can start commands.

    :raises SourcesFileError: for a sources file with faults.
    :raises InvalidArgumentError: when two sources have one name, and for an empty address.
    """
    if not all(address.strip() for address in addresses):
        remedy = "A variable of the shell may not be set; write . for the current folder"
        raise InvalidArgumentError("an address is empty", subject="ADDRESS", remedy=remedy)
    unnamed, entries = _split_named(addresses)
    by_identity: dict[tuple[str, str], Document] = {}
    rejected: list[RejectedRecord] = []
    places = [(address, None) for address in unnamed] + [(entry.location, entry) for entry in entries]
    for address, entry in places:
        for item in _expand(address, entry):
            if isinstance(item, RejectedRecord):
                rejected.append(item)
            else:
                identity = os.path.realpath(item.path) if item.path is not None else item.target
                by_identity.setdefault((entry.name if entry else "", identity), item)
    documents = sorted(by_identity.values(), key=lambda each: (each.address, each.source.name if each.source else ""))
    assign_namespaces(documents, entries)
    named = (f"{entry.name}={redacted_address(entry.location)}" for entry in entries)
    return Found(documents, rejected, entries, (*map(redacted_address, unnamed), *named))


def _split_named(addresses: Sequence[str]) -> tuple[list[str], tuple[SourceEntry, ...]]:
    """Return the addresses without a name, and the sources: those of sources files and those of ``NAME=ADDRESS``."""
    unnamed: list[str] = []
    entries: list[SourceEntry] = []
    for address in sorted(set(addresses)):
        named = _NAMED.fullmatch(address) if not os.path.lexists(address) else None
        if named is not None:
            entries.append(SourceEntry.model_construct(name=named[1], location=named[2], namespace=named[1]))
        elif is_sources_file(Path(address)):
            entries += load_sources(Path(address))
        else:
            unnamed.append(address)
    seen: set[str] = set()
    for name in (text for entry in entries for text in {entry.name, entry.namespace}):
        if name in seen:
            problem = f"two sources have the name or namespace {name!r}"
            raise InvalidArgumentError(problem, subject=name, remedy="Give each a name of its own")
        seen.add(name)
    return unnamed, tuple(sorted(entries, key=lambda entry: entry.name))


def _expand(address: str, source: SourceEntry | None) -> Iterator[Document | RejectedRecord]:
    path = Path(address)
    if address.startswith(LIVE_PREFIXES):
        yield Document(address, source=source)
    elif os.path.lexists(path):
        yield from _files(path, set(), path if path.is_dir() else path.parent, source)
    elif glob.has_magic(address):
        matches = sorted(glob.glob(address, recursive=True))
        if not matches:
            yield RejectedRecord(address, "missing", "The pattern matches no file.")
        parts = path.parent.parts
        fixed = next((index for index, part in enumerate(parts) if glob.has_magic(part)), len(parts))
        for match in matches:
            yield from _files(Path(match), set(), Path(*parts[:fixed]), source)
    else:
        gone = " google-discovery: is gone; write https://www.googleapis.com/discovery/v1/apis/NAME/VERSION/rest."
        detail = f"There is no such file or folder.{gone if 'google-discovery:' in address else ''}"
        yield RejectedRecord(address, "missing", detail)


def _files(path: Path, seen: set[str], root: Path, source: SourceEntry | None) -> Iterator[Document | RejectedRecord]:
    """Yield a file, or all files below a folder; ``seen`` has the folders already read, so that cyclic links end."""
    subject = path.as_posix()
    try:
        path.stat()
        names = sorted(os.listdir(path)) if path.is_dir() else []
    except OSError as error:
        reason = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
        yield RejectedRecord(subject, reason, f"Cannot be opened: {error.strerror}.")
        return
    if path.is_file():
        yield Document(subject, path=path, root=root, source=source)
    elif not path.is_dir():
        yield RejectedRecord(subject, "unreadable", "It is neither a file nor a folder.")
    elif (real := os.path.realpath(path)) not in seen:
        seen.add(real)
        skipped = _STORE if {"CURRENT", "snapshots"} <= set(names) else frozenset()
        for name in names:
            if not name.startswith(".") and name not in _SKIPPED_FOLDERS | skipped:
                yield from _files(path / name, seen, root, source)
