"""The seam ``Source``: the reader of one document format.

A reader yields one :class:`~ontology.tool.Tool` for each operation that it can read and one :class:`RejectedRecord` for each
that it cannot. Tool ids are local to the document; :mod:`ingest.sources.naming` makes them unique in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ingest.sources.document import Document
from ontology.errors import DocumentError
from ontology.tool import Tool

__all__ = ["RejectedRecord", "Source"]


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A part of a document that is not in the catalogue.

    :param subject: where: ``path``, ``path:line`` or ``path#operation``.
    :param reason: the kind of the problem, for counts: ``no-name``, ``duplicate-id``, ``dangling-ref``, ``invalid-json``, …
    :param detail: what is wrong and what to do, one sentence.
    """

    subject: str
    reason: str
    detail: str

    @classmethod
    def of_error(cls, subject: str, error: DocumentError) -> RejectedRecord:
        """The record of a part that an error makes unusable."""
        return cls(subject, error.reason, f"{error.problem}.")


class Source(Protocol):
    """The reader of one document format; a new reader is a subclass, added to :data:`ingest.sources.detect.SOURCES`."""

    #: Versioned name, ``openapi.v1``.
    name: ClassVar[str]
    #: How the live addresses begin that this reader opens by itself (``mcp:``); none for a format of files.
    live_prefixes: ClassVar[tuple[str, ...]] = ()
    #: Whether the ids of its tools are final, not local to the document.
    keeps_ids: ClassVar[bool] = False

    def accepts(self, document: Document) -> bool:
        """Whether this reader knows the document; cheap, and never raises for a readable file."""

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the tools, in the document's order.

        :raises DocumentError: when the document as a whole cannot be read.
        """
