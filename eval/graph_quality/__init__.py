"""The quality of a tool graph: precision of its edges, connectivity of the tools of a request.

Retrieval depends on the graph, so reports of retrieval include it. Everything is measured on a published snapshot.
Gold edges and requests are for measuring only; they are never an input of the build.
"""

from eval.graph_quality.connectivity import ANY_TOOL_EDGE
from eval.graph_quality.edge_precision import read_external_edges
from eval.graph_quality.quality import GraphQuality, copy_build_report, graph_quality

__all__ = [
    "ANY_TOOL_EDGE",
    "GraphQuality",
    "copy_build_report",
    "graph_quality",
    "read_external_edges",
]
