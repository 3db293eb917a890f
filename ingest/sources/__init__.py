"""Read tools from documents: one reader for each format, all with the interface :class:`Source`, and the catalogue of all tools.

:func:`read_catalog` takes files, folders, patterns and live addresses and finds the reader of each document. It returns the
tools with unique ids, and a record with the reason for everything that was rejected.
"""

from __future__ import annotations

from ingest.sources.addresses import SOURCES, source_for
from ingest.sources.catalog import Catalog, DocumentReport, read_catalog
from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord, Source

__all__ = ["SOURCES", "Catalog", "Document", "DocumentReport", "RejectedRecord", "Source", "read_catalog", "source_for"]
