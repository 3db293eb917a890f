"""Reader of tables of tools: CSV, TSV, JSONL and JSON lists."""

from ingest.sources.table.source import TableSource

__all__ = ["TableSource"]
