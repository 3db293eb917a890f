"""Derive all edges between the tools of a catalogue: R-P edges, resolver edges, stated preconditions, logins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ingest.linking.auth_dependencies import derive_auth_edges
from ingest.linking.declared_links import NO_LINKS, DeclaredLinks
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.output_index import OutputIndex
from ingest.linking.profiles import profile_tools
from ingest.linking.resolver_edges import derive_resolver_edges
from ingest.linking.rp_edges import derive_rp_edges
from ingest.linking.stated_preconditions import derive_stated_preconditions
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["Links", "derive_edges", "derive_links"]


class Links(NamedTuple):
    """The derived edges of a catalogue, and the context parameters: a map from tool id to their names."""

    edges: list[DerivedEdge]
    context: Mapping[str, tuple[str, ...]]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> Iterator[DerivedEdge]:
    """Yield the ``supplies`` edges, then the ``resolved_by`` edges, then the ``depends_on`` edges of a catalogue."""
    yield from derive_links(tools, ontology).edges


def derive_links(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> Links:
    """Return the edges of a catalogue, in the order of :func:`derive_edges`, and its context parameters.

    Time and memory grow linearly with the number of parameters, not with the number of tool pairs.

    :param declared: what the owner of the catalogue declares beside its documents.
    """
    profiles = profile_tools(tools, ontology, declared)
    index = OutputIndex(profiles)
    edges = list(derive_rp_edges(profiles, index))
    supplied = list(edges)
    edges.extend(derive_resolver_edges(profiles, index))
    stated = [*derive_stated_preconditions(tools), *declared.preconditions]
    edges.extend(stated)
    known = {(edge.source, edge.target) for edge in stated}
    edges.extend(edge for edge in derive_auth_edges(tools, supplied) if (edge.source, edge.target) not in known)
    return Links(edges, {profile.id: profile.context for profile in profiles if profile.context})
