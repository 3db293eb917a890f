"""Analysis of an evaluation: win/loss analysis of two evaluations or two systems, and failures with their causes.

All functions work on the stored answers of measured sets. For failures, presets run again to get their reasons.
"""

from eval.analysis.compare import Comparison, compare, compare_systems, comparison_to_json
from eval.analysis.failures import Failure, analyse_failures

__all__ = [
    "Comparison",
    "Failure",
    "analyse_failures",
    "compare",
    "compare_systems",
    "comparison_to_json",
]
