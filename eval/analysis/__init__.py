"""Analysis of an evaluation: two evaluations compared, failures with their causes, and wins and losses of two systems.

All of it works on the stored answers of a measured set; with the snapshot at hand, presets are asked again for their reasons.
"""

from eval.analysis.compare import Comparison, compare, comparison_to_json
from eval.analysis.failures import Failure, analyse_failures
from eval.analysis.wins_losses import WinsLosses, analyse_wins_losses

__all__ = [
    "Comparison",
    "Failure",
    "WinsLosses",
    "analyse_failures",
    "analyse_wins_losses",
    "compare",
    "comparison_to_json",
]
