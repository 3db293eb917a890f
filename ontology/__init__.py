"""The types that all folders share: tools, triples, the ontology, canonical names, the error classes.

It imports no other folder but the values of ``egotools``. Its modules also have what all folders do alike: atomic file writes
(:mod:`ontology.files`), redaction, JSON values, reports.
"""

from egotools.values import Provenance
from ontology.errors import (
    BudgetExceededError,
    DocumentError,
    EgotoolsError,
    InvalidArgumentError,
    MissingExtraError,
    ModelError,
    OntologyError,
    StorageError,
)
from ontology.names import canonical_name
from ontology.ontology import Ontology, check_ontology, load_ontology
from ontology.tool import Dependency, Parameter, Tool
from ontology.tool_graph import Triple

__all__ = [
    "BudgetExceededError",
    "Dependency",
    "DocumentError",
    "EgotoolsError",
    "InvalidArgumentError",
    "MissingExtraError",
    "ModelError",
    "Ontology",
    "OntologyError",
    "Parameter",
    "Provenance",
    "StorageError",
    "Tool",
    "Triple",
    "canonical_name",
    "check_ontology",
    "load_ontology",
]
