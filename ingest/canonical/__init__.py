"""Canonicalise triples: one name for each object, one type for each name, the ontology's predicates. Every merge is reported."""

from ingest.canonical.canonicalize import canonicalize
from ingest.canonical.merges import Canonicalization, Merge

__all__ = ["Canonicalization", "Merge", "canonicalize"]
