"""Fitting a snapshot's ranking weights to its own labelled requests, and saying honestly whether that helped.

Labels become groups (``labels``), the retriever's candidates are asked for once (``cases``), weights are searched
(``search``) and cross-validated (``fit``), the figures before and after compared (``verdict``) and told (``report``).
"""
