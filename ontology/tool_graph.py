"""Triples with their provenance, and the ToolGraph that is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
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
_ROWS = 1 << 14  # that become Python values at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGraph:
    """The directed, typed multigraph of a catalogue, its edges in columns: there are hundreds of thousands.

    :param nodes: key → attributes: first the tools in catalogue order, then the entities by key.
    :param texts: what the columns name by number.
    :param heads: position of the head of each edge; edges are sorted by head, tail and key, int32 [edges].
    :param tails: the same of its tail, int32 [edges].
    :param keys: number of the text of its key: a predicate, or predicate and parameter of a derived edge, int32 [edges].
    :param predicates: number of the text of its predicate, int32 [edges].
    :param confidences: the highest of its triples, float64 [edges], in [0, 1].
    :param evidence_counts: how many provenances it has, of which at most :data:`MAX_PROVENANCE` are kept, int32 [edges].
    :param places: all provenances, edge after edge, those of an edge sorted: numbers of tool id, field and extractor, start and
        end, int32 [places, 5].
    :param phrases: edge → the words from which its predicate was read, where they are not its name.
    :param details: edge between tools → ``parameter``, ``output``, ``entity`` and ``field``, as far as they are known.
    """

    nodes: Mapping[str, NodeAttributes]
    texts: Sequence[str]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    keys: NDArray[np.int32]
    predicates: NDArray[np.int32]
    confidences: NDArray[np.float64]
    evidence_counts: NDArray[np.int32]
    places: NDArray[np.int32]
    phrases: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    details: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def each_places(self) -> Iterator[list[list[int]]]:
        """Yield the rows of ``places`` that each edge keeps."""
        parts = (self.places[start : start + _ROWS] for start in range(0, len(self.places), _ROWS))
        rows = chain.from_iterable(part.tolist() for part in parts)
        for count in self.evidence_counts.tolist():
            yield list(islice(rows, count))[:MAX_PROVENANCE]
