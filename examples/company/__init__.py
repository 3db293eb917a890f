"""A mock company behind the shipped catalogue: every operation of its OpenAPI documents answers over HTTP from records in SQLite.

These are 165 of the catalogue's 312 operations. The other 147 have no HTTP interface in their documents that could be generated:
59 are of OData services (EDMX, CSDL), 36 of MCP servers (``tools/list`` answers), and 52 of tables and function definitions (CSV,
JSONL, JSON) that do not say how they are called.
"""
