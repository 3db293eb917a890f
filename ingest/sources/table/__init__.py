"""Tables of tools: CSV, TSV, JSONL and lists in JSON."""

from ingest.sources.table.source import TableSource

__all__ = ["TableSource"]
