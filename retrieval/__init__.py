"""Retrieve the complete set of tools that a request needs: entry nodes, ego graphs, ranking, and the snapshot."""
