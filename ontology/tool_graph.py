"""Triples with their provenance, and the ToolGraph that is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired, TypeAlias, TypedDict

from egotools.values import Provenance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


SurfaceForms: TypeAlias = tuple[tuple[str, int], ...]
"""``(form, count)`` of each form of a name in the documents, the most frequent first."""
Aliases: TypeAlias = tuple[tuple[str, str], ...]
"""``(alias, origin)`` of each other name of a node; the origin is ``sources file``."""


class NodeAttributes(TypedDict):
    """A node: a tool or an entity; its key is ``type:id``. ``aliases`` exists where there are any."""

    type: str
    id: str
    name: str
    text: str
    surface_forms: SurfaceForms
    aliases: NotRequired[Aliases]


MAX_PROVENANCE = 8
"""Maximum number of provenances that an edge keeps."""
EDGE_DETAILS = ("parameter", "output", "entity", "field")
"""What more is known of an edge between tools: the input that is filled, the output that fills it, and the entity and its field that
they share; the columns of :attr:`EdgeTable.details`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTable:
    """What the edges of a graph say beside their ends, in columns that are written as they are. A text is its number in ``texts``.

    :param keys: text of the key of each edge: a predicate, or predicate and parameter of a derived edge, int32 [edges].
    :param evidence_counts: how many provenances it has, of which at most :data:`MAX_PROVENANCE` are kept, int32 [edges].
    :param place_pointers: start and end of the provenances of each edge in ``places``, int64 [edges + 1].
    :param places: the provenances of an edge, sorted: texts of tool id, field and extractor, start and end, int32 [places, 5].
    :param phrase_edges: the edges whose predicate was read from other words than its name, one entry for each phrase, ascending, int32 [phrases].
    :param phrases: the texts of these words, int32 [phrases].
    :param detail_edges: the edges between tools of which more is known, ascending, int32 [details].
    :param details: texts of these :data:`EDGE_DETAILS`, the empty one where there is none, int32 [details, 4].
    """

    texts: Sequence[str]
    keys: NDArray[np.int32]
    evidence_counts: NDArray[np.int32]
    place_pointers: NDArray[np.int64]
    places: NDArray[np.int32]
    phrase_edges: NDArray[np.int32]
    phrases: NDArray[np.int32]
    detail_edges: NDArray[np.int32]
    details: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGraph:
    """The directed, typed multigraph of a catalogue, its edges in columns: there are hundreds of thousands.

    :param nodes: key → attributes: first the tools in catalogue order, then the entities by key.
    :param heads: position of the head of each edge; edges are sorted by head, tail and key, int32 [edges].
    :param tails: the same of its tail, int32 [edges].
    :param predicates: number of its predicate among the texts of ``edges``, int32 [edges].
    :param confidences: the highest of its triples, float64 [edges], in [0, 1].
    :param edges: what else the edges say.
    """

    nodes: Mapping[str, NodeAttributes]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    predicates: NDArray[np.int32]
    confidences: NDArray[np.float64]
    edges: EdgeTable
