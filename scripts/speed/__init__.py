"""Speed and size: builds catalogues of growing size, measures them in process and over gRPC, and shows what it found.

``make bench`` runs :mod:`scripts.bench`, which puts these parts together.
"""
