"""The indexes of a snapshot: text analysis, BM25, vectors, adjacency, lookup tables and records, as files that are mapped into memory."""
