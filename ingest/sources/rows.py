"""The rows of a JSONL document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ingest.sources.document import Document
from ingest.sources.parsing import parse_json
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError

__all__ = ["DATA_SUFFIXES", "LINE_SUFFIXES", "Row", "json_lines"]

LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""Endings of files with one JSON value per line."""
DATA_SUFFIXES = frozenset({".json", ".yaml", ".yml", ""})
"""Endings of files with one JSON or YAML value."""


class Row(NamedTuple):
    """One row.

    :param location: ``address:line``, or ``address#number`` in a list; numbers from 1.
    :param value: the parsed value, or a RejectedRecord where parsing failed.
    """

    location: str
    value: Any


def json_lines(document: Document) -> Iterator[Row]:
    """Yield one row for each line that is not blank, streamed.

    :raises DocumentError: when the file cannot be read, or has only blank lines.
    """
    empty = True
    for number, line in document.lines():
        if line.strip():
            empty = False
            location = f"{document.address}:{number}"
            try:
                yield Row(location, parse_json(line, subject=document.address, line=number))
            except DocumentError as error:
                yield Row(location, RejectedRecord.of_error(location, error))
    if empty:
        raise DocumentError("the file is empty", subject=document.address, reason="empty")
