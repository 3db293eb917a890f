"""Tool paths: outputs of tools, the R-P and P-P graphs over them, and the paths that are sampled from these graphs."""

from datagen.paths.path_sampler import FoundPaths, find_paths
from datagen.paths.pp_graph import PpGraph, build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence

__all__ = [
    "FoundPaths",
    "PpGraph",
    "RulesOutputs",
    "RulesSequence",
    "build_pp_graph",
    "build_rp_graph",
    "find_paths",
]
