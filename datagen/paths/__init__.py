"""Tool paths: outputs of tools, the R-P graph over them, and the paths that are sampled from it."""
