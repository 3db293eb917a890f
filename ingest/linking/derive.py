"""All that egotools concludes between tools: R-P edges, resolver edges and the habits of devices of a whole catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.linking.edge import DerivedEdge
from ingest.linking.habits import habits
from ingest.linking.links import supplies
from ingest.linking.offers import Offers
from ingest.linking.profiles import profile_tools
from ingest.linking.resolvers import resolves
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["derive_edges"]


def derive_edges(tools: Sequence[Tool], ontology: Ontology) -> Iterator[DerivedEdge]:
    """The ``supplies`` edges, then the ``resolved_by`` and the ``depends_on`` edges of a catalogue, each in its order.

    Time and memory grow with the number of parameters, not with pairs of tools.
    """
    profiles = profile_tools(tools, ontology)
    offers = Offers(profiles)
    yield from supplies(profiles, offers)
    yield from resolves(profiles, offers)
    yield from habits(tools)
