"""The Catalog: the tools of all documents, under ids of their own, and a count of everything that was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ingest.sources.addresses import find_documents
from ingest.sources.detect import source_for
from ingest.sources.document import Document
from ingest.sources.fetch import without_credentials
from ingest.sources.naming import Read, give_ids
from ingest.sources.source import Refusal
from ingest.sources.tidy import tidy
from ontology.errors import CatalogError, DocumentError, UnknownFormatError
from ontology.tool import Tool

__all__ = ["Catalog", "DocumentReport", "read_catalog"]

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """What one document gave.

    :param format: name of the reader (``openapi.v1``), or empty where none knew it.
    :param tools: how many tools were taken.
    :param refused: how many things in it were refused.
    """

    address: str
    format: str
    tools: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All tools, in document order.

    :param renamed: ``(id as given, id in the catalogue)`` of tools whose ids two documents share.
    """

    tools: tuple[Tool, ...]
    refusals: tuple[Refusal, ...] = ()
    documents: tuple[DocumentReport, ...] = ()
    renamed: tuple[tuple[str, str], ...] = field(default=())

    def refused_by_reason(self) -> dict[str, int]:
        """How many refusals there are of each reason, the most frequent first."""
        counts = Counter(refusal.reason for refusal in self.refusals)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def read_catalog(
    addresses: Sequence[str], *, strict: bool = False, progress: Callable[[str], None] | None = None
) -> Catalog:
    """Read tools from files, folders, globs and live addresses into one catalogue.

    :param addresses: paths, patterns, ``python:module:name``, ``mcp:COMMAND``, ``mcp+http(s)://…``, ``http(s)://…``,
        ``aws:SERVICE``, ``google-discovery:NAME``.
    :param strict: fail when anything was refused.
    :param progress: called with each document's address before it is read.
    :raises CatalogError: when no tool could be read at all, or under ``strict`` when anything was refused.
    """
    documents, refusals = find_documents(addresses)
    reads: list[Read] = []
    for document in documents:
        if progress is not None:
            progress(document.address)
        reads.append(_read(document))
        document.forget()  # a catalogue of many documents must not hold them all in memory
    _forgive_referenced(reads)
    tools, naming_refusals, renamed = give_ids(reads)
    per_read = [[*read.refusals, *late] for read, late in zip(reads, naming_refusals, strict=True)]
    refusals += [refusal for group in per_read for refusal in group]
    catalog = Catalog(
        tools=tuple(tool for group in tools for tool in group),
        refusals=tuple(refusals),
        documents=tuple(
            DocumentReport(address=read.document.address, format=read.format, tools=len(group), refused=len(refused))
            for read, group, refused in zip(reads, tools, per_read, strict=True)
            if not read.forgiven
        ),
        renamed=tuple(renamed),
    )
    _check(catalog, addresses, strict=strict)
    return catalog


def _read(document: Document) -> Read:
    """All tools of a document; one that cannot be read gives its refusal instead."""
    read = Read(document=document)
    try:
        source = source_for(document)
        read.format = source.name
        read.keeps_ids = bool(getattr(source, "keeps_ids", False))
        for item in source.read(document):
            if isinstance(item, Refusal):
                read.refusals.append(item)
            else:
                read.tools.append(tidy(item))
    except DocumentError as error:
        read.refusals.append(_refusal(error, document))
    except RecursionError:
        detail = "The document is nested too deeply."
        read.refusals.append(Refusal(subject=document.address, reason="too-deep", detail=detail))
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


def _refusal(error: DocumentError, document: Document) -> Refusal:
    if isinstance(error, UnknownFormatError):
        reason = "unknown-format"
    elif " must be " in error.problem:
        reason = "wrong-type"
    else:
        reason = next((r for start, r in _REASONS.items() if error.problem.startswith(start)), "unreadable")
    remedy = f" {error.remedy}." if error.remedy else ""
    return Refusal(subject=error.subject or document.address, reason=reason, detail=f"{error.problem}.{remedy}")


def _forgive_referenced(reads: list[Read]) -> None:
    """A file that another document refers to (schemas in ``common.yaml``) has been read, so it is no unknown format."""
    referenced = {path for read in reads for path in read.document.references}
    for read in reads:
        path = read.document.path
        if read.format or path is None or path.resolve() not in referenced:
            continue
        if [refusal.reason for refusal in read.refusals] == ["unknown-format"]:
            read.refusals.clear()
            read.forgiven = True


def _check(catalog: Catalog, addresses: Sequence[str], *, strict: bool) -> None:
    listed = "; ".join(f"{refusal.subject}: {refusal.detail.rstrip('.')}" for refusal in catalog.refusals[:_SHOWN])
    more = len(catalog.refusals) - _SHOWN
    listed += f"; and {more} more" if more > 0 else ""
    if not catalog.tools:
        tried = _some(addresses) or "no address"
        raise CatalogError(
            f"no tool was found ({listed})" if listed else "no tool was found",
            subject=tried,
            remedy="Name files, folders or live addresses that describe tools",
        )
    if strict and catalog.refusals:
        raise CatalogError(
            f"{len(catalog.refusals)} refused: {listed}",
            subject=_some(addresses),
            remedy="Mend them, or leave strict out to go on without them",
        )


def _some(addresses: Sequence[str]) -> str:
    shown = [without_credentials(address) if "://" in address else address for address in addresses[:_SHOWN]]
    more = len(addresses) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
