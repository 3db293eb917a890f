"""The rows of a document: the lines of a JSONL file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ingest.sources.document import Document
from ingest.sources.parsing import parse_json
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError

__all__ = ["DATA_SUFFIXES", "LINE_SUFFIXES", "Row", "json_lines"]

LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""Endings of files with one JSON value a line."""
DATA_SUFFIXES = frozenset({".json", ".yaml", ".yml", ""})
"""Endings of files that are one JSON or YAML value."""


class Row(NamedTuple):
    """One row.

    :param place: ``address:line``, or ``address#number`` in a list.
    :param value: what was parsed, or a RejectedRecord where it could not be.
    """

    place: str
    value: Any


def json_lines(document: Document) -> Iterator[Row]:
    """The lines of a document that are not blank, streamed.

    :raises DocumentError: when the file cannot be read, or has no such line.
    """
    empty = True
    for number, line in document.lines():
        if line.strip():
            empty = False
            place = f"{document.address}:{number}"
            try:
                yield Row(place, parse_json(line, subject=document.address, line=number))
            except DocumentError as error:
                yield Row(place, RejectedRecord.of_error(place, error))
    if empty:
        raise DocumentError("the file is empty", subject=document.address, reason="empty")
