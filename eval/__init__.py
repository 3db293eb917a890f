"""Evaluation: labelled requests × systems → CompleteRecall and other measures with intervals, and reports of them.

``queries``, ``systems`` and ``run`` send the requests; ``measured_set`` stores the answers; ``metrics`` and ``summary`` compute the
figures; ``report``, ``compare``, ``failures``, ``graph_quality`` and ``regression_gate`` use them. ``tuning`` and ``learning`` make
a snapshot better.
"""
