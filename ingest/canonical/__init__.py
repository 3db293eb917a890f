"""Canonicalise triples: one name for each object, one type for each name, the ontology's predicates. Every merge is reported."""
