"""All that egotools concludes between the tools of a catalogue: R-P and resolver edges, habits of devices, sign-ins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.linking.auth_dependencies import sign_ins
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.device_preconditions import habits
from ingest.linking.output_index import Offers
from ingest.linking.profiles import profile_tools
from ingest.linking.resolver_edges import resolves
from ingest.linking.rp_edges import supplies
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["derive_edges"]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> Iterator[DerivedEdge]:
    """The ``supplies`` edges, then the ``resolved_by`` and the ``depends_on`` edges of a catalogue, each in its order.

    Time and memory grow with the number of parameters, not with pairs of tools.
    """
    profiles = profile_tools(tools, ontology)
    offers = Offers(profiles)
    supplied = list(supplies(profiles, offers))
    yield from supplied
    yield from resolves(profiles, offers)
    habitual = list(habits(tools))
    yield from habitual
    needed = {(edge.source, edge.target) for edge in habitual}
    yield from (edge for edge in sign_ins(tools, supplied) if (edge.source, edge.target) not in needed)
