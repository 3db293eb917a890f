"""Analysis of an evaluation: two evaluations or two systems compared (wins and losses), and failures with their causes.

All of it works on the stored answers of measured sets. For failures, presets are asked again for their reasons.
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
