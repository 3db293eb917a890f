"""The Catalog: the tools of all documents with unique ids, and a record of everything that was rejected."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from ingest.sources.addresses import find_documents, source_for
from ingest.sources.document import OUTSIDE, Document, FileState
from ingest.sources.naming import (
    FOREIGN_NAMESPACE,
    HINT_IGNORED,
    DocumentRead,
    assign_ids,
    name_live_documents,
    settle_names,
)
from ingest.sources.read_cache import ReadCache
from ingest.sources.sanitize import printable, sanitize_tool, secret_places, without_secrets
from ingest.sources.source import RejectedRecord
from ingest.sources.sources_file import SourceEntry
from ontology.errors import CatalogError, DocumentError, MissingExtraError
from ontology.redaction import redact, redacted_address
from ontology.tool import NamedSource, Tool, without_dependencies

EXCLUDES_NOTHING: Final = "excludes-nothing"  # the reason of a record that is a warning: also under ``strict`` no error


_MAX_LISTED = 20
# The text of a rejected record may be written by a document or a server. Chosen, not tuned: a few lines of a terminal. Secrets are
# taken out before the cut, which could leave half of one; a longer text is searched at its start only.
_MAX_SUBJECT_CHARS = 1_000
_MAX_DETAIL_CHARS = 500
_MAX_SEARCHED_CHARS = 10_000
# Reasons of records whose document was read as a whole: what it does not list is not there.
_WARNINGS = frozenset({EXCLUDES_NOTHING, HINT_IGNORED})
_READ = _WARNINGS | {FOREIGN_NAMESPACE, "duplicate-id", "no-match", "no-operations", "unknown-dependency"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """The counts of one document.

    :param format: name of the reader (``openapi.v1``), or empty for an unknown format.
    :param tools: number of tools read.
    :param rejected: number of rejected records.
    :param source: the name of its source in a sources file or on the command line, or empty.
    :param left_out: number of tools that its source leaves out.
    :param secrets: the places of its tools where a key or a password was taken out, ``tool id: field``; never a value.
    :param seconds: how long it took to read.
    """

    address: str
    format: str
    tools: int
    rejected: int
    source: str = ""
    left_out: int = 0
    secrets: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All tools, in document order.

    :param renamed: ``(original id, id in the catalogue)`` of each tool whose id several documents have.
    :param sources: the named sources, sorted by name.
    :param unread: source → why it, or a part of it, could not be read: it may have more tools than these.
    :param references: the other files that the documents refer to, sorted, also those that are missing or refused, and their states
        when they were read.
    """

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedRecord, ...] = ()
    documents: tuple[DocumentReport, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    sources: tuple[SourceEntry, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    references: tuple[tuple[Path, FileState], ...] = ()

    def rejected_by_reason(self) -> dict[str, int]:
        """Return the number of rejected records of each reason, by reason."""
        return dict(sorted(Counter(record.reason for record in self.rejected).items()))


def read_catalog(
    addresses: Sequence[str],
    *,
    strict: bool = False,
    progress: Callable[[str], None] | None = None,
    cache: ReadCache | None = None,
    complete: Callable[[Catalog], Catalog] | None = None,
) -> Catalog:
    """Read tools from files, folders, globs and live addresses into one catalogue.

    :param addresses: paths, patterns, ``python:module:name``, ``mcp:COMMAND``, ``mcp+http(s)://…``, ``http(s)://…``,
        ``aws:SERVICE``; each also as ``NAME=ADDRESS``; a sources file (``sources.yaml``).
    :param strict: whether a rejected record is an error.
    :param progress: called with each document's address before it is read.
    :param cache: files that have not changed are taken from it.
    :param complete: returns the catalogue with what is known of the sources that could not be read; called where there is one.
    :raises CatalogError: when no tool could be read, or when ``strict`` is true and a record was rejected.
    :raises SourcesFileError: for a sources file with faults.
    :raises InvalidArgumentError: when two sources have one name.
    """
    documents, missing, sources, shown = find_documents(addresses)
    reads: list[DocumentRead] = []
    for document in documents:
        if progress is not None:
            progress(document.address)
        reads.append(_read(document, cache))
        document.release()  # keep at most one document in memory
    _report_unmatched(reads)
    _drop_referenced(reads)
    name_live_documents(reads, sources)
    settle_names(reads, sources)
    renamed = assign_ids(reads)
    catalog = Catalog(
        tools=tuple(tool for read in reads for tool in read.tools),
        rejected=tuple(map(_shown, (*missing, *(record for read in reads for record in read.rejected)))),
        documents=tuple(_report(read) for read in reads if read.counted),
        renamed=tuple(renamed),
        sources=sources,
        unread=_unread(sources, reads),
        references=tuple(sorted({each for document in documents for each in document.references.items()})),
    )
    if complete is not None and catalog.unread:
        catalog = complete(catalog)
    _check(catalog, shown, strict=strict)
    return catalog


def _read(document: Document, cache: ReadCache | None) -> DocumentRead:
    """Read all tools of a document, or take them from the cache; a document that cannot be read gives a rejected record."""
    started = time.perf_counter()
    secrets = document.secrets()
    state = cache.state(document) if cache is not None else None
    read = cache.get(document, state) if cache is not None and state is not None else None
    if read is None:
        read = DocumentRead(document=document)
        read_tools(document, read)
        for number, tool in enumerate(read.tools):
            cleaned = without_secrets(tool, secrets)
            if cleaned is not tool:
                read.tools[number] = cleaned
                read.secrets += [f"{cleaned.id}: {place}" for place in secret_places(tool, cleaned)]
        if cache is not None and state is not None:
            cache.put(read, state)
    if document.source is not None:
        _select(read, document.source)
    read.rejected = [_shown(record, secrets) for record in read.rejected]
    read.seconds = time.perf_counter() - started
    return read


def read_tools(document: Document, read: DocumentRead) -> None:
    """Add the tools and the rejected records of a document."""
    try:
        source = source_for(document)
        read.format, read.keeps_ids = source.name, source.keeps_ids
        for item in source.read(document):
            if isinstance(item, RejectedRecord):
                read.rejected.append(item)
            else:
                read.tools.append(sanitize_tool(item))
    except MissingExtraError:
        raise
    except Exception as error:  # whatever one document makes a reader do, the others are read
        subject = error.subject if isinstance(error, DocumentError) else ""
        read.rejected.append(RejectedRecord.of_error(subject or document.address, error))


def _select(read: DocumentRead, entry: SourceEntry) -> None:
    """Leave out the tools that a source does not want, and dependencies on them; note which of its patterns match no tool."""

    def matches(texts: Iterable[str], patterns: Iterable[str]) -> bool:
        return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)

    texts: dict[str, list[str]] = {}
    for tool in read.tools:
        tags = tool.metadata.get("tags")
        texts[tool.id] = [tool.id, tool.name, *(map(str, tags) if isinstance(tags, (list, tuple)) else ())]
    wanted = {
        id_
        for id_, own in texts.items()
        if (not entry.include or matches(own, entry.include)) and not matches(own, entry.exclude)
    }
    if read.tools:
        stated = [("include", each) for each in entry.include] + [("exclude", each) for each in entry.exclude]
        all_texts = {text for own in texts.values() for text in own}
        read.unmatched = frozenset((key, pattern) for key, pattern in stated if not matches(all_texts, [pattern]))
    kept = [tool for tool in read.tools if tool.id in wanted]
    left_out = {name for tool in read.tools for name in (tool.id, tool.name)}
    left_out -= {name for tool in kept for name in (tool.id, tool.name)}
    read.left_out = len(read.tools) - len(kept)
    chosen = without_dependencies(kept, left_out)
    read.tools = [replace(tool, metadata={**tool.metadata, **entry.metadata}) for tool in chosen]


def _report(read: DocumentRead) -> DocumentReport:
    return DocumentReport(
        address=printable(read.document.address),
        format=read.format,
        tools=len(read.tools),
        rejected=len(read.rejected),
        source=read.document.source.name if read.document.source is not None else "",
        left_out=read.left_out,
        secrets=tuple(read.secrets),
        seconds=round(read.seconds, 3),
    )


def _shown(record: RejectedRecord, secrets: tuple[str, ...] = ()) -> RejectedRecord:
    """Return the record as any terminal and file can hold it: cut, and without what is known to be secret."""

    def cut(text: str, limit: int) -> str:
        shown = redact(printable(text[:_MAX_SEARCHED_CHARS]), secrets)
        return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"

    return replace(
        record, subject=cut(record.subject, _MAX_SUBJECT_CHARS), detail=cut(record.detail, _MAX_DETAIL_CHARS)
    )


def _report_unmatched(reads: Sequence[DocumentRead]) -> None:
    """Add a record for each pattern of a source that matches no tool of it, to its first document; that of an exclusion is no fault."""
    by_source: defaultdict[str, list[tuple[DocumentRead, frozenset[tuple[str, str]]]]] = defaultdict(list)
    for read in reads:
        if read.document.source is not None and read.unmatched is not None:
            by_source[read.document.source.name].append((read, read.unmatched))
    for name, own in by_source.items():
        for key, pattern in sorted(frozenset.intersection(*(unmatched for _, unmatched in own))):
            reason = "no-match" if key == "include" else EXCLUDES_NOTHING
            detail = f"The pattern {pattern!r} of {key} matches no tool; case counts."
            own[0][0].rejected.append(RejectedRecord(f"source {name}", reason, detail))


def _drop_referenced(reads: Sequence[DocumentRead]) -> None:
    """Remove the record of an unknown format for files that another document references (schemas in ``common.yaml``)."""
    states = (state for read in reads for state in read.document.references.values())
    referenced = {state.target for state in states if state.kind != OUTSIDE}
    for read in reads:
        path = read.document.path
        unknown = not read.format and [record.reason for record in read.rejected] == ["unknown-format"]
        if unknown and path is not None and os.path.realpath(path) in referenced:
            read.rejected.clear()
            read.counted = False


def _unread(sources: Sequence[SourceEntry], reads: Sequence[DocumentRead]) -> dict[str, str]:
    """Return why sources could not be read as a whole; one without any document may be on a disk that is not there."""
    unread: dict[str, str] = {}
    for entry in sources:
        own = [read for read in reads if read.document.source == entry]
        faults = [_shown(record) for read in own for record in read.rejected if record.reason not in _READ]
        if faults or not own:
            unread[entry.name] = f"{faults[0].subject}: {faults[0].detail}" if faults else "no document is there"
    return unread


def _check(catalog: Catalog, shown: Sequence[str], *, strict: bool) -> None:
    found = _listed([f"{record.subject}: {record.detail.rstrip('.')}" for record in catalog.rejected], "; ")
    tried = _listed(shown, ", ")
    if not catalog.tools:
        remedy = "Name files, folders or live addresses that describe tools"
        if catalog.rejected and all(record.reason == "missing" for record in catalog.rejected):
            details = dict.fromkeys(record.detail.rstrip(".") for record in catalog.rejected)
            subjects = [record.subject for record in catalog.rejected]
            raise CatalogError("; ".join(details), subject=_listed(subjects, ", "), remedy=remedy)
        problem = f"no tool was found ({found})" if found else "no tool was found: there is no document"
        raise CatalogError(problem, subject=tried or "no address", remedy=remedy)
    faults = [record for record in catalog.rejected if record.reason not in _WARNINGS]
    if strict and faults:
        remedy = "Correct them, or leave strict out to go on without them"
        raise CatalogError(f"{len(faults)} rejected: {found}", subject=tried, remedy=remedy)


def _listed(texts: Sequence[str], separator: str) -> str:
    more = [f"and {len(texts) - _MAX_LISTED} more"] if len(texts) > _MAX_LISTED else []
    return separator.join([*texts[:_MAX_LISTED], *more])


def named_sources(catalog: Catalog) -> tuple[NamedSource, ...]:
    """Return the named sources of a catalogue, sorted by name."""
    namespaces: dict[str, Counter[str]] = {entry.name: Counter() for entry in catalog.sources}
    for tool in catalog.tools:
        source = tool.metadata.get("source")
        if source in namespaces:
            namespaces[source][tool.namespace] += 1
    return tuple(
        NamedSource(
            name=entry.name,
            location=redacted_address(entry.location),
            namespaces=tuple(sorted(namespaces[entry.name])),
            owner=entry.owner,
            description=entry.description,
            aliases=entry.aliases,
            tools=namespaces[entry.name].total(),
        )
        for entry in catalog.sources
    )
