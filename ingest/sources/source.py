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
from itertools import islice
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
        """Whether this reader can read the format of a document that has content; raises no error for a readable file."""
        return False

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools and the rejected records, in the document's order.
        :raises DocumentError: when the document as a whole cannot be read.
        """


LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})  # endings of files with one JSON value per line
DATA_SUFFIXES = frozenset({".json", ".yaml", ".yml", ""})  # endings of files with one JSON or YAML value
_LISTS = ("tools", "functions", "function_declarations", "functionDeclarations")
_SAMPLED = 20  # rows that are read to detect the format


class Row(NamedTuple):
    """One row of a list of tools."""

    location: str  # ``address:line``, or ``address#number`` in a list; numbers from 1
    value: Any  # the parsed value, or a RejectedRecord where parsing failed


def listed_rows(document: Document) -> Iterator[Row]:
    """Yield the rows of a list of tools: of JSON Lines, of a JSON or YAML list, of lists under ``tools`` and the
    like, of answers of JSON-RPC; or one row that is the whole document."""
    if document.suffix not in LINE_SUFFIXES:
        rows = _unwrapped(document.data)
        yield from (Row(f"{document.address}#{number}", row) for number, row in enumerate(rows, 1))
        return
    empty = True
    for number, line in document.lines():
        if line.strip():
            empty = False
            location = f"{document.address}:{number}"
            try:
                rows = _unwrapped(parse_json(line, subject=document.address, line=number))
            except DocumentError as error:
                rows = [RejectedRecord.of_error(location, error)]
            yield from (Row(location, row) for row in rows)
    if empty:
        raise DocumentError("the file is empty", subject=document.address, reason="empty")


def _unwrapped(value: Any) -> list[Any]:
    """The rows of a list, also of lists inside of it, or of an object that has a list; else the value."""
    if isinstance(value, list) and (not value or any(isinstance(each, Mapping) for each in value)):
        return [row for each in value for row in (_unwrapped(each) if isinstance(each, Mapping) else [each])]
    if isinstance(value, Mapping) and not {"name", "title"} & value.keys():
        if isinstance(value.get("result"), Mapping):
            return _unwrapped(value["result"])
        listed = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
        return [value] if listed is None else _unwrapped(listed)
    return [value]


def sampled_rows(document: Document) -> list[Any]:
    """The first rows of a list of tools, to detect its format; none where the document is no such list or cannot be read."""
    if document.suffix not in LINE_SUFFIXES | DATA_SUFFIXES:
        return []
    try:
        return [row.value for row in islice(listed_rows(document), _SAMPLED)]
    except DocumentError:
        return []


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
