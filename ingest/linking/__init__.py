"""What egotools concludes between tools: which output fills which input (R-P edges), and who resolves an identifier."""

from ingest.linking.derive import derive_edges
from ingest.linking.derived_edge import DerivedEdge
from ingest.linking.identifiers import Identifier, identifier_of

__all__ = ["DerivedEdge", "Identifier", "derive_edges", "identifier_of"]
