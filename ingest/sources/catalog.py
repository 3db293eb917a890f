"""The Catalog: the tools of all documents, under ids of their own, and a count of everything that was rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ingest.sources.addresses import find_documents
from ingest.sources.detect import source_for
from ingest.sources.document import Document
from ingest.sources.naming import Read, give_ids
from ingest.sources.source import RejectedRecord
from ingest.sources.tidy import tidy
from ontology.errors import CatalogError, DocumentError, UnknownFormatError
from ontology.tool import Tool
from ontology.urls import redacted_url

__all__ = ["Catalog", "DocumentReport", "read_catalog"]

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """What one document gave.

    :param format: name of the reader (``openapi.v1``), or empty where none knew it.
    :param tools: how many tools were taken.
    :param rejected: how many things in it were rejected.
    """

    address: str
    format: str
    tools: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All tools, in document order.

    :param renamed: ``(id as given, id in the catalogue)`` of tools whose ids two documents share.
    """

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedRecord, ...] = ()
    documents: tuple[DocumentReport, ...] = ()
    renamed: tuple[tuple[str, str], ...] = field(default=())

    def rejected_by_reason(self) -> dict[str, int]:
        """How many rejected records there are of each reason, the most frequent first."""
        counts = Counter(record.reason for record in self.rejected)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def read_catalog(
    addresses: Sequence[str], *, strict: bool = False, progress: Callable[[str], None] | None = None
) -> Catalog:
    """Read tools from files, folders, globs and live addresses into one catalogue.

    :param addresses: paths, patterns, ``python:module:name``, ``mcp:COMMAND``, ``mcp+http(s)://…``, ``http(s)://…``,
        ``aws:SERVICE``, ``google-discovery:NAME``.
    :param strict: fail when anything was rejected.
    :param progress: called with each document's address before it is read.
    :raises CatalogError: when no tool could be read at all, or under ``strict`` when anything was rejected.
    """
    documents, rejected = find_documents(addresses)
    reads: list[Read] = []
    for document in documents:
        if progress is not None:
            progress(document.address)
        reads.append(_read(document))
        document.forget()  # a catalogue of many documents must not hold them all in memory
    _forgive_referenced(reads)
    tools, naming_rejected, renamed = give_ids(reads)
    per_read = [[*read.rejected, *late] for read, late in zip(reads, naming_rejected, strict=True)]
    rejected += [record for group in per_read for record in group]
    catalog = Catalog(
        tools=tuple(tool for group in tools for tool in group),
        rejected=tuple(rejected),
        documents=tuple(
            DocumentReport(address=read.document.address, format=read.format, tools=len(group), rejected=len(records))
            for read, group, records in zip(reads, tools, per_read, strict=True)
            if not read.forgiven
        ),
        renamed=tuple(renamed),
    )
    _check(catalog, addresses, strict=strict)
    return catalog


def _read(document: Document) -> Read:
    """All tools of a document; one that cannot be read gives a rejected record instead."""
    read = Read(document=document)
    try:
        source = source_for(document)
        read.format = source.name
        read.keeps_ids = bool(getattr(source, "keeps_ids", False))
        for item in source.read(document):
            if isinstance(item, RejectedRecord):
                read.rejected.append(item)
            else:
                read.tools.append(tidy(item))
    except DocumentError as error:
        read.rejected.append(_rejected_record(error, document))
    except RecursionError:
        detail = "The document is nested too deeply."
        read.rejected.append(RejectedRecord(subject=document.address, reason="too-deep", detail=detail))
    return read


_REASONS = {
    "invalid JSON": "invalid-json",
    "invalid YAML": "invalid-yaml",
    "invalid XML": "invalid-xml",
    "not UTF-8": "not-utf8",
    "the file is not UTF-8": "not-utf8",
    "the file is empty": "empty",
    "the file cannot be read": "unreadable",
    "the file is larger": "too-large",
    "cannot be fetched": "unreachable",
    "the module": "not-importable",
    "unsupported version": "unsupported-version",
}


def _rejected_record(error: DocumentError, document: Document) -> RejectedRecord:
    if isinstance(error, UnknownFormatError):
        reason = "unknown-format"
    elif " must be " in error.problem:
        reason = "wrong-type"
    else:
        reason = next((r for start, r in _REASONS.items() if error.problem.startswith(start)), "unreadable")
    remedy = f" {error.remedy}." if error.remedy else ""
    return RejectedRecord(subject=error.subject or document.address, reason=reason, detail=f"{error.problem}.{remedy}")


def _forgive_referenced(reads: list[Read]) -> None:
    """A file that another document refers to (schemas in ``common.yaml``) has been read, so it is no unknown format."""
    referenced = {path for read in reads for path in read.document.references}
    for read in reads:
        path = read.document.path
        if read.format or path is None or path.resolve() not in referenced:
            continue
        if [record.reason for record in read.rejected] == ["unknown-format"]:
            read.rejected.clear()
            read.forgiven = True


def _check(catalog: Catalog, addresses: Sequence[str], *, strict: bool) -> None:
    listed = "; ".join(f"{record.subject}: {record.detail.rstrip('.')}" for record in catalog.rejected[:_SHOWN])
    more = len(catalog.rejected) - _SHOWN
    listed += f"; and {more} more" if more > 0 else ""
    if not catalog.tools:
        tried = _some(addresses) or "no address"
        raise CatalogError(
            f"no tool was found ({listed})" if listed else "no tool was found",
            subject=tried,
            remedy="Name files, folders or live addresses that describe tools",
        )
    if strict and catalog.rejected:
        raise CatalogError(
            f"{len(catalog.rejected)} rejected: {listed}",
            subject=_some(addresses),
            remedy="Mend them, or leave strict out to go on without them",
        )


def _some(addresses: Sequence[str]) -> str:
    shown = [redacted_url(address) if "://" in address else address for address in addresses[:_SHOWN]]
    more = len(addresses) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
