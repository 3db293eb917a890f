"""Tasks in plain words, read for the rules of ``egotools solve`` by the parser of the DFS planner."""
