"""The interface ``Source``: the reader of one document format.

A reader yields one :class:`~ontology.tool.Tool` for each operation that it can read and one :class:`RejectedRecord` for each
that it cannot. Tool ids are unique in the document; :mod:`ingest.sources.naming` makes them unique in the catalogue.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ingest.sources.document import Document
from ontology.errors import DocumentError, RejectionReason
from ontology.tool import Tool

__all__ = ["RejectedRecord", "Source"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A part of a document that is not in the catalogue.

    :param subject: its location: ``path``, ``path:line`` or ``path#operation``.
    :param reason: the kind of problem, for counts: ``no-name``, ``duplicate-id``, ``dangling-ref``, ``invalid-json``, …
    :param detail: the problem and its remedy, one sentence.
    """

    subject: str
    reason: RejectionReason
    detail: str

    @classmethod
    def of_error(cls, subject: str, error: Exception, kept: str = "") -> RejectedRecord:
        """Return the record of a part that cannot be read because of an error, whichever: the other parts are read.

        :param kept: a sentence that says what is kept all the same.
        """
        if isinstance(error, DocumentError):
            return cls(subject, error.reason, f"{error.problem}. {kept}".strip())
        if isinstance(error, RecursionError):
            return cls(subject, "too-deep", f"It is nested too deeply. {kept}".strip())
        _LOG.warning("the reader of %s failed: %s", subject, type(error).__name__)
        detail = f"The reader failed ({type(error).__name__}); this is a fault of egotools. {kept}"
        return cls(subject, "unreadable", detail.strip())


class Source(Protocol):
    """The reader of one document format; a new reader is a subclass, added to :data:`ingest.sources.detect.SOURCES`."""

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
