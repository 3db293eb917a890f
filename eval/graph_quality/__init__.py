"""Quality of the tool graph: whether its edges are true, join what requests need, and its names are one a thing.

Bad retrieval starts with a bad graph, so reports show this beside retrieval. Everything is measured on a published
snapshot; keys and requests are for measuring only and feed nothing.
"""

from eval.graph_quality.build_report import find_build_report
from eval.graph_quality.external_edges import GivenEdges, read_given_edges
from eval.graph_quality.quality import graph_quality
from eval.graph_quality.quality_tables import GraphTable, graph_quality_tables

__all__ = [
    "GivenEdges",
    "GraphTable",
    "find_build_report",
    "graph_quality",
    "graph_quality_tables",
    "read_given_edges",
]
