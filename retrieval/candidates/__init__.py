"""Candidate generation: entry nodes, the ensemble of their ego graphs, and the best tools of text search."""
