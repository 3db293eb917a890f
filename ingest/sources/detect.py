"""Find the reader of a document's format."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.sources.aws.source import AwsSource
from ingest.sources.document import Document
from ingest.sources.function import FunctionSource
from ingest.sources.google import GoogleDiscoverySource
from ingest.sources.mcp.source import McpSource
from ingest.sources.odata.source import ODataSource
from ingest.sources.openapi.source import OpenApiSource
from ingest.sources.python.source import PythonSource
from ingest.sources.source import Source
from ingest.sources.table.source import TableSource
from ontology.errors import DocumentError, UnknownFormatError

__all__ = ["LIVE_PREFIXES", "SOURCES", "source_for"]

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
        if source.accepts(document):
            return source
    if document.suffix in {".json", ".yaml", ".yml"}:
        data = document.data  # a syntax error is more useful than "unknown format"
        if data == [] or (isinstance(data, Mapping) and data and all(value == [] for value in data.values())):
            raise DocumentError("the document lists no tools", subject=document.address, reason="no-operations")
    remedy = "egotools reads " + ", ".join(source.name.split(".")[0] for source in SOURCES)
    if _seems_sources_file(document):
        remedy = "If this is a sources file, its key is `sources`, not `source`"
    raise UnknownFormatError("no reader knows this document", subject=document.address, remedy=remedy)


def _seems_sources_file(document: Document) -> bool:
    return document.suffix in {".yaml", ".yml"} and isinstance(document.data, Mapping) and "source" in document.data
