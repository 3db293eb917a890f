"""Dependencies on a sign-in: a session that only one tool opens is needed by every tool that takes it.

A request gives names, amounts and dates, but never the token of a session. So where exactly one tool produces the token that
another requires, the other depends on it, and that is an edge of its own. A tool that fills another input may or may not be
needed, since the request may contain the value.

The rule was found on the set apibank; it changes nothing on eight of the nine benchmark sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.values import AUTH_KEY
from ontology.tool import Tool

__all__ = ["derive_auth_edges"]

_CONFIDENCE = 0.9


def derive_auth_edges(tools: Sequence[Tool], supplied: Iterable[DerivedEdge]) -> Iterator[DerivedEdge]:
    """The ``depends_on`` edges from the tools that require a session to the only tool that opens it, in order of ``tools``.

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
