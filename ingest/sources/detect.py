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
from ontology.errors import DocumentError, UnknownFormatError

__all__ = ["LIVE_PREFIXES", "SOURCES", "source_for"]

#: All readers, in the order in which they are asked: the most specific formats first, tables (any list with names) last.
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
    """The reader of a document.

    :raises DocumentError: when it is empty, not UTF-8, or not the JSON or YAML that its ending announces.
    :raises UnknownFormatError: when it can be read but no reader knows it.
    """
    if document.has_content and not document.head.strip("\0 \t\r\n"):
        raise DocumentError("the file is empty", subject=document.address, reason="empty")
    for source in SOURCES:
        if source.accepts(document):
            return source
    if document.suffix in {".json", ".yaml", ".yml"}:
        document.data  # noqa: B018 - an error in the text is more useful than "unknown"
    raise UnknownFormatError(
        "no reader knows this document",
        subject=document.address,
        remedy="egotools reads " + ", ".join(source.name.split(".")[0] for source in SOURCES),
    )
