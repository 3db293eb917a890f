"""Evaluation: labelled requests × systems → CompleteRecall and other measures with intervals, and reports of them.

``queries``, ``system`` and ``run`` ask and keep the answers; ``metrics``, ``bootstrap`` and ``summary`` make the figures;
``analysis``, ``graph_quality``, ``report`` and ``tuning`` are the folders for what is done with them.
"""
