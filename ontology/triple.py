"""A triple: one assertion about tools and entities, with its provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from egotools.values import Provenance

__all__ = ["OVERLAY", "Provenance", "Triple"]

OVERLAY = "overlay.v1"
"""Extractor in the provenance of what an overlay file declares; the field is then ``FILE:LINE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """``(head, predicate, tail)`` with the entity types of both ends.

    A head or tail that is a tool is its id; any other entity is its name.

    :param confidence: in [0, 1]; 1 for what the document declares.
    :param phrase: the words from which the predicate was read, or empty where they are its name.
    """

    head: str
    head_type: str
    predicate: str
    tail: str
    tail_type: str
    confidence: float
    provenance: Provenance
    phrase: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Both ends with their types, and the predicate; triples with the same key state the same fact."""
        return (self.head_type, self.head, self.predicate, self.tail_type, self.tail)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "head": self.head,
            "head_type": self.head_type,
            "predicate": self.predicate,
            "tail": self.tail,
            "tail_type": self.tail_type,
            "confidence": self.confidence,
            "phrase": self.phrase,
            "provenance": [
                self.provenance.tool_id,
                self.provenance.field,
                self.provenance.extractor,
                self.provenance.start,
                self.provenance.end,
            ],
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Triple:
        """Parse the JSON form of :meth:`to_json`."""
        return cls(**{**row, "provenance": Provenance(*row["provenance"])})
