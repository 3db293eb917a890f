"""The page of ``egotools serve --web``: retrieval drawn, runs of the planner live, and a browser of the catalogue.

Its server is a client of the gRPC service, with the token of whoever looks at the page; it serves static files of its own and reaches
for nothing beyond them.
"""
