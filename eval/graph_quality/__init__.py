"""Quality of the tool graph: whether its edges are true, join what requests need, and its names are one a thing.

Bad retrieval starts with a bad graph, so reports show this beside retrieval. Everything is measured on a published
snapshot; keys and requests are for measuring only and feed nothing.
"""

from eval.graph_quality.account import find_build_report
from eval.graph_quality.given import GivenEdges, read_given_edges
from eval.graph_quality.quality import graph_quality
from eval.graph_quality.tables import GraphTable, graph_quality_tables

__all__ = [
    "GivenEdges",
    "GraphTable",
    "find_build_report",
    "graph_quality",
    "graph_quality_tables",
    "read_given_edges",
]
