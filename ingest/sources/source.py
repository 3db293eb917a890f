"""The interface ``Source``: the reader of one document format.

A reader yields one :class:`~ontology.tool.Tool` for each operation that it can read and one :class:`RejectedRecord` for each
that it cannot. Tool ids are unique in the document; :mod:`ingest.sources.naming` makes them unique in the catalogue.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from ingest.sources.document import Document, parse_json
from ontology.errors import DocumentError
from ontology.tool import Tool


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A part of a document that is not in the catalogue.

    :param subject: its location: ``path``, ``path:line`` or ``path#operation``.
    :param reason: the kind of problem, for counts: ``no-name``, ``duplicate-id``, ``dangling-ref``, ``invalid-json``, …
    :param detail: the problem and its remedy, one sentence.
    """

    subject: str
    reason: str
    detail: str

    @classmethod
    def of_error(cls, subject: str, error: Exception, kept: str = "") -> RejectedRecord:
        """Return the record of a part that cannot be read, whatever the error: the others are read. ``kept`` says what is kept of it."""
        if isinstance(error, DocumentError):
            where = f" at {error.subject}" if error.subject not in error.problem and error.subject != subject else ""
            remedy = f" {error.remedy}." if error.remedy else ""
            return cls(subject, error.reason, f"{error.problem}{where}.{remedy} {kept}".strip())
        if isinstance(error, RecursionError):
            return cls(subject, "too-deep", f"It is nested too deeply. {kept}".strip())
        logging.getLogger(__name__).warning("the reader of %s failed: %s", subject, type(error).__name__)
        detail = f"The reader failed ({type(error).__name__}); this is a fault of egotools. {kept}"
        return cls(subject, "unreadable", detail.strip())


class Source(Protocol):
    """The reader of one document format; a new reader is a subclass, added to :data:`ingest.sources.addresses.SOURCES`."""

    #: Versioned name, ``openapi.v1``.
    name: ClassVar[str]
    #: Prefixes of the live addresses that this reader opens (``mcp:``); empty for a file format.
    live_prefixes: ClassVar[tuple[str, ...]] = ()
    #: Whether the ids of its tools are final; else they get the document's namespace.
    keeps_ids: ClassVar[bool] = False

    def accepts(self, document: Document) -> bool:
        """Whether this reader can read the document's format; fast, and raises no error for a readable file."""

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools and the rejected records, in the document's order.
        :raises DocumentError: when the document as a whole cannot be read.
        """


LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})  # endings of files with one JSON value per line
DATA_SUFFIXES = frozenset({".json", ".yaml", ".yml", ""})  # endings of files with one JSON or YAML value


class Row(NamedTuple):
    """One row."""

    location: str  # ``address:line``, or ``address#number`` in a list; numbers from 1
    value: Any  # the parsed value, or a RejectedRecord where parsing failed


def json_lines(document: Document) -> Iterator[Row]:
    """Yield one row for each line that is not blank, streamed."""
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


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value, or an empty mapping when it is no mapping."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value, or an empty list when it is no list."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return the value, or an empty string when it is no string."""
    return value if isinstance(value, str) else ""


def as_number(value: Any) -> float | None:
    """Return a number, also one that a document writes as text (``"50"``); else None. A whole number stays an ``int``."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number that no float holds
        return None


def is_true(value: Any) -> bool:
    """Whether a flag is set, also one that a document writes as text (``"true"``)."""
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")
