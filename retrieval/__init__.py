"""A request in plain words in, the complete set of tools out: entry nodes, ego graphs, ranking, and the snapshot."""
