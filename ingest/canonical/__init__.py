"""Making triples canonical: one name a thing, one type a name, the ontology's predicates, and every merge accounted for."""

from ingest.canonical.canonicalize import canonicalize
from ingest.canonical.merges import Canonicalization, Merge

__all__ = ["Canonicalization", "Merge", "canonicalize"]
