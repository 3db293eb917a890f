"""The DFS planner of the paper QueryWeaver (arXiv 2606.08300): words become a small typed graph, a depth-first executor does the rest.

A parser of :mod:`planners.query` makes a query graph of a request and checks it under a domain; the executor resolves it through a
resolver, which calls tools that the retrieval service found.
"""
