"""Tuning: the ranking weights of a snapshot are fitted to its own labelled requests, and published only if they are
better.

Labels become groups (``labels``), the candidates of each request are collected once (``cases``), weights are searched
(``weight_search``) and cross-validated (``fit``), CompleteRecall before and after decides (``verdict``), and
``tuning`` puts the steps together.
"""

from eval.tuning.cases import Cases, collect, soft_complete
from eval.tuning.labels import Labels, read_labels
from eval.tuning.tuning import Tuning, tune_weights
from eval.tuning.tuning_report import basis, changes_table, tuning_document, tuning_to_json, weights_table

__all__ = [
    "Cases",
    "Labels",
    "Tuning",
    "basis",
    "changes_table",
    "collect",
    "read_labels",
    "soft_complete",
    "tune_weights",
    "tuning_document",
    "tuning_to_json",
    "weights_table",
]
