"""The DFS planner of the paper QueryWeaver (arXiv 2606.08300): words become a small typed graph, a depth-first executor does the rest.

A parser makes a :class:`QueryGraph` of a request; :func:`graph_faults` checks it under a :class:`Domain`; the executor resolves it
through a :class:`Resolver`, which calls tools that the retrieval service found.
"""

from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.query_graph import QueryGraph

__all__ = ["Domain", "QueryGraph", "graph_faults"]
