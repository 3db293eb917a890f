"""Rank the tools that a request needs: entry nodes, ego graphs, ranking, and the snapshot."""
