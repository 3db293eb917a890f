"""The types that all folders share: tools, triples, the ontology, canonical names, the error classes.

It also has shared helpers: atomic file writes, digests, progress, redacted addresses, stop words. It imports no other
folder but the values of ``egotools``.
"""

from ontology.errors import (
    BudgetExceededError,
    CatalogError,
    DeadlineError,
    DocumentError,
    EgotoolsError,
    InvalidArgumentError,
    MissingExtraError,
    ModelError,
    ModelNotAllowedError,
    NotFoundError,
    NotReadyError,
    OntologyError,
    OverlayFileError,
    OverloadedError,
    RejectionReason,
    SnapshotCorruptError,
    SnapshotError,
    SnapshotSignatureError,
    SnapshotVersionError,
    SourcesFileError,
    StorageError,
    UnknownFormatError,
)
from ontology.files import code_digest, config_hash, disk_errors, only_writer, replacing, write_file
from ontology.hosts import check_http_url
from ontology.json_values import first_error
from ontology.names import canonical_name, identified_entity, noun_lemma, verb_lemma, words
from ontology.ontology import EntityType, Fault, Ontology, Predicate, check_ontology, load_ontology
from ontology.redaction import (
    RedactingFormatter,
    command_words,
    names_secret,
    redact,
    redact_document_text,
    redacted_address,
    redacted_url,
    secrets_in,
)
from ontology.reporting import Progress, no_progress
from ontology.tool import Dependency, Parameter, Tool
from ontology.tool_graph import Provenance, Triple

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
    "ModelNotAllowedError",
    "NotFoundError",
    "NotReadyError",
    "Ontology",
    "OntologyError",
    "OverlayFileError",
    "OverloadedError",
    "Parameter",
    "Predicate",
    "Progress",
    "Provenance",
    "RedactingFormatter",
    "RejectionReason",
    "SnapshotCorruptError",
    "SnapshotError",
    "SnapshotSignatureError",
    "SnapshotVersionError",
    "SourcesFileError",
    "StorageError",
    "Tool",
    "Triple",
    "UnknownFormatError",
    "canonical_name",
    "check_http_url",
    "check_ontology",
    "code_digest",
    "command_words",
    "config_hash",
    "disk_errors",
    "first_error",
    "identified_entity",
    "load_ontology",
    "names_secret",
    "no_progress",
    "noun_lemma",
    "only_writer",
    "redact",
    "redact_document_text",
    "redacted_address",
    "redacted_url",
    "replacing",
    "secrets_in",
    "verb_lemma",
    "words",
    "write_file",
]
