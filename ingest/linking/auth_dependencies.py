"""Dependencies on a login: every tool that requires a session token depends on the only tool that produces it.

A request contains names, amounts and dates, but never a session token. So when exactly one tool produces the token that another
tool requires, there is a ``depends_on`` edge. Other inputs give no such edge, because the request may contain their values.

The rule was found on the set apibank. It changes nothing on the other eight benchmark sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.tool_values import AUTH_KEY
from ontology.tool import Tool

__all__ = ["derive_auth_edges"]

_CONFIDENCE = 0.9


def derive_auth_edges(tools: Sequence[Tool], supplied: Iterable[DerivedEdge]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges from each tool that requires a session to the only tool that opens it, in order of ``tools``.
    :param supplied: the ``supplies`` edges of the catalogue.
    """
    token_edges: dict[tuple[str, str], set[DerivedEdge]] = defaultdict(set)
    for edge in supplied:
        if (edge.entity, edge.field) == AUTH_KEY:
            token_edges[edge.target, edge.parameter].add(edge)
    for tool in tools:
        for parameter in tool.parameters:
            edges = token_edges.get((tool.id, parameter.name), set())
            if parameter.required and len({edge.source for edge in edges}) == 1:
                edge = min(edges, key=lambda candidate: candidate.output)
                yield replace(
                    edge, source=edge.target, predicate="depends_on", target=edge.source, confidence=_CONFIDENCE
                )
