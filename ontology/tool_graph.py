"""Attributes of the nodes and edges of a ToolGraph in NetworkX."""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict

from ontology.triple import Provenance

__all__ = ["Aliases", "EdgeAttributes", "NodeAttributes", "SurfaceForms"]

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
