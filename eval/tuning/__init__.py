"""Tuning: the ranking weights of a snapshot are fitted to its own labelled requests, and published only if they are
better.

Labels become groups (``labels``), the candidates of each request are collected once (``cases``), weights are searched
(``weight_search``) and cross-validated (``fit``), CompleteRecall before and after decides (``verdict``), and
``tuning`` puts the steps together.
"""

from eval.tuning.cases import NEVER, Cases, collect, soft_complete
from eval.tuning.labels import Labels, read_labels
from eval.tuning.tuning import Tuning, tune_weights
from eval.tuning.tuning_report import basis, changes_table, tuning_document, tuning_to_json, weights_table
from eval.tuning.weight_search import ORIGIN, Point, search, weights_at

__all__ = [
    "NEVER",
    "ORIGIN",
    "Cases",
    "Labels",
    "Point",
    "Tuning",
    "basis",
    "changes_table",
    "collect",
    "read_labels",
    "search",
    "soft_complete",
    "tune_weights",
    "tuning_document",
    "tuning_to_json",
    "weights_at",
    "weights_table",
]
