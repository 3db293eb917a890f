"""The request that calls a tool, built from its call and the arguments of a model, and how it is sent.

It imports no package of HTTP, AWS or MCP before one is used.
"""
