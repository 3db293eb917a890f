"""Derive all edges between the tools of a catalogue: R-P edges, resolver edges, stated preconditions, logins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.linking.auth_dependencies import derive_auth_edges
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.output_index import OutputIndex
from ingest.linking.profiles import profile_tools
from ingest.linking.resolver_edges import derive_resolver_edges
from ingest.linking.rp_edges import derive_rp_edges
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["derive_edges"]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> Iterator[DerivedEdge]:
    """Yield the ``supplies`` edges, then the ``resolved_by`` edges, then the ``depends_on`` edges of a catalogue.

    Time and memory grow linearly with the number of parameters, not with the number of tool pairs.
    """
    profiles = profile_tools(tools, ontology)
    index = OutputIndex(profiles)
    supplied = list(derive_rp_edges(profiles, index))
    yield from supplied
    yield from derive_resolver_edges(profiles, index)
    yield from derive_auth_edges(tools, supplied)
