"""Which reader knows a document."""

from __future__ import annotations

from ingest.sources.aws.source import AwsSource
from ingest.sources.document import Document
from ingest.sources.function import FunctionSource
from ingest.sources.google_discovery import GoogleDiscoverySource
from ingest.sources.mcp.source import McpSource
from ingest.sources.odata.source import ODataSource
from ingest.sources.openapi.source import OpenApiSource
from ingest.sources.python.source import PythonSource
from ingest.sources.source import Source
from ingest.sources.table.source import TableSource
from ontology.errors import DocumentError, InvalidArgumentError, UnknownFormatError

__all__ = ["SOURCES", "source_for", "source_named"]

_STRUCTURED = frozenset({".json", ".yaml", ".yml"})

#: All readers, in the order they are asked: the most telling signs first, tables (any list of things with names) last.
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


def source_for(document: Document) -> Source:
    """The reader for a document.

    :raises DocumentError: when it is empty, not UTF-8, or not the JSON or YAML that its ending says.
    :raises UnknownFormatError: when it can be read but no reader knows it.
    """
    if document.has_content and not document.head.strip("\0 \t\r\n"):
        raise DocumentError("the file is empty", subject=document.address)
    for source in SOURCES:
        if source.accepts(document):
            return source
    if document.suffix in _STRUCTURED:
        document.data  # noqa: B018 - a fault in the text says more than "unknown"
    raise UnknownFormatError(
        "no reader knows this document",
        subject=document.address,
        remedy="egotools reads " + ", ".join(source.name.split(".")[0] for source in SOURCES),
    )


def source_named(name: str) -> Source:
    """The reader of a versioned name (``openapi.v1``).

    :raises InvalidArgumentError: for an unknown name, listing the known ones.
    """
    for source in SOURCES:
        if source.name == name:
            return source
    known = ", ".join(source.name for source in SOURCES)
    raise InvalidArgumentError(f"unknown source {name!r}", subject="source", remedy=f"Known are {known}")
