"""Tool documents in: one reader for each format behind the seam :class:`Source`, and the catalogue that mixes them.

:func:`read_catalog` is the way in: it takes files, folders, patterns and live addresses, finds the reader of each document, and
gives back the tools under ids of their own with a count of everything that was rejected and why.
"""

from __future__ import annotations

from ingest.sources.catalog import Catalog, DocumentReport, read_catalog
from ingest.sources.detect import SOURCES, source_for, source_named
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
    "source_named",
]
