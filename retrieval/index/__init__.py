"""The indexes of a snapshot: text analysis, BM25, vectors, adjacency, lookup tables and records, as files that are mapped into memory."""

from retrieval.index.analysis import ngrams, terms
from retrieval.index.text_fields import FIELDS, filter_terms

__all__ = ["FIELDS", "filter_terms", "ngrams", "terms"]
