"""Signing in: a session that one tool alone opens is needed by every tool that takes it.

A request gives the name, the amount and the date, but never the token of a session: nobody knows it. So where exactly one
tool gives out the token that another requires, the other depends on it, and that is worth an edge of its own: a tool of the
same catalogue that fills any other input may or may not be needed, for the request may have said the value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.linking.catalogue_draft import AUTH_KEY
from ingest.linking.derived_edge import DerivedEdge
from ontology.tool import Tool

__all__ = ["derive_auth_edges"]

_CONFIDENCE = 0.9


def derive_auth_edges(tools: Sequence[Tool], supplied: Iterable[DerivedEdge]) -> Iterator[DerivedEdge]:
    """The ``depends_on`` edges from the tools that require a session to the one tool that opens it, in order of ``tools``.

    :param supplied: the ``supplies`` edges of the catalogue.
    """
    openers: dict[tuple[str, str], set[DerivedEdge]] = defaultdict(set)
    for edge in supplied:
        if (edge.entity, edge.field) == AUTH_KEY:
            openers[edge.target, edge.parameter].add(edge)
    for tool in tools:
        for parameter in tool.parameters:
            edges = openers.get((tool.id, parameter.name), set())
            if parameter.required and len({edge.source for edge in edges}) == 1:
                edge = min(edges, key=lambda each: each.output)
                yield replace(
                    edge, source=edge.target, predicate="depends_on", target=edge.source, confidence=_CONFIDENCE
                )
