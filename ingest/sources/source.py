"""The seam ``Source``: one kind of tool document, and the reader that turns it into tools.

Readers are pure: they yield a :class:`~ontology.tool.Tool` for each operation they can read and a :class:`RejectedRecord` for each
they cannot, and raise :class:`~ontology.errors.DocumentError` only when the document as a whole is unreadable.
Tool ids inside one document are local (``listOrders``); :mod:`ingest.sources.catalog` makes them unique across documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ingest.sources.document import Document
from ontology.tool import Tool

__all__ = ["RejectedRecord", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRecord:
    """Something that was not taken into the catalogue, and why.

    :param subject: where: ``path``, ``path:line`` or ``path#operation``.
    :param reason: a slug that counts can be made of: ``no-name``, ``duplicate-id``, ``dangling-ref``, ``invalid-json``, …
    :param detail: what was wrong and what to do, one sentence.
    """

    subject: str
    reason: str
    detail: str


class Source(Protocol):
    """One kind of tool document."""

    @property
    def name(self) -> str:
        """Versioned name, ``openapi.v1``."""

    def accepts(self, document: Document) -> bool:
        """Whether this reader knows the document; cheap, and never raises on a readable file."""

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the tools, in the document's order.

        :raises DocumentError: when the document as a whole cannot be read.
        """
