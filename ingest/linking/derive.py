"""Derive all edges between the tools of a catalogue: what fills an input, what finds an identifier by words, which login is needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ingest.linking.derived_edge import NO_LINKS, DeclaredLinks, DerivedEdge
from ingest.linking.edges import OutputIndex, derive_resolver_edges, derive_rp_edges
from ingest.linking.profiles import profile_tools
from ingest.linking.values import AUTH_KEY
from ontology.ontology import Ontology
from ontology.tool import Tool

_SIGN_IN = 0.9
"""Confidence that a login is needed."""


class Links(NamedTuple):
    """The derived edges of a catalogue, and the context parameters: a map from tool id to their names."""

    edges: list[DerivedEdge]
    context: Mapping[str, tuple[str, ...]]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> list[DerivedEdge]:
    """Return the edges of a catalogue in which nothing is declared, as :func:`derive_links` does."""
    return derive_links(tools, ontology).edges


def derive_links(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> Links:
    """Return the edges of a catalogue and its context parameters: the ``supplies`` edges, then ``resolved_by``, then ``depends_on``.

    Time and memory grow linearly with the number of parameters, not with the number of tool pairs.

    :param declared: what the owner of the catalogue declares beside its documents.
    """
    profiles = profile_tools(tools, ontology, declared)
    index = OutputIndex(profiles)
    supplied = list(derive_rp_edges(profiles, index))
    edges = [*supplied, *derive_resolver_edges(profiles, index), *_logins(tools, supplied)]
    return Links(edges, {profile.id: profile.context for profile in profiles if profile.context})


def _logins(tools: Sequence[Tool], supplied: Iterable[DerivedEdge]) -> Iterator[DerivedEdge]:
    """Yield the ``depends_on`` edges from each tool that requires a session to the only tool that opens it, in order of ``tools``."""
    by_input: dict[tuple[str, str], list[DerivedEdge]] = defaultdict(list)
    for edge in supplied:
        if (edge.entity, edge.field) == AUTH_KEY:
            by_input[edge.target, edge.parameter].append(edge)
    for tool in tools:
        for parameter in tool.parameters:
            edges = by_input.get((tool.id, parameter.name), [])
            if parameter.required and len({edge.source for edge in edges}) == 1:
                edge = min(edges, key=lambda candidate: candidate.output)
                login = replace(edge, predicate="depends_on", confidence=_SIGN_IN)
                yield replace(login, source=edge.target, target=edge.source)
