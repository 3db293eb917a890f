"""Questions in plain words, read for the rules of the graph planner by the parser of the DFS planner."""
