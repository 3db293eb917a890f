"""The request and its context: vector, index terms, n-grams and clauses, each computed once; deadline, timings, fallbacks."""

from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.query import Clause, Query
from retrieval.query.request import Request

__all__ = ["Clause", "EntryNode", "Query", "QueryContext", "Request"]
