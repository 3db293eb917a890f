"""Tool documents to tools: one reader for each format behind the seam :class:`Source`, and the catalogue of all documents.

:func:`read_catalog` takes files, folders, patterns and live addresses, finds the reader of each document, and returns the tools
under unique ids, with a record of everything that was rejected and why.
"""

from __future__ import annotations

from ingest.sources.catalog import Catalog, DocumentReport, read_catalog
from ingest.sources.detect import SOURCES, source_for
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import flatten_schema
from ingest.sources.source import RejectedRecord, Source

__all__ = [
    "SOURCES",
    "Catalog",
    "Document",
    "DocumentReport",
    "RejectedRecord",
    "Source",
    "flatten_schema",
    "read_catalog",
    "source_for",
]
