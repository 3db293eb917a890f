"""Attributes of the nodes and edges of a ToolGraph, as NetworkX holds them."""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict

from ontology.triple import Provenance

__all__ = ["EdgeAttributes", "NodeAttributes", "SurfaceForms"]

SurfaceForms: TypeAlias = tuple[tuple[str, int], ...]
"""The forms of a name in the documents with their counts, the most frequent first."""


class NodeAttributes(TypedDict):
    """A node: a tool or an entity; its key is ``type:id``."""

    type: str
    id: str
    name: str
    text: str
    degree: int
    surface_forms: SurfaceForms


class EdgeAttributes(TypedDict):
    """An edge: the triples with one head, predicate and tail, or one derived edge.

    ``confidence`` is the best of its triples, in [0, 1]; ``provenance`` is sorted and limited, ``evidence_count`` is not. The last
    four are those of edges between tools, where they are known.
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
