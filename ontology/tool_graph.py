"""Triples with their provenance, and attributes of the nodes and edges of a ToolGraph in NetworkX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypedDict

from egotools.values import Provenance

__all__ = [
    "OVERLAY",
    "Aliases",
    "EdgeAttributes",
    "NodeAttributes",
    "Provenance",
    "SurfaceForms",
    "Synonym",
    "Synonyms",
    "Triple",
    "preferred_name",
]


class Synonym(NamedTuple):
    """The name that replaces another one.

    :param name: canonical.
    :param origin: where it is declared: ``overlay.yaml:12``.
    """

    name: str
    origin: str


Synonyms: TypeAlias = Mapping[str, Synonym]
"""Canonical name → the synonym that replaces it. No replacement is a key."""


def preferred_name(name: str, synonyms: Synonyms) -> str:
    """Return the name that replaces a canonical name; the name itself where none does."""
    found = synonyms.get(name)
    return found.name if found is not None else name


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


SurfaceForms: TypeAlias = tuple[tuple[str, int], ...]
"""``(form, count)`` of each form of a name in the documents, the most frequent first."""


Aliases: TypeAlias = tuple[tuple[str, str], ...]
"""``(alias, origin)`` of each other name of a node; the origin is the line of an overlay file, ``sources file`` or ``documents``."""


class NodeAttributes(TypedDict):
    """A node: a tool or an entity; its key is ``type:id``. ``aliases`` exists where there are any."""

    type: str
    id: str
    name: str
    text: str
    degree: int
    surface_forms: SurfaceForms
    aliases: NotRequired[Aliases]


class EdgeAttributes(TypedDict):
    """An edge: all triples with the same head, predicate and tail, or one derived edge.

    ``confidence`` is the highest of its triples, in [0, 1]. ``provenance`` is sorted and limited in length; ``evidence_count`` is
    the number before the limit. The last four attributes exist on edges between tools, where they are known.
    """

    predicate: str
    confidence: float
    provenance: tuple[Provenance, ...]
    evidence_count: int
    phrases: tuple[str, ...]
    parameter: NotRequired[str]
    output: NotRequired[str]
    entity: NotRequired[str]
    field: NotRequired[str]
