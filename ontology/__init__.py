"""The language all of egotools speaks: tools, triples, the ontology, canonical names and the one tree of errors."""

from ontology.errors import (
    BudgetExceededError,
    CatalogError,
    DeadlineError,
    DocumentError,
    EgotoolsError,
    InvalidArgumentError,
    MissingExtraError,
    ModelError,
    NotFoundError,
    NotReadyError,
    OntologyError,
    OverloadedError,
    RejectionReason,
    SnapshotCorruptError,
    SnapshotError,
    SnapshotVersionError,
    StorageError,
    UnknownFormatError,
)
from ontology.names import canonical_name, identified_entity, noun_lemma, verb_lemma, words
from ontology.ontology import EntityType, Ontology, Predicate
from ontology.ontology_file import Fault, check_ontology, load_ontology
from ontology.tool import Dependency, Parameter, Tool
from ontology.triple import Provenance, Triple

__all__ = [
    "BudgetExceededError",
    "CatalogError",
    "DeadlineError",
    "Dependency",
    "DocumentError",
    "EgotoolsError",
    "EntityType",
    "Fault",
    "InvalidArgumentError",
    "MissingExtraError",
    "ModelError",
    "NotFoundError",
    "NotReadyError",
    "Ontology",
    "OntologyError",
    "OverloadedError",
    "Parameter",
    "Predicate",
    "Provenance",
    "RejectionReason",
    "SnapshotCorruptError",
    "SnapshotError",
    "SnapshotVersionError",
    "StorageError",
    "Tool",
    "Triple",
    "UnknownFormatError",
    "canonical_name",
    "check_ontology",
    "identified_entity",
    "load_ontology",
    "noun_lemma",
    "verb_lemma",
    "words",
]
