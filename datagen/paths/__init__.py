"""Tool paths: outputs of tools, the R-P and P-P graphs over them, and the paths that are sampled from these graphs."""
