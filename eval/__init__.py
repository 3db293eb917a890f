"""Evaluation: labelled requests × systems → CompleteRecall and other measures with intervals, and reports of them.

``queries``, ``system`` and ``run`` send the requests and store the answers; ``metrics``, ``bootstrap`` and ``summary``
compute the figures; the folders ``analysis``, ``graph_quality``, ``report`` and ``tuning`` use them.
"""
