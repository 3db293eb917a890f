"""Retrievers of others, each in an environment of its own, measured beside egotools on the same requests."""
