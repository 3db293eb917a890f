"""The Triple: one assertion about tools and entities, with where it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Provenance", "Triple"]


@dataclass(frozen=True, slots=True, order=True)
class Provenance:
    """Where a triple was read.

    :param tool_id: the tool whose document it is.
    :param field: the field of the document: ``name``, ``description``, ``parameters.supplier_id``, ``returns.id``, ``metadata.tags``, ``depends_on``.
    :param extractor: versioned name of the extractor (``rules.v1``).
    :param start: first character of the evidence in the field's text, or -1 where the field as a whole is the evidence.
    :param end: one past its last character, or -1.
    """

    tool_id: str
    field: str
    extractor: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """``(head, predicate, tail)`` with the entity types of both ends.

    A tool stands in a triple by its id, every other entity by its name. ``phrase`` keeps the words the predicate was
    read from when they are not the predicate's own name.

    :param confidence: in [0, 1]; 1 for what the document declares.
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
        """What makes two triples the same assertion: both ends with their types, and the predicate."""
        return (self.head_type, self.head, self.predicate, self.tail_type, self.tail)

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
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
        """Read the JSON form (rows that egotools itself wrote)."""
        return cls(**{**row, "provenance": Provenance(*row["provenance"])})
