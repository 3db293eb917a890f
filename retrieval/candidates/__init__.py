"""Candidate generation: entry nodes, the ensemble of their ego graphs, and the best tools of text search."""

from retrieval.candidates.candidate_generation import generate_candidates

__all__ = ["generate_candidates"]
